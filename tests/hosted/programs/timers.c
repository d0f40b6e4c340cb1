/* Timers that send signals.
 *
 * timers WHAT */
#include "signals.h"

static volatile int count, seen_code;

static void record(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	count++;
	seen_code = info->si_code;
}

static long long now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ll + now.tv_nsec / 1000;
}

static void wait_for_count(int wanted)
{
	uint64_t none = 0;
	uint64_t old = change_mask(SIG_BLOCK, SET(SIGALRM));
	while (count < wanted)
		syscall(SYS_rt_sigsuspend, &none, 8);
	change_mask(SIG_SETMASK, old);
}

static void once(void)
{
	struct itimerval timer = { { 0, 0 }, { 0, 20000 } }, old;
	handle(SIGALRM, record, SA_SIGINFO, 0);
	long long before = now_us();
	EXPECT(0, setitimer(ITIMER_REAL, &timer, &old));
	EXPECT(0, old.it_value.tv_sec + old.it_value.tv_usec + old.it_interval.tv_usec);
	wait_for_count(1);
	CHECK(now_us() - before >= 20000, "after %lld us", now_us() - before);
	printf("code %d\n", seen_code);
	EXPECT(0, getitimer(ITIMER_REAL, &timer));
	EXPECT(0, timer.it_value.tv_sec + timer.it_value.tv_usec);
	/* It is over: nothing more comes. */
	nanosleep(&(struct timespec){ 0, 60000000 }, NULL);
	EXPECT(1, count);
}

static void again(void)
{
	struct itimerval timer = { { 0, 10000 }, { 0, 1 } };
	handle(SIGALRM, record, SA_SIGINFO, 0);
	long long before = now_us();
	EXPECT(0, setitimer(ITIMER_REAL, &timer, NULL));
	wait_for_count(6);
	CHECK(now_us() - before >= 50000, "after %lld us", now_us() - before);
	EXPECT(0, getitimer(ITIMER_REAL, &timer));
	EXPECT(10000, timer.it_interval.tv_usec);
	CHECK(timer.it_value.tv_sec == 0 && timer.it_value.tv_usec <= 10000, "%ld us are left", (long)timer.it_value.tv_usec);
	timer = (struct itimerval){ 0 };
	EXPECT(0, setitimer(ITIMER_REAL, &timer, NULL));
	int after = count;
	nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
	EXPECT(after, count);
}

static void alarms(void)
{
	struct itimerval timer;
	handle(SIGALRM, record, SA_SIGINFO, 0);
	EXPECT(0, alarm(100));
	CHECK(alarm(50) >= 99, "the first alarm");
	EXPECT(0, getitimer(ITIMER_REAL, &timer));
	CHECK(timer.it_value.tv_sec >= 49 && timer.it_value.tv_sec <= 50, "%ld s are left", (long)timer.it_value.tv_sec);
	timer = (struct itimerval){ { 0, 0 }, { 7, 600000 } };
	EXPECT(0, setitimer(ITIMER_REAL, &timer, NULL));
	/* The C library rounds up. */
	EXPECT(8, alarm(0));
	timer = (struct itimerval){ { 0, 0 }, { 7, 100000 } };
	EXPECT(0, setitimer(ITIMER_REAL, &timer, NULL));
	EXPECT(8, alarm(0));
	timer = (struct itimerval){ { 0, 0 }, { 0, 400000 } };
	EXPECT(0, setitimer(ITIMER_REAL, &timer, NULL));
	EXPECT(1, alarm(0));
	EXPECT(0, alarm(0));
	EXPECT(0, count);
}

static void wait_for_alarm(void)
{
	alarm(1);
	for (;;)
		pause();
}

static void deadly(void)
{
	EXPECT(1000 + SIGALRM, end_of(child_that(wait_for_alarm)));
}

static void errors(void)
{
	static const struct itimerval timers[] = {
		{ { 0, 0 }, { 0, 1000000 } }, { { 0, 0 }, { 0, -1 } }, { { 0, 0 }, { -1, 0 } },
		{ { 0, 1000000 }, { 0, 0 } }, { { -1, 0 }, { 0, 0 } }, { { 0, 0 }, { 1l << 40, 0 } },
	};
	struct itimerval old;
	for (unsigned i = 0; i < sizeof timers / sizeof *timers; i++) {
		errno = 0;
		int result = setitimer(ITIMER_REAL, &timers[i], NULL);
		printf("%u: %d %d\n", i, result, errno);
	}
	FAILS(EINVAL, setitimer(3, &timers[0], NULL));
	FAILS(EINVAL, setitimer(-1, &timers[0], NULL));
	FAILS(EINVAL, getitimer(3, &old));
	FAILS(EFAULT, syscall(SYS_getitimer, ITIMER_REAL, 8));
	FAILS(EFAULT, syscall(SYS_setitimer, ITIMER_REAL, 8, 0));
	/* Without a new value the timer is stopped. */
	alarm(100);
	EXPECT(0, syscall(SYS_setitimer, ITIMER_REAL, 0, &old));
	CHECK(old.it_value.tv_sec >= 99, "it had %ld s", (long)old.it_value.tv_sec);
	EXPECT(0, alarm(0));
}

/* Time that the program uses. */
static void used(void)
{
	struct itimerval timer = { { 0, 0 }, { 0, 20000 } };
	handle(SIGVTALRM, record, SA_SIGINFO, 0);
	handle(SIGPROF, record, SA_SIGINFO, 0);
	EXPECT(0, setitimer(ITIMER_VIRTUAL, &timer, NULL));
	nanosleep(&(struct timespec){ 0, 60000000 }, NULL);
	EXPECT(0, count);
	while (count == 0)
		;
	printf("code %d\n", seen_code);
	EXPECT(0, setitimer(ITIMER_PROF, &timer, NULL));
	while (count == 1)
		syscall(SYS_getpid);
	EXPECT(2, count);
}

/* Timers faster than their handlers: the program comes on all the same. */
static void fast(void)
{
	static const int timers[] = { ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF }, signals[] = { SIGALRM, SIGVTALRM, SIGPROF };
	struct itimerval timer = { { 0, 1 }, { 0, 1 } };
	for (int i = 0; i < 3; i++) {
		int before = count;
		handle(signals[i], record, SA_SIGINFO, 0);
		EXPECT(0, setitimer(timers[i], &timer, NULL));
		for (volatile int turn = 0; turn < 5000000; turn++)
			;
		while (count == before)
			syscall(SYS_getpid);
		EXPECT(0, setitimer(timers[i], &(struct itimerval){ 0 }, NULL));
		printf("timer %d: done\n", i);
	}
}

int main(int words_count, char **words)
{
	static const struct part parts[] = {
		{ "once", once }, { "again", again }, { "alarms", alarms }, { "deadly", deadly }, { "errors", errors },
		{ "used", used }, { "fast", fast }, { NULL, NULL },
	};
	return words_count > 1 ? run_part(parts, words) : 2;
}
