/* Signals as the kernel has them, without what the C library puts before them. */
#pragma once
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include "check.h"

/* As rt_sigaction has it on LoongArch: no restorer. */
struct action {
	void *handler;
	unsigned long flags;
	uint64_t mask;
};

#define SET(signal) (1ul << ((signal) - 1))
#define NO_HANDLER ((void *)SIG_DFL)
#define IGNORED ((void *)SIG_IGN)

static inline long set_action(int signal, const struct action *new, struct action *old)
{
	return syscall(SYS_rt_sigaction, signal, new, old, sizeof(uint64_t));
}

static inline void handle(int signal, void *handler, unsigned long flags, uint64_t mask)
{
	EXPECT(0, set_action(signal, &(struct action){ handler, flags, mask }, NULL));
}

/* Returns the mask that was. */
static inline uint64_t change_mask(int how, uint64_t mask)
{
	uint64_t old = 0;
	EXPECT(0, syscall(SYS_rt_sigprocmask, how, &mask, &old, sizeof mask));
	return old;
}

static inline uint64_t mask_now(void)
{
	return change_mask(SIG_BLOCK, 0);
}

static inline uint64_t pending_now(void)
{
	uint64_t set = 0;
	EXPECT(0, syscall(SYS_rt_sigpending, &set, sizeof set));
	return set;
}

static inline void send_self(int signal)
{
	EXPECT(0, syscall(SYS_kill, getpid(), signal));
}

/* Sends SIGALRM again and again, until it is told 0. */
static inline void tick(long microseconds)
{
	struct itimerval timer = { { 0, microseconds }, { 0, microseconds } };
	EXPECT(0, setitimer(ITIMER_REAL, &timer, NULL));
}

static inline pid_t child_that(void (*body)(void))
{
	fflush(stdout);
	pid_t child = fork();
	CHECK(child >= 0, "fork: %s", strerror(errno));
	if (child == 0) {
		body();
		fflush(stdout);
		_exit(differences ? 99 : 0);
	}
	return child;
}

/* The exit status, or 1000 and the signal. */
static inline int end_of(pid_t child)
{
	int status = -1;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Waits for a byte; returns it. */
static inline int byte_from(int descriptor)
{
	unsigned char byte;
	ssize_t length;
	while ((length = read(descriptor, &byte, 1)) < 0 && errno == EINTR)
		;
	return length == 1 ? byte : -1;
}

static inline void byte_to(int descriptor, char byte)
{
	while (write(descriptor, &byte, 1) < 0 && errno == EINTR)
		;
}
