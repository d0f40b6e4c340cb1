/* Random mapping, unmapping, protecting and writing, against a model of what every page must hold.
 *
 * maps-random ROUNDS [SEED] */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "check.h"

enum { PAGE = 16384, PAGES = 64 };

/* A page's first word, or why there is none. */
enum { UNMAPPED = -1, NO_ACCESS = -2 };
static long model[PAGES];
static int writable[PAGES];
static unsigned char *area;
static uint64_t state;

static unsigned pick(unsigned below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % below;
}

static long *word_of(int page)
{
	return (long *)(area + page * PAGE);
}

/* Asks the kernel without touching: a write of no effect on a bad page says EFAULT. */
static int readable(int page)
{
	uint64_t mask = 0;
	return syscall(SYS_rt_sigprocmask, 0, word_of(page), &mask, 8) == 0 || errno != EFAULT;
}

static void check(int round)
{
	for (int page = 0; page < PAGES; page++) {
		int is_readable = readable(page);
		if (model[page] < 0) {
			CHECK(!is_readable, "round %d: page %d can be read", round, page);
			continue;
		}
		CHECK(is_readable, "round %d: page %d cannot be read", round, page);
		if (is_readable)
			CHECK(*word_of(page) == model[page], "round %d: page %d has %ld, not %ld", round, page,
			      *word_of(page), model[page]);
	}
}

static void step(long round)
{
	int first = pick(PAGES), count = 1 + pick(PAGES - first < 12 ? PAGES - first : 12);
	void *place = area + first * PAGE;
	size_t bytes = (size_t)count * PAGE;
	int mapped = 1;
	for (int page = first; page < first + count; page++)
		mapped &= model[page] != UNMAPPED;
	switch (pick(6)) {
	case 0:
		EXPECT((intptr_t)place, (intptr_t)mmap(place, bytes, PROT_READ | PROT_WRITE,
						       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
		for (int page = first; page < first + count; page++)
			model[page] = 0, writable[page] = 1;
		break;
	case 1:
		EXPECT(0, munmap(place, bytes));
		for (int page = first; page < first + count; page++)
			model[page] = UNMAPPED;
		break;
	case 2: {
		/* What is not readable loses what the model knows of it, so only readable pages are changed. */
		int write_too = pick(2);
		for (int page = first; page < first + count; page++)
			if (model[page] >= 0) {
				EXPECT(0, mprotect(area + page * PAGE, PAGE, PROT_READ | (write_too ? PROT_WRITE : 0)));
				writable[page] = write_too;
			}
		break;
	}
	case 3:
		if (mapped)
			EXPECT(0, madvise(place, bytes, MADV_DONTNEED));
		for (int page = first; page < first + count && mapped; page++)
			model[page] = 0;
		break;
	default:
		for (int page = first; page < first + count; page++)
			if (model[page] >= 0 && writable[page])
				*word_of(page) = model[page] = round * PAGES + page;
	}
}

int main(int count, char **words)
{
	int rounds = count > 1 ? atoi(words[1]) : 500;
	state = count > 2 ? strtoull(words[2], NULL, 0) : 1;
	/* In the middle of free space, so that nothing else comes to lie there. */
	area = mmap(NULL, 3 * PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	area += PAGES * PAGE;
	munmap(area, PAGES * PAGE);
	for (int page = 0; page < PAGES; page++)
		model[page] = UNMAPPED;
	for (int round = 1; round <= rounds && !differences; round++) {
		step(round);
		check(round);
	}
	return done();
}
