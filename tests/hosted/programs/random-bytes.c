/* getrandom, and the random bytes that a program is started with. */
#include <sys/auxv.h>
#include <sys/random.h>
#include "check.h"

static int distinct(const unsigned char *bytes, int count)
{
	unsigned char seen[256] = { 0 };
	int found = 0;
	for (int i = 0; i < count; i++)
		found += !seen[bytes[i]]++;
	return found;
}

int main(void)
{
	static unsigned char first[1024], second[1024], large[100000];
	EXPECT(1024, getrandom(first, 1024, 0));
	EXPECT(1024, getrandom(second, 1024, GRND_NONBLOCK));
	CHECK(memcmp(first, second, 1024), "the same bytes twice");
	/* 256 values over 1024 bytes: about 251 are seen; far fewer are no accident. */
	CHECK(distinct(first, 1024) > 200, "few values: %d", distinct(first, 1024));
	EXPECT(sizeof large, getrandom(large, sizeof large, 0));
	CHECK(distinct(large + 99000, 1000) > 200, "the end of a long request is not filled");
	EXPECT(1, getrandom(first, 1, GRND_RANDOM));
	EXPECT(0, getrandom(first, 0, 0));
	EXPECT(16, getrandom(first, 16, GRND_INSECURE));
	FAILS(EINVAL, getrandom(first, 1, 8));
	FAILS(EINVAL, getrandom(first, 1, GRND_RANDOM | GRND_INSECURE));
	const unsigned char *start = (const void *)getauxval(AT_RANDOM);
	CHECK(distinct(start, 16) > 4, "the bytes at the start are not random");
	return done();
}
