/* All of the floating-point and vector registers, at each width. */
#pragma once
#include <stdint.h>

struct vector_state {
	/* 32 registers, 8, 16 or 32 bytes each. */
	uint64_t registers[32 * 4];
	uint64_t conditions[8];
	uint64_t control;
};

enum width { WIDTH_FP, WIDTH_LSX, WIDTH_LASX, WIDTHS };

/* What `hold` does between two checks. */
enum pause { PAUSE_NONE, PAUSE_GETPID, PAUSE_YIELD };

/* Reads the registers as they are. */
void store_fp(struct vector_state *), store_lsx(struct vector_state *), store_lasx(struct vector_state *);

/* Fills all registers, then checks them so many times against the pattern; returns 0, or the number of the round,
 * counted from 1, that found something else. What the last round found is left in `seen`. */
long hold_fp(const struct vector_state *pattern, struct vector_state *seen, long rounds, enum pause pause);
long hold_lsx(const struct vector_state *pattern, struct vector_state *seen, long rounds, enum pause pause);
long hold_lasx(const struct vector_state *pattern, struct vector_state *seen, long rounds, enum pause pause);

static void (*const store_vectors[])(struct vector_state *) = { store_fp, store_lsx, store_lasx };
static long (*const hold_vectors[])(const struct vector_state *, struct vector_state *, long, enum pause) = {
	hold_fp,
	hold_lsx,
	hold_lasx,
};
static const char *const width_names[] = { "fp", "lsx", "lasx" };

static inline int vector_words(enum width width)
{
	return 32 << width;
}

static inline void make_pattern(struct vector_state *pattern, uint64_t seed)
{
	for (int i = 0; i < 32 * 4; i++)
		pattern->registers[i] = (seed << 32 | 0x5a000000) + i * 0x0101;
	for (int i = 0; i < 8; i++)
		pattern->conditions[i] = seed >> (i % 5) & 1;
	/* A rounding mode, and flags and causes that no instruction here sets; no exception is enabled. */
	pattern->control = (seed % 4) << 8 | (seed % 32) << 16 | ((seed + 7) % 32) << 24;
}
