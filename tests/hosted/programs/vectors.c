/* Threads hold patterns in all their floating-point or vector registers, while others do the same at other widths.
 *
 * vectors MILLISECONDS PAUSE WIDTH...: one thread for each width, with PAUSE (none, getpid, yield) between checks. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include "check.h"
#include "vectors.h"

static long long deadline;
static enum pause pause_kind;

struct holder {
	pthread_t thread;
	enum width width;
	uint64_t seed;
	struct vector_state pattern, seen;
	long wrong;
};

static long long now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

static void *hold(void *argument)
{
	struct holder *holder = argument;
	while (now_ms() < deadline && !holder->wrong) {
		make_pattern(&holder->pattern, holder->seed++);
		holder->wrong = hold_vectors[holder->width](&holder->pattern, &holder->seen, 100, pause_kind);
	}
	return NULL;
}

int main(int count, char **words)
{
	static struct holder holders[8];
	int holding = count - 3;
	if (holding < 1 || holding > 8)
		return 2;
	deadline = now_ms() + atoi(words[1]);
	pause_kind = !strcmp(words[2], "getpid") ? PAUSE_GETPID : !strcmp(words[2], "yield") ? PAUSE_YIELD : PAUSE_NONE;
	for (int i = 0; i < holding; i++) {
		struct holder *holder = &holders[i];
		holder->seed = (uint64_t)getpid() << 16 | i << 12;
		for (int width = 0; width < WIDTHS; width++)
			if (!strcmp(words[3 + i], width_names[width]))
				holder->width = width;
		EXPECT(0, pthread_create(&holder->thread, NULL, hold, holder));
	}
	for (int i = 0; i < holding; i++) {
		struct holder *holder = &holders[i];
		EXPECT(0, pthread_join(holder->thread, NULL));
		CHECK(holder->wrong == 0, "thread %d (%s): round %ld", i, width_names[holder->width], holder->wrong);
		for (int word = 0; holder->wrong && word < vector_words(holder->width); word++)
			CHECK(holder->seen.registers[word] == holder->pattern.registers[word], "word %d: %#lx, not %#lx",
			      word, holder->seen.registers[word], holder->pattern.registers[word]);
	}
	return done();
}
