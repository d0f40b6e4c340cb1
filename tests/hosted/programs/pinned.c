/* A constant in every register that a system call keeps, over each of the calls, checked after each.
 *
 * pinned STEP [NAME]: the calls of one step; or one of them. `sleeper` adds calls that wake a sleeping thread. */
#include "calls.h"
#include <pthread.h>
#include <stdlib.h>
#include "check.h"

long pinned_call(long number, const long arguments[6]);
extern uint64_t pinned_found[32];

static void check_registers(const char *name, long number, const long arguments[6])
{
	static const int kept[] = { 1, 2, 3, 10, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 };
	for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++) {
		uint64_t wanted = 0xc0de000000000000 + kept[i] * 0x010101010101;
		CHECK(pinned_found[kept[i]] == wanted, "%s: r%d is %#lx", name, kept[i], pinned_found[kept[i]]);
	}
	for (int i = 1; i < 6; i++)
		CHECK(pinned_found[4 + i] == (uint64_t)arguments[i], "%s: a%d is %#lx, was %#lx", name, i,
		      pinned_found[4 + i], arguments[i]);
	CHECK(pinned_found[11] == (uint64_t)number, "%s: a7 is %#lx", name, pinned_found[11]);
}

static void call(const struct call *call)
{
	static uint64_t objects[6][128];
	long arguments[6];
	for (int i = 0; i < 6; i++) {
		const struct argument *argument = &call->arguments[i];
		arguments[i] = value_of(argument);
		if (argument->use == VALUE)
			continue;
		memset(objects[i], 0, sizeof objects[i]);
		if (argument->content)
			memcpy(objects[i], argument->content, argument->value);
		arguments[i] = (long)objects[i];
	}
	for (int round = 0; round < 3; round++) {
		pinned_call(call->number, arguments);
		check_registers(call->name, call->number, arguments);
	}
}

static volatile uint32_t word;
static volatile int woken;

static void *sleep_on_word(void *unused)
{
	(void)unused;
	for (int round = 0; round < 100; round++) {
		while (word == (uint32_t)round)
			syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, round, NULL);
		woken = round + 1;
	}
	return NULL;
}

/* Wakes a thread, and yields until it has run: the registers of two threads go through the same call. */
static void with_sleeper(void)
{
	pthread_t thread;
	EXPECT(0, pthread_create(&thread, NULL, sleep_on_word, NULL));
	long wake[6] = { (long)&word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0 }, nothing[6] = { 0 };
	for (int round = 0; round < 100; round++) {
		word = round + 1;
		pinned_call(SYS_futex, wake);
		check_registers("futex", SYS_futex, wake);
		while (woken != round + 1) {
			pinned_call(SYS_sched_yield, nothing);
			check_registers("sched_yield", SYS_sched_yield, nothing);
		}
	}
	EXPECT(0, pthread_join(thread, NULL));
}

int main(int count, char **words)
{
	if (count > 1 && !strcmp(words[1], "sleeper")) {
		with_sleeper();
		return done();
	}
	if (count > 1 && strcmp(words[1], "A2"))
		open_files();
	for (int i = 0; i < CALLS; i++) {
		int is_meant = count > 2 ? !strcmp(words[2], calls[i].name) : 1;
		if (count > 1 && !strcmp(words[1], calls[i].step) && is_meant)
			call(&calls[i]);
	}
	return done();
}
