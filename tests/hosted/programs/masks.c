/* Masks and pending signals: what is blocked, what is delivered when it is not any more, and in which order.
 *
 * masks WHAT */
#include "signals.h"
#include <pthread.h>

static volatile int order[128], taken;

static void record(int signal)
{
	if (taken < 128)
		order[taken++] = signal;
}

static void tell_order(const char *what)
{
	printf("%s:", what);
	for (int i = 0; i < taken; i++)
		printf(" %d", order[i]);
	printf("\n");
	taken = 0;
}

static void ways(void)
{
	EXPECT(0, mask_now());
	EXPECT(0, change_mask(SIG_BLOCK, SET(1) | SET(10)));
	EXPECT(SET(1) | SET(10), change_mask(SIG_BLOCK, SET(12)));
	EXPECT(SET(1) | SET(10) | SET(12), change_mask(SIG_UNBLOCK, SET(10) | SET(64)));
	EXPECT(SET(1) | SET(12), change_mask(SIG_SETMASK, ~0ul));
	printf("all: %#lx\n", (unsigned long)mask_now());
	change_mask(SIG_SETMASK, 0);
	EXPECT(0, mask_now());
	uint64_t some = SET(5), old = 1;
	/* Without a new mask the way does not matter. */
	EXPECT(0, syscall(SYS_rt_sigprocmask, 77, NULL, &old, 8));
	EXPECT(0, old);
	for (int how = -1; how <= 4; how++) {
		errno = 0;
		long result = syscall(SYS_rt_sigprocmask, how, &some, NULL, 8);
		printf("way %d: %ld %d\n", how, result, errno);
	}
	FAILS(EINVAL, syscall(SYS_rt_sigprocmask, SIG_BLOCK, &some, NULL, 4));
	FAILS(EINVAL, syscall(SYS_rt_sigprocmask, SIG_BLOCK, &some, NULL, 16));
	/* The new mask stays where the place for the old one is bad. */
	change_mask(SIG_SETMASK, 0);
	FAILS(EFAULT, syscall(SYS_rt_sigprocmask, SIG_SETMASK, &some, (void *)8, 8));
	printf("after EFAULT: %#lx\n", (unsigned long)mask_now());
}

static void pending_set(void)
{
	uint64_t set;
	change_mask(SIG_SETMASK, ~0ul);
	EXPECT(0, pending_now());
	send_self(SIGUSR1);
	send_self(SIGUSR1);
	send_self(SIGTERM);
	EXPECT(0, syscall(SYS_tkill, syscall(SYS_gettid), 40));
	EXPECT(SET(SIGUSR1) | SET(SIGTERM) | SET(40), pending_now());
	EXPECT(0, syscall(SYS_rt_sigpending, &set, 8));
	FAILS(EINVAL, syscall(SYS_rt_sigpending, &set, 16));
	/* A smaller set is a part of it. */
	uint32_t part[2] = { 0, 0x5a5a };
	errno = 0;
	long result = syscall(SYS_rt_sigpending, part, 4);
	printf("four bytes: %ld %d %#x %#x\n", result, errno, part[0], part[1]);
	FAILS(EFAULT, syscall(SYS_rt_sigpending, (void *)8, 8));
	handle(SIGUSR1, record, 0, 0);
	handle(SIGTERM, record, 0, 0);
	handle(40, record, 0, 0);
	change_mask(SIG_UNBLOCK, SET(SIGTERM));
	tell_order("one unblocked");
	EXPECT(SET(SIGUSR1) | SET(40), pending_now());
	change_mask(SIG_SETMASK, 0);
	tell_order("all unblocked");
	EXPECT(0, pending_now());
}

static void ordered(void)
{
	static const int signals[] = { 64, 34, 12, SIGSEGV, 1, SIGTRAP, SIGBUS, 28, 33, 17, SIGILL, SIGFPE, 15, SIGSYS, 50 };
	for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
		handle(signals[i], record, 0, ~0ul);
	change_mask(SIG_SETMASK, ~0ul);
	for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
		send_self(signals[i]);
	change_mask(SIG_SETMASK, 0);
	tell_order("handlers that block all run one after the other");
	/* Those that block only themselves: the frame of the last one is on top, and its handler runs first. */
	for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
		handle(signals[i], record, 0, 0);
	change_mask(SIG_SETMASK, ~0ul);
	for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
		send_self(signals[i]);
	change_mask(SIG_SETMASK, 0);
	tell_order("others stack up");
	/* A thread's own come before its process's. */
	change_mask(SIG_SETMASK, ~0ul);
	for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
		handle(signals[i], record, 0, ~0ul);
	send_self(12);
	send_self(34);
	EXPECT(0, syscall(SYS_tkill, syscall(SYS_gettid), 15));
	EXPECT(0, syscall(SYS_tkill, syscall(SYS_gettid), 50));
	EXPECT(0, syscall(SYS_tkill, syscall(SYS_gettid), SIGSEGV));
	change_mask(SIG_SETMASK, 0);
	tell_order("own and shared");
}

static void at_once(void)
{
	handle(SIGUSR1, record, 0, 0);
	for (int i = 0; i < 1000; i++) {
		change_mask(SIG_BLOCK, SET(SIGUSR1));
		send_self(SIGUSR1);
		EXPECT(0, taken);
		change_mask(SIG_UNBLOCK, SET(SIGUSR1));
		/* It came before the call returned. */
		EXPECT(1, taken);
		taken = 0;
	}
}

static volatile uint64_t mask_in_handler;

static void look_at_mask(int signal)
{
	record(signal);
	mask_in_handler = mask_now();
}

static void suspended(void)
{
	uint64_t open = SET(SIGHUP), nothing = ~0ul & ~SET(SIGALRM);
	handle(SIGUSR1, look_at_mask, 0, SET(SIGTERM));
	handle(SIGALRM, look_at_mask, 0, 0);
	change_mask(SIG_SETMASK, SET(SIGUSR1) | SET(SIGUSR2));
	send_self(SIGUSR1);
	errno = 0;
	EXPECT(-1, syscall(SYS_rt_sigsuspend, &open, 8));
	EXPECT(EINTR, errno);
	EXPECT(1, taken);
	/* The handler runs with the mask of the call; afterwards the old one is back. */
	EXPECT(SET(SIGHUP) | SET(SIGUSR1) | SET(SIGTERM), mask_in_handler);
	EXPECT(SET(SIGUSR1) | SET(SIGUSR2), mask_now());
	FAILS(EINVAL, syscall(SYS_rt_sigsuspend, &open, 4));
	FAILS(EFAULT, syscall(SYS_rt_sigsuspend, (void *)8, 8));
	/* An ignored one does not end it. */
	handle(SIGUSR2, IGNORED, 0, 0);
	send_self(SIGUSR2);
	taken = 0;
	tick(10000);
	FAILS(EINTR, syscall(SYS_rt_sigsuspend, &nothing, 8));
	tick(0);
	CHECK(taken >= 1 && order[0] == SIGALRM, "first %d of %d", order[0], taken);
	/* SIGKILL and SIGSTOP cannot be kept out. */
	printf("within: %#lx\n", (unsigned long)mask_in_handler);
}

static int gate[2];
static uint64_t of_thread;
static pthread_t main_thread;

static void *other_thread(void *unused)
{
	(void)unused;
	of_thread = mask_now();
	change_mask(SIG_BLOCK, SET(SIGUSR2));
	byte_from(gate[0]);
	of_thread |= pending_now() << 32;
	return NULL;
}

static void threads(void)
{
	pthread_t thread;
	EXPECT(0, pipe(gate));
	change_mask(SIG_SETMASK, SET(SIGTERM));
	EXPECT(0, pthread_create(&thread, NULL, other_thread, NULL));
	/* A thread's mask is its own; a process's signal is pending for each. */
	EXPECT(SET(SIGTERM), mask_now());
	send_self(SIGTERM);
	byte_to(gate[1], 'x');
	EXPECT(0, pthread_join(thread, NULL));
	EXPECT(SET(SIGTERM), of_thread & 0xffffffff);
	EXPECT(SET(SIGTERM), of_thread >> 32);
	EXPECT(SET(SIGTERM), mask_now());
}

static volatile pid_t handled_by;

static void record_thread(int signal)
{
	(void)signal;
	handled_by = syscall(SYS_gettid);
}

static pid_t tid_of_thread;

static void *willing_thread(void *unused)
{
	(void)unused;
	tid_of_thread = syscall(SYS_gettid);
	change_mask(SIG_UNBLOCK, SET(SIGUSR1));
	byte_to(gate[1], 'r');
	while (!handled_by)
		sched_yield();
	return NULL;
}

static void to_the_willing(void)
{
	pthread_t thread;
	EXPECT(0, pipe(gate));
	handle(SIGUSR1, record_thread, 0, 0);
	change_mask(SIG_BLOCK, SET(SIGUSR1));
	EXPECT(0, pthread_create(&thread, NULL, willing_thread, NULL));
	EXPECT('r', byte_from(gate[0]));
	send_self(SIGUSR1);
	EXPECT(0, pthread_join(thread, NULL));
	EXPECT(tid_of_thread, handled_by);
	/* What is sent to one thread waits for that one. */
	handled_by = 0;
	EXPECT(0, syscall(SYS_tkill, syscall(SYS_gettid), SIGUSR1));
	EXPECT(SET(SIGUSR1), pending_now());
	EXPECT(0, handled_by);
	change_mask(SIG_UNBLOCK, SET(SIGUSR1));
	EXPECT(getpid(), handled_by);
}

static void *sleeping_thread(void *unused)
{
	(void)unused;
	byte_to(gate[1], 'r');
	for (;;)
		pause();
}

/* A signal that kills ends every thread; the status is of the process. */
static void killed_as_a_whole(void)
{
	pthread_t thread;
	EXPECT(0, pipe(gate));
	EXPECT(0, pthread_create(&thread, NULL, sleeping_thread, NULL));
	byte_from(gate[0]);
	pthread_kill(thread, SIGTERM);
	for (;;)
		pause();
}

static void *ending_thread(void *unused)
{
	pthread_join(main_thread, NULL);
	syscall(SYS_exit_group, 23);
	return unused;
}

static void ended_by_a_thread(void)
{
	pthread_t thread;
	main_thread = pthread_self();
	EXPECT(0, pthread_create(&thread, NULL, ending_thread, NULL));
	pthread_exit(NULL);
}

static void whole(void)
{
	EXPECT(1000 + SIGTERM, end_of(child_that(killed_as_a_whole)));
	EXPECT(23, end_of(child_that(ended_by_a_thread)));
}

static void to_whom(void)
{
	pid_t me = getpid();
	FAILS(EINVAL, kill(me, 65));
	FAILS(EINVAL, kill(me, -1));
	EXPECT(0, kill(me, 0));
	FAILS(ESRCH, kill(0x3ffffff, 0));
	FAILS(ESRCH, kill(-0x3ffffff, SIGTERM));
	FAILS(ESRCH, syscall(SYS_tkill, 0x3ffffff, SIGTERM));
	FAILS(EINVAL, syscall(SYS_tkill, 0, SIGTERM));
	FAILS(EINVAL, syscall(SYS_tkill, -1, SIGTERM));
	FAILS(EINVAL, syscall(SYS_tgkill, -1, me, SIGTERM));
	FAILS(ESRCH, syscall(SYS_tgkill, 0x3ffffff, me, SIGTERM));
	FAILS(ESRCH, syscall(SYS_tgkill, 1, me, SIGTERM));
	FAILS(EINVAL, syscall(SYS_tgkill, me, me, 65));
	EXPECT(0, syscall(SYS_tgkill, me, me, 0));
	FAILS(ESRCH, kill(-0x7fffffff - 1, SIGTERM));
}

int main(int count, char **words)
{
	static const struct part parts[] = {
		{ "ways", ways }, { "pending", pending_set }, { "ordered", ordered }, { "at-once", at_once },
		{ "suspended", suspended }, { "threads", threads }, { "to-the-willing", to_the_willing },
		{ "whole", whole }, { "to-whom", to_whom }, { NULL, NULL },
	};
	return count > 1 ? run_part(parts, words) : 2;
}
