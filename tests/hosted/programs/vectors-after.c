/* A thread ends while its vectors are in the registers; the next one must not see them, nor be disturbed.
 *
 * vectors-after ROUNDS */
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include "check.h"
#include "vectors.h"

struct round {
	int number;
	long wrong;
	struct vector_state pattern, seen;
};

static void *leave(void *argument)
{
	struct round *round = argument;
	make_pattern(&round->pattern, 0x1000000 + round->number);
	round->wrong = hold_vectors[round->number % WIDTHS](&round->pattern, &round->seen, 1, PAUSE_NONE);
	return NULL;
}

int main(int count, char **words)
{
	static struct vector_state own, seen;
	static struct round round;
	int rounds = count > 1 ? atoi(words[1]) : 200;
	make_pattern(&own, 77);
	for (round.number = 0; round.number < rounds; round.number++) {
		pthread_t thread;
		EXPECT(0, pthread_create(&thread, NULL, leave, &round));
		EXPECT(0, pthread_join(thread, NULL));
		EXPECT(0, round.wrong);
		EXPECT(0, hold_vectors[(round.number / WIDTHS) % WIDTHS](&own, &seen, 1, PAUSE_GETPID));
	}
	return done();
}
