/* Trying to use up the system: what the programs that do have in common. */
#pragma once
#define _GNU_SOURCE
#include "check.h"
#include <fcntl.h>
#include <sys/wait.h>

enum { PAGE = 16384, MANY = 1 << 20 };

static const char *name_of(int error)
{
	switch (error) {
	case 0: return "nothing";
	case E2BIG: return "E2BIG";
	case EAGAIN: return "EAGAIN";
	case EINVAL: return "EINVAL";
	case EMFILE: return "EMFILE";
	case ENFILE: return "ENFILE";
	case ENOLCK: return "ENOLCK";
	case ENOMEM: return "ENOMEM";
	case ENOSPC: return "ENOSPC";
	case ERANGE: return "ERANGE";
	case ENAMETOOLONG: return "ENAMETOOLONG";
	default: return strerror(error);
	}
}

/* Says what stopped something that has been done so many times; how many there were at least. */
static void stopped(const char *what, long times, long least)
{
	printf("%s: %s\n", what, name_of(errno));
	CHECK(times >= least, "%s: only %ld times", what, times);
}

/* Does something until it fails. */
#define UNTIL_STOPPED(what, least, call)                \
	do {                                            \
		long times_ = 0;                        \
		errno = 0;                              \
		while (times_ < 4l * MANY && (call) >= 0) \
			times_++;                       \
		stopped(what, times_, least);           \
	} while (0)

/* A child that does it and ends: what it had is given back. */
static void in_child(void (*body)(void))
{
	fflush(stdout);
	pid_t child = fork();
	CHECK(child >= 0, "no child: %s", strerror(errno));
	if (child == 0) {
		body();
		fflush(stdout);
		_exit(differences != 0);
	}
	int status = 0;
	EXPECT(child, waitpid(child, &status, 0));
	if (WIFSIGNALED(status))
		printf("killed by signal %d\n", WTERMSIG(status));
	else
		EXPECT(0, WEXITSTATUS(status));
}
