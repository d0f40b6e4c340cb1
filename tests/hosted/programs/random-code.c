/* Runs random bytes as a program: random-code SEED.
 *
 * Whatever they do, an alarm ends it; the host must live and get everything back. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>

enum { WORDS = 16384 };

int main(int count, char **words)
{
	if (count < 2)
		return 2;
	uint64_t state = strtoull(words[1], NULL, 0) * 0x9e3779b97f4a7c15 | 1;
	uint32_t *code = mmap(NULL, WORDS * sizeof *code, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		return 3;
	for (int i = 0; i < WORDS; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		code[i] = state >> 16;
	}
	__asm__ volatile("ibar 0" ::: "memory");
	struct itimerval limit = { .it_value = { .tv_usec = 300000 } };
	if (setitimer(ITIMER_REAL, &limit, NULL))
		return 4;
	((void (*)(void))(code + WORDS / 2))();
	return 0;
}
