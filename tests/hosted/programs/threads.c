/* Threads of the C library: start, join, values, local storage, locks, conditions, detached ones, exit from a thread.
 *
 * threads WHAT */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include "check.h"

enum { THREADS = 8, ROUNDS = 2000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long counter;
static atomic_long atomic_counter, reserved_counter;
static _Thread_local long own = 41;

static void start_all(pthread_t *threads, void *(*body)(void *))
{
	for (long i = 0; i < THREADS; i++)
		EXPECT(0, pthread_create(&threads[i], NULL, body, (void *)i));
}

static void join_all(const pthread_t *threads)
{
	for (long i = 0; i < THREADS; i++) {
		void *value = NULL;
		EXPECT(0, pthread_join(threads[i], &value));
		EXPECT(i * 3, (intptr_t)value);
	}
}

static void *count_up(void *number)
{
	CHECK(own == 41, "local storage begins with %ld", own);
	CHECK(syscall(SYS_gettid) != getpid(), "a thread has the process's id");
	for (long i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		counter++;
		pthread_mutex_unlock(&mutex);
		atomic_counter++;
		/* The same by reservation, over whatever comes between. */
		long old, done_;
		do
			__asm__ volatile("ll.d %0, %2, 0\n addi.d %1, %0, 1\n sc.d %1, %2, 0"
					 : "=&r"(old), "=&r"(done_)
					 : "r"(&reserved_counter)
					 : "memory");
		while (!done_);
		own++;
	}
	EXPECT(41 + ROUNDS, own);
	return (void *)((intptr_t)number * 3);
}

static void counting(void)
{
	pthread_t threads[THREADS];
	start_all(threads, count_up);
	join_all(threads);
	EXPECT(THREADS * ROUNDS, counter);
	EXPECT(THREADS * ROUNDS, atomic_counter);
	EXPECT(THREADS * ROUNDS, reserved_counter);
	EXPECT(41, own);
}

static long turn;

static void *take_turns(void *number)
{
	for (long i = 0; i < 50; i++) {
		pthread_mutex_lock(&mutex);
		while (turn % THREADS != (intptr_t)number)
			pthread_cond_wait(&changed, &mutex);
		turn++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&mutex);
	}
	return (void *)((intptr_t)number * 3);
}

static void conditions(void)
{
	pthread_t threads[THREADS];
	start_all(threads, take_turns);
	join_all(threads);
	EXPECT(THREADS * 50, turn);
	struct timespec soon;
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec += 20000000;
	soon.tv_sec += soon.tv_nsec / 1000000000;
	soon.tv_nsec %= 1000000000;
	pthread_mutex_lock(&mutex);
	EXPECT(ETIMEDOUT, pthread_cond_timedwait(&changed, &mutex, &soon));
	pthread_mutex_unlock(&mutex);
}

static sem_t full, empty;
static long passed[16];

static void *produce(void *unused)
{
	(void)unused;
	for (long i = 1; i <= 500; i++) {
		sem_wait(&empty);
		passed[i % 16] = i;
		sem_post(&full);
	}
	return NULL;
}

static void semaphores(void)
{
	pthread_t thread;
	sem_init(&full, 0, 0);
	sem_init(&empty, 0, 16);
	EXPECT(0, pthread_create(&thread, NULL, produce, NULL));
	for (long i = 1; i <= 500; i++) {
		sem_wait(&full);
		EXPECT(i, passed[i % 16]);
		sem_post(&empty);
	}
	EXPECT(0, pthread_join(thread, NULL));
}

static void *nothing(void *unused)
{
	return unused;
}

/* More threads, one after the other, than fit in memory at once. */
static void many(void)
{
	for (long i = 0; i < 1000; i++) {
		pthread_t thread;
		void *value;
		EXPECT(0, pthread_create(&thread, NULL, nothing, (void *)i));
		EXPECT(0, pthread_join(thread, &value));
		EXPECT(i, (intptr_t)value);
	}
}

static void *spin(void *unused)
{
	for (;;)
		atomic_counter++;
	return unused;
}

static void *end_process(void *unused)
{
	printf("ok\n");
	exit(7);
	return unused;
}

/* A thread that never calls must not keep others from running, nor the process from ending. */
static void exiting(void)
{
	pthread_t thread;
	EXPECT(0, pthread_create(&thread, NULL, spin, NULL));
	EXPECT(0, pthread_create(&thread, NULL, spin, NULL));
	EXPECT(0, pthread_create(&thread, NULL, end_process, NULL));
	for (;;)
		pthread_join(thread, NULL);
}

/* The first thread ends; the process lives until the last one does, and has its status. */
static void *outlive(void *unused)
{
	(void)unused;
	nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
	printf("ok\n");
	fflush(stdout);
	syscall(SYS_exit, 9);
	return NULL;
}

static void first_ends(void)
{
	pthread_t thread;
	EXPECT(0, pthread_create(&thread, NULL, outlive, NULL));
	syscall(SYS_exit, 5);
}

static void *fault(void *unused)
{
	*(volatile long *)8 = 0;
	return unused;
}

static void faulting(void)
{
	pthread_t thread;
	EXPECT(0, pthread_create(&thread, NULL, spin, NULL));
	EXPECT(0, pthread_create(&thread, NULL, fault, NULL));
	pthread_join(thread, NULL);
}

int main(int count, char **words)
{
	static const struct part parts[] = {
		{ "counting", counting }, { "conditions", conditions }, { "semaphores", semaphores },
		{ "many", many }, { "exiting", exiting }, { "first-ends", first_ends }, { "faulting", faulting },
		{ NULL, NULL },
	};
	return count > 1 ? run_part(parts, words) : 2;
}
