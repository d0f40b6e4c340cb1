/* futex as it is: values, counts of woken, time limits, bit sets, requeueing, and the word of a thread that ended. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include "check.h"
#include "futex.h"

enum { WAITERS = 4 };

static atomic_uint word, other, waiting, woken;
static unsigned bits_of[WAITERS] = { 1, 2, 4, 6 };
static atomic_uint woken_bits;

static long futex(atomic_uint *at, int operation, unsigned value, const void *limit, void *second, unsigned third)
{
	return syscall(SYS_futex, at, operation, value, limit, second, third);
}

static long long now(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static struct timespec at(long long time)
{
	return (struct timespec){ time / 1000000000, time % 1000000000 };
}

static void *wait_for_word(void *bits)
{
	waiting++;
	long result = bits ? futex(&word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE, 1, NULL, NULL, (uintptr_t)bits)
			   : futex(&word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
	CHECK(result == 0, "a waiter was told %s", strerror(errno));
	woken_bits |= (uintptr_t)bits;
	woken++;
	return NULL;
}

/* Starts waiters and gives them time to wait. */
static void start(pthread_t *threads, int with_bits)
{
	waiting = woken = 0;
	woken_bits = 0;
	word = 1;
	for (int i = 0; i < WAITERS; i++)
		EXPECT(0, pthread_create(&threads[i], NULL, wait_for_word, (void *)(uintptr_t)(with_bits ? bits_of[i] : 0)));
	while (waiting < WAITERS)
		sched_yield();
	nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
}

static void until_woken(unsigned count)
{
	for (int i = 0; i < 1000 && woken < count; i++)
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	EXPECT(count, woken);
}

static void join(pthread_t *threads)
{
	for (int i = 0; i < WAITERS; i++)
		EXPECT(0, pthread_join(threads[i], NULL));
}

static void waking(void)
{
	pthread_t threads[WAITERS];
	start(threads, 0);
	EXPECT(0, futex(&other, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0));
	/* A shared wake does not find private waiters. */
	EXPECT(0, futex(&word, FUTEX_WAKE, 10, NULL, NULL, 0));
	EXPECT(0, woken);
	EXPECT(1, futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
	until_woken(1);
	EXPECT(2, futex(&word, FUTEX_WAKE_PRIVATE, 2, NULL, NULL, 0));
	until_woken(3);
	EXPECT(1, futex(&word, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0));
	until_woken(4);
	join(threads);
	EXPECT(0, futex(&word, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0));
}

static void bit_sets(void)
{
	pthread_t threads[WAITERS];
	start(threads, 1);
	EXPECT(0, futex(&word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE, 10, NULL, NULL, 8));
	EXPECT(2, futex(&word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE, 10, NULL, NULL, 2));
	until_woken(2);
	EXPECT(6, woken_bits);
	EXPECT(2, futex(&word, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0));
	until_woken(4);
	join(threads);
	FAILS(EINVAL, futex(&word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0));
	FAILS(EINVAL, futex(&word, FUTEX_WAIT_BITSET, 1, NULL, NULL, 0));
}

static void requeueing(void)
{
	pthread_t threads[WAITERS];
	start(threads, 0);
	FAILS(EAGAIN, futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)1, &other, 2));
	/* One woken, two moved: the count has both; one stays. */
	EXPECT(3, futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)2, &other, 1));
	until_woken(1);
	EXPECT(1, futex(&word, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0));
	until_woken(2);
	EXPECT(2, futex(&other, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0));
	until_woken(4);
	join(threads);
	/* FUTEX_WAKE_OP: other += 5, and wakes on `other` if it was below 1. */
	start(threads, 0);
	other = 0;
	EXPECT(1, futex(&word, FUTEX_WAKE_OP | FUTEX_PRIVATE, 1, (void *)9, &other, 1u << 28 | 2 << 24 | 5 << 12 | 1));
	EXPECT(5, other);
	EXPECT(3, futex(&word, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0));
	join(threads);
}

static void limits(void)
{
	word = 1;
	long long start_ = now(CLOCK_MONOTONIC);
	struct timespec limit = { 0, 20000000 };
	FAILS(ETIMEDOUT, futex(&word, FUTEX_WAIT_PRIVATE, 1, &limit, NULL, 0));
	CHECK(now(CLOCK_MONOTONIC) - start_ >= 20000000, "it came back too early");
	limit = at(now(CLOCK_MONOTONIC) + 20000000);
	FAILS(ETIMEDOUT, futex(&word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE, 1, &limit, NULL, ~0u));
	CHECK(now(CLOCK_MONOTONIC) >= limit.tv_sec * 1000000000ll + limit.tv_nsec, "it came back too early");
	limit = at(now(CLOCK_REALTIME) + 20000000);
	FAILS(ETIMEDOUT, futex(&word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE | FUTEX_CLOCK_REALTIME, 1, &limit, NULL, ~0u));
	limit = at(1);
	FAILS(ETIMEDOUT, futex(&word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE, 1, &limit, NULL, ~0u));
	FAILS(EAGAIN, futex(&word, FUTEX_WAIT_PRIVATE, 2, &limit, NULL, 0));
	limit = (struct timespec){ 0, 1000000000 };
	FAILS(EINVAL, futex(&word, FUTEX_WAIT_PRIVATE, 1, &limit, NULL, 0));
	limit = (struct timespec){ -1, 0 };
	FAILS(EINVAL, futex(&word, FUTEX_WAIT_PRIVATE, 1, &limit, NULL, 0));
	FAILS(EINVAL, futex((void *)((char *)&word + 1), FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0));
	FAILS(ENOSYS, futex(&word, 99, 1, NULL, NULL, 0));
	FAILS(ENOSYS, futex(&word, FUTEX_WAKE | FUTEX_CLOCK_REALTIME, 1, NULL, NULL, 0));
}

/* The word that clone was told to clear is cleared, and woken, when the thread ends; the stack may then go. */
static _Alignas(16) char stack[65536];
static atomic_int cleared;

static void ending(void)
{
	enum { FLAGS = 0x50f00 /* VM, FS, FILES, SIGHAND, THREAD, SYSVSEM */ | 0x200000 /* CHILD_CLEARTID */ | 0x100000 };
	int parent_tid = 0;
	cleared = 1;
	register long a0 __asm__("$a0") = FLAGS, a1 __asm__("$a1") = (long)(stack + sizeof stack);
	register long a2 __asm__("$a2") = (long)&parent_tid, a3 __asm__("$a3") = (long)&cleared, a4 __asm__("$a4") = 0;
	register long a7 __asm__("$a7") = SYS_clone;
	__asm__ volatile("syscall 0\n"
			 "bnez $a0, 1f\n"
			 "li.w $t1, 2000000\n"
			 "2: addi.d $t1, $t1, -1\n"
			 "bnez $t1, 2b\n"
			 "li.w $a7, 93\n"
			 "syscall 0\n"
			 "1:"
			 : "+r"(a0)
			 : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a7)
			 : "$t0", "$t1", "$t2", "$t3", "$t4", "$t5", "$t6", "$t7", "$t8", "memory");
	long thread = a0;
	CHECK(thread > 0, "clone: %ld", thread);
	EXPECT(thread, parent_tid);
	while (cleared)
		syscall(SYS_futex, &cleared, FUTEX_WAIT, 1, NULL);
	EXPECT(0, cleared);
}

int main(void)
{
	waking();
	bit_sets();
	requeueing();
	limits();
	ending();
	return done();
}
