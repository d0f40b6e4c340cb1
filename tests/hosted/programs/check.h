/* Checks for the hosted programs: each says what differs; `done` says ok if nothing did. */
#pragma once
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int differences;

#define CHECK(holds, ...)                                     \
	do {                                                  \
		if (!(holds)) {                               \
			differences++;                        \
			printf("line %d: ", __LINE__);        \
			printf(__VA_ARGS__);                  \
			printf("\n");                         \
		}                                             \
	} while (0)

/* Checks a result that must be a certain number. */
#define EXPECT(wanted, call)                                                       \
	do {                                                                       \
		long long result_ = (long long)(call), wanted_ = (long long)(wanted); \
		CHECK(result_ == wanted_, "%s is %lld, not %lld", #call, result_, wanted_); \
	} while (0)

/* Checks a call of the C library's that must fail with a certain error. */
#define FAILS(error, call)                                                                  \
	do {                                                                                \
		errno = 0;                                                                  \
		long long result_ = (long long)(call);                                      \
		int errno_ = errno;                                                         \
		CHECK(result_ == -1 && errno_ == (error), "%s is %lld with %s, not -1 with %s", #call, \
		      result_, strerror(errno_), strerror(error));                          \
	} while (0)

static inline int done(void)
{
	if (differences == 0)
		printf("ok\n");
	fflush(stdout);
	return differences != 0;
}

/* A program of several parts, of which its first word names one. */
struct part {
	const char *name;
	void (*body)(void);
};

static inline int run_part(const struct part *parts, char **words)
{
	for (; parts->name; parts++)
		if (!strcmp(words[1], parts->name)) {
			parts->body();
			return done();
		}
	printf("no such part\n");
	return 2;
}
