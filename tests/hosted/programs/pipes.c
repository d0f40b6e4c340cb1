/* Pipes: order, fullness, ends that close, atomic writes, poll.
 *
 * pipes WHAT */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include "check.h"

static int ends[2];

static short state_of(int descriptor, short events)
{
	struct pollfd wait = { descriptor, events, 0 };
	poll(&wait, 1, 0);
	return wait.revents;
}

static void plain(void)
{
	char bytes[100];
	EXPECT(0, pipe(ends));
	EXPECT(5, write(ends[1], "hello", 5));
	EXPECT(6, write(ends[1], " world", 6));
	int there = 0;
	EXPECT(0, ioctl(ends[0], FIONREAD, &there));
	EXPECT(11, there);
	EXPECT(3, read(ends[0], bytes, 3));
	EXPECT(8, read(ends[0], bytes + 3, 50));
	EXPECT(0, memcmp(bytes, "hello world", 11));
	FAILS(EBADF, read(ends[1], bytes, 1));
	FAILS(EBADF, write(ends[0], bytes, 1));
	FAILS(ESPIPE, lseek(ends[0], 0, SEEK_CUR));
	struct stat facts;
	EXPECT(0, fstat(ends[0], &facts));
	CHECK(S_ISFIFO(facts.st_mode), "mode %o", facts.st_mode);
	EXPECT(0, write(ends[1], "", 0));
	EXPECT(0, close(ends[1]));
	EXPECT(0, read(ends[0], bytes, 1));
	EXPECT(POLLHUP, state_of(ends[0], POLLIN));
	EXPECT(0, close(ends[0]));
}

static void full(void)
{
	static char block[4096];
	int total = 0;
	EXPECT(0, pipe2(ends, O_NONBLOCK | O_CLOEXEC));
	EXPECT(FD_CLOEXEC, fcntl(ends[0], F_GETFD));
	EXPECT(O_NONBLOCK, fcntl(ends[0], F_GETFL) & O_NONBLOCK);
	FAILS(EAGAIN, read(ends[0], block, 1));
	EXPECT(POLLOUT, state_of(ends[1], POLLOUT));
	EXPECT(0, state_of(ends[0], POLLIN));
	ssize_t length;
	while ((length = write(ends[1], block, sizeof block)) > 0)
		total += length;
	EXPECT(EAGAIN, errno);
	EXPECT(fcntl(ends[1], F_GETPIPE_SZ), total);
	EXPECT(0, state_of(ends[1], POLLOUT));
	EXPECT(POLLIN, state_of(ends[0], POLLIN));
	/* PIPE_BUF bytes go in whole or not at all. */
	FAILS(EAGAIN, write(ends[1], block, 1));
	for (int i = 0; i < 4; i++)
		EXPECT(4096, read(ends[0], block, 4096));
	EXPECT(4096, write(ends[1], block, 4096));
	EXPECT(0, close(ends[0]));
	signal(SIGPIPE, SIG_IGN);
	FAILS(EPIPE, write(ends[1], block, 1));
	CHECK(state_of(ends[1], POLLOUT) & POLLERR, "poll %#x", state_of(ends[1], POLLOUT));
}

/* Several writers, each with lines of its own, none torn. */
static void atomic(void)
{
	enum { WRITERS = 4, LINES = 300, LENGTH = 512 };
	static char line[LENGTH];
	int counts[WRITERS] = { 0 };
	EXPECT(0, pipe(ends));
	for (int i = 0; i < WRITERS; i++)
		if (fork() == 0) {
			memset(line, 'a' + i, LENGTH);
			for (int j = 0; j < LINES; j++)
				if (write(ends[1], line, LENGTH) != LENGTH)
					_exit(1);
			_exit(0);
		}
	EXPECT(0, close(ends[1]));
	size_t have = 0;
	ssize_t length;
	while ((length = read(ends[0], line + have, LENGTH - have)) > 0) {
		have += length;
		if (have < LENGTH)
			continue;
		have = 0;
		for (int i = 1; i < LENGTH; i++)
			CHECK(line[i] == line[0], "a torn line: %c in %c", line[i], line[0]);
		counts[(line[0] - 'a') & 3]++;
	}
	for (int i = 0; i < WRITERS; i++) {
		int status;
		EXPECT(LINES, counts[i]);
		wait(&status);
		EXPECT(0, status);
	}
}

static void broken(void)
{
	EXPECT(0, pipe(ends));
	close(ends[0]);
	printf("before\n");
	fflush(stdout);
	(void)!write(ends[1], "x", 1);
	printf("it lives\n");
}

static void sleeping_writer(void)
{
	static char block[100000];
	EXPECT(0, pipe(ends));
	pid_t child = fork();
	if (child == 0) {
		close(ends[0]);
		_exit(write(ends[1], block, sizeof block) != sizeof block);
	}
	close(ends[1]);
	nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	size_t total = 0;
	ssize_t length;
	while ((length = read(ends[0], block, 1000)) > 0)
		total += length;
	EXPECT(100000, total);
	int status;
	EXPECT(child, wait(&status));
	EXPECT(0, status);
}

static void named(void)
{
	EXPECT(0, mkfifo("/tmp/fifo", 0600));
	FAILS(EEXIST, mkfifo("/tmp/fifo", 0600));
	FAILS(ENXIO, open("/tmp/fifo", O_WRONLY | O_NONBLOCK));
	pid_t child = fork();
	if (child == 0) {
		int out = open("/tmp/fifo", O_WRONLY);
		_exit(write(out, "through", 7) != 7);
	}
	int in = open("/tmp/fifo", O_RDONLY);
	char bytes[20];
	EXPECT(7, read(in, bytes, sizeof bytes));
	EXPECT(0, read(in, bytes, sizeof bytes));
	EXPECT(child, wait(NULL));
	EXPECT(0, close(in));
	EXPECT(0, unlink("/tmp/fifo"));
}

static void waiting(void)
{
	int other[2];
	EXPECT(0, pipe(ends));
	EXPECT(0, pipe(other));
	struct pollfd waits[3] = { { ends[0], POLLIN, 0 }, { other[0], POLLIN, 0 }, { -1, POLLIN, 7 } };
	struct timespec before, after;
	clock_gettime(CLOCK_MONOTONIC, &before);
	EXPECT(0, poll(waits, 3, 30));
	clock_gettime(CLOCK_MONOTONIC, &after);
	long long slept = (after.tv_sec - before.tv_sec) * 1000ll + (after.tv_nsec - before.tv_nsec) / 1000000;
	CHECK(slept >= 29, "it slept %lld ms", slept);
	pid_t child = fork();
	if (child == 0) {
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
		_exit(write(other[1], "x", 1) != 1);
	}
	EXPECT(1, poll(waits, 3, -1));
	EXPECT(0, waits[0].revents);
	EXPECT(POLLIN, waits[1].revents);
	EXPECT(0, waits[2].revents);
	fd_set in, out;
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(ends[0], &in);
	FD_SET(other[0], &in);
	FD_SET(ends[1], &out);
	EXPECT(2, select(other[1] + 1, &in, &out, NULL, NULL));
	CHECK(!FD_ISSET(ends[0], &in) && FD_ISSET(other[0], &in) && FD_ISSET(ends[1], &out), "the sets");
	EXPECT(child, wait(NULL));
	waits[0].fd = 50;
	EXPECT(2, poll(waits, 2, 0));
	EXPECT(POLLNVAL, waits[0].revents);
	FD_ZERO(&in);
	FD_SET(50, &in);
	FAILS(EBADF, select(51, &in, NULL, NULL, &(struct timeval){ 0, 0 }));
	FAILS(EINVAL, select(-1, NULL, NULL, NULL, &(struct timeval){ 0, 0 }));
}

int main(int count, char **words)
{
	static const struct part parts[] = {
		{ "plain", plain }, { "full", full }, { "atomic", atomic }, { "broken", broken },
		{ "sleeping-writer", sleeping_writer }, { "named", named }, { "waiting", waiting }, { NULL, NULL },
	};
	return count > 1 ? run_part(parts, words) : 2;
}
