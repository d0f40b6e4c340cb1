/* Clocks go forward, agree with each other, and sleep at least as long as they are told. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include "check.h"

static long long now(clockid_t clock)
{
	struct timespec time = { -1, -1 };
	if (syscall(SYS_clock_gettime, clock, &time))
		return -1;
	CHECK(time.tv_nsec >= 0 && time.tv_nsec < 1000000000, "clock %d: %ld ns", clock, time.tv_nsec);
	return time.tv_sec * 1000000000ll + time.tv_nsec;
}

int main(void)
{
	static const clockid_t clocks[] = {
		CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID,
		CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME,
	};
	for (unsigned i = 0; i < sizeof clocks / sizeof *clocks; i++) {
		long long last = now(clocks[i]);
		CHECK(last >= 0, "clock %d is missing", clocks[i]);
		for (int round = 0; round < 1000; round++) {
			long long next = now(clocks[i]);
			CHECK(next >= last, "clock %d went back", clocks[i]);
			last = next;
		}
		struct timespec step;
		EXPECT(0, syscall(SYS_clock_getres, clocks[i], &step));
		CHECK(step.tv_sec == 0 && step.tv_nsec > 0, "clock %d: step of %ld ns", clocks[i], step.tv_nsec);
	}
	EXPECT(0, syscall(SYS_clock_getres, CLOCK_REALTIME, NULL));
	FAILS(EINVAL, syscall(SYS_clock_gettime, 99, &(struct timespec){ 0 }));
	FAILS(EINVAL, syscall(SYS_clock_getres, 99, NULL));

	/* Later than this was written, and both ways to ask agree. */
	long long real = now(CLOCK_REALTIME);
	CHECK(real > 1735689600ll * 1000000000, "the time of day is %lld ns", real);
	struct timeval day;
	EXPECT(0, syscall(SYS_gettimeofday, &day, NULL));
	long long difference = day.tv_sec * 1000000000ll + day.tv_usec * 1000ll - real;
	CHECK(difference > -1000000 && difference < 1000000000, "gettimeofday is %lld ns later", difference);

	/* The C library's own way, through the vDSO where there is one. */
	struct timespec by_library;
	long long before = now(CLOCK_MONOTONIC);
	EXPECT(0, clock_gettime(CLOCK_MONOTONIC, &by_library));
	long long between = by_library.tv_sec * 1000000000ll + by_library.tv_nsec;
	CHECK(before <= between && between <= now(CLOCK_MONOTONIC), "the library's clock is another");

	struct timespec nap = { 0, 20000000 };
	long long start = now(CLOCK_MONOTONIC);
	EXPECT(0, nanosleep(&nap, NULL));
	CHECK(now(CLOCK_MONOTONIC) - start >= 20000000, "it slept too short");
	start = now(CLOCK_MONOTONIC);
	EXPECT(0, clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL));
	CHECK(now(CLOCK_MONOTONIC) - start >= 20000000, "it slept too short");
	struct timespec until = { (start + 50000000) / 1000000000, (start + 50000000) % 1000000000 };
	EXPECT(0, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL));
	CHECK(now(CLOCK_MONOTONIC) >= start + 50000000, "it woke too early");
	EXPECT(0, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL));
	FAILS(EINVAL, nanosleep(&(struct timespec){ 0, 1000000000 }, NULL));
	FAILS(EINVAL, nanosleep(&(struct timespec){ -1, 0 }, NULL));
	FAILS(EINVAL, nanosleep(&(struct timespec){ 0, -1 }, NULL));
	EXPECT(EINVAL, clock_nanosleep(99, 0, &nap, NULL));

	/* Working costs processor time, sleeping does not. */
	long long used = now(CLOCK_THREAD_CPUTIME_ID);
	EXPECT(0, nanosleep(&nap, NULL));
	long long after_nap = now(CLOCK_THREAD_CPUTIME_ID);
	CHECK(after_nap - used < 15000000, "sleeping used %lld ns", after_nap - used);
	start = now(CLOCK_MONOTONIC);
	while (now(CLOCK_MONOTONIC) - start < 50000000)
		;
	CHECK(now(CLOCK_THREAD_CPUTIME_ID) - after_nap > 5000000, "working used no time");
	return done();
}
