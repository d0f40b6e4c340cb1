/* What operations of the kernel and its host cost: each between the counter's marks, after a few without.
 *
 * `figures LABEL=SAMPLES...` measures these, one after the other; src/figures.rs has the list.
 */
#include "figures.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 16384ul
/* Four times as many pages as the host keeps clear in advance. */
#define PAGES 256ul

static char buffer[65536];

/* One call between the marks: nothing else but its arguments' moves is in between. */
static void call(const char *label, long samples, long number, long a0, long a1, long a2, long a3, long a5)
{
	for (long i = 0; i < samples + WARM; i++)
		marked_call(i < WARM ? 0 : word_of(label), number, a0, a1, a2, a3, a5);
}

#define CALL(name, number, a0, a1, a2, a3)                                         \
	static void run_##name(const char *label, long samples)                    \
	{                                                                          \
		call(label, samples, number, (long)(a0), (long)(a1), (long)(a2), (long)(a3), 0); \
	}

static unsigned long mask;
static struct timespec time_now;
static struct stat status;
static int word;

CALL(getpid, SYS_getpid, 0, 0, 0, 0)
CALL(getuid, SYS_getuid, 0, 0, 0, 0)
CALL(umask, SYS_umask, 022, 0, 0, 0)
CALL(nothing, SYS_sync, 0, 0, 0, 0)
CALL(enosys, 999, 0, 0, 0, 0)
CALL(mask, SYS_rt_sigprocmask, 0, 0, &mask, 8)
CALL(kill, SYS_kill, getpid(), SIGWINCH, 0, 0)
CALL(clock, SYS_clock_gettime, CLOCK_MONOTONIC, &time_now, 0, 0)
CALL(yield, SYS_sched_yield, 0, 0, 0, 0)
CALL(wake, SYS_futex, &word, 129, 1, 0)
CALL(fstat, 80, 1, &status, 0, 0)
CALL(stat, 79, AT_FDCWD, "/etc/passwd", &status, 0)

/* The turn of the other process: both do this, and each ends what the other began. */
static void run_yield2(const char *label, long samples)
{
	volatile int *over = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = fork();
	if (child == 0) {
		while (!*over)
			marked_call(word_of(label), SYS_sched_yield, 0, 0, 0, 0, 0);
		_exit(0);
	}
	sched_yield();
	for (long i = 0; i < samples; i++)
		marked_call(word_of(label), SYS_sched_yield, 0, 0, 0, 0, 0);
	*over = 1;
	waitpid(child, NULL, 0);
}

/* Touches pages that nobody has touched before. */
static void run_touch(const char *label, long samples)
{
	for (long i = 0; i < samples; i++) {
		char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MARK(word_of(label), PAGES);
		for (unsigned long page = 0; page < PAGES; page++)
			*(volatile char *)(pages + page * PAGE) = 1;
		STOP();
		munmap(pages, PAGES * PAGE);
	}
}

#define MEASURED(name, ...)                                       \
	static void run_##name(const char *label, long samples)   \
	{                                                         \
		for (long i = 0; i < samples + WARM; i++) {       \
			if (i >= WARM)                            \
				MARK(word_of(label), 1);          \
			__VA_ARGS__;                              \
			STOP();                                   \
		}                                                 \
	}

#define NEW_PAGE mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
MEASURED(map, munmap(NEW_PAGE, PAGE))
MEASURED(maptouch, char *page = NEW_PAGE; *(volatile char *)page = 1; munmap(page, PAGE))
MEASURED(dup, close(dup(1)))
MEASURED(open, close(open("/etc/passwd", O_RDONLY)))
MEASURED(fork, pid_t child = fork(); if (child == 0) _exit(0); waitpid(child, NULL, 0))
MEASURED(exec, pid_t child = fork(); if (child == 0) execl("/hosted/figures", "figures", NULL); waitpid(child, NULL, 0))

static int ends[2];
static void run_pipe(const char *label, long samples)
{
	if (pipe(ends))
		exit(3);
	for (long i = 0; i < samples + WARM; i++) {
		if (i >= WARM)
			MARK(word_of(label), 1);
		if (write(ends[1], buffer, 1) != 1 || read(ends[0], buffer, 1) != 1)
			exit(3);
		STOP();
	}
	close(ends[0]);
	close(ends[1]);
}

/* Eight bytes to another process and back. */
static void run_pipe2(const char *label, long samples)
{
	int there[2], back[2];
	long value = 0;
	if (pipe(there) || pipe(back))
		exit(3);
	pid_t child = fork();
	if (child == 0) {
		close(there[1]);
		while (read(there[0], &value, 8) == 8 && write(back[1], &value, 8) == 8)
			;
		_exit(0);
	}
	for (long i = 0; i < samples + WARM; i++) {
		if (i >= WARM)
			MARK(word_of(label), 1);
		if (write(there[1], &value, 8) != 8 || read(back[0], &value, 8) != 8)
			exit(3);
		STOP();
	}
	close(there[1]);
	waitpid(child, NULL, 0);
}

static void *nothing(void *argument)
{
	return argument;
}
MEASURED(thread, pthread_t thread; pthread_create(&thread, NULL, nothing, NULL); pthread_join(thread, NULL))

static void set_turn(volatile int *turn, int to)
{
	__atomic_store_n(turn, to, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, turn, 129, 1);
}

static void wait_turn(volatile int *turn, int my)
{
	int now;
	while ((now = __atomic_load_n(turn, __ATOMIC_SEQ_CST)) != my && now != 2)
		syscall(SYS_futex, turn, 128, now, NULL);
}

static volatile int turn;

static void *other_side(void *argument)
{
	while (turn != 2) {
		wait_turn(&turn, 1);
		if (turn != 2)
			set_turn(&turn, 0);
	}
	return argument;
}

static void run_futex(const char *label, long samples)
{
	pthread_t thread;
	turn = 0;
	pthread_create(&thread, NULL, other_side, NULL);
	for (long i = 0; i < samples + WARM; i++) {
		if (i >= WARM)
			MARK(word_of(label), 1);
		set_turn(&turn, 1);
		wait_turn(&turn, 0);
		STOP();
	}
	set_turn(&turn, 2);
	pthread_join(thread, NULL);
}

static void run_seek(const char *label, long samples)
{
	int file = open("/etc/passwd", O_RDONLY);
	call(label, samples, SYS_lseek, file, 0, SEEK_SET, 0, 0);
	close(file);
}

static void read_bytes(const char *label, long samples, long bytes)
{
	int file = open("/hosted/figures", O_RDONLY);
	call(label, samples, SYS_pread64, file, (long)buffer, bytes, 0, 0);
	close(file);
}

static void run_read1(const char *label, long samples)
{
	read_bytes(label, samples, 1);
}

static void run_read4k(const char *label, long samples)
{
	read_bytes(label, samples, 4096);
}

static const struct {
	const char *label;
	void (*run)(const char *label, long samples);
} figures[] = {
#define FIGURE(name) { #name, run_##name }
	FIGURE(getpid), FIGURE(getuid), FIGURE(nothing), FIGURE(umask), FIGURE(enosys), FIGURE(mask),
	FIGURE(kill), FIGURE(clock), FIGURE(yield), FIGURE(yield2), FIGURE(wake), FIGURE(futex), FIGURE(touch),
	FIGURE(map), FIGURE(maptouch), FIGURE(fstat), FIGURE(stat), FIGURE(open), FIGURE(dup), FIGURE(seek),
	FIGURE(read1), FIGURE(read4k), FIGURE(pipe), FIGURE(pipe2), FIGURE(thread), FIGURE(fork), FIGURE(exec),
};

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char *number = strchr(argv[i], '=');
		if (!number)
			return 2;
		*number = 0;
		int found = 0;
		for (unsigned long n = 0; n < sizeof(figures) / sizeof(figures[0]); n++)
			if (strcmp(argv[i], figures[n].label) == 0) {
				figures[n].run(argv[i], atol(number + 1));
				found = 1;
			}
		if (!found)
			return 2;
	}
	return 0;
}
