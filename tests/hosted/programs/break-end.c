/* The program break: grows, shrinks, and keeps what lies below it. */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/syscall.h>
#include "check.h"

enum { PAGE = 16384 };

static uintptr_t end_at(uintptr_t address)
{
	return syscall(SYS_brk, address);
}

int main(void)
{
	uintptr_t first = end_at(0);
	EXPECT(first, end_at(1));
	EXPECT(first, end_at(first - PAGE * 1024ul * 1024));
	uintptr_t base = (first + PAGE - 1) & -PAGE;
	EXPECT(base + 10 * PAGE, end_at(base + 10 * PAGE));
	unsigned char *bytes = (void *)base;
	for (int i = 0; i < 10 * PAGE; i++)
		CHECK(bytes[i] == 0, "byte %d is not zero", i);
	memset(bytes, 0xa5, 10 * PAGE);
	EXPECT(base + 10 * PAGE + 100, end_at(base + 10 * PAGE + 100));
	EXPECT(0, bytes[10 * PAGE + 99]);
	bytes[11 * PAGE - 1] = 1;
	/* What is given back and taken again is zero; what was kept is there. */
	EXPECT(base + 5 * PAGE, end_at(base + 5 * PAGE));
	EXPECT(base + 10 * PAGE, end_at(base + 10 * PAGE));
	for (int i = 0; i < 10 * PAGE; i++)
		CHECK(bytes[i] == (i < 5 * PAGE ? 0xa5 : 0), "byte %d is %#x", i, bytes[i]);
	/* Too much changes nothing. */
	EXPECT(base + 10 * PAGE, end_at(1ul << 47));
	EXPECT(base + 10 * PAGE, end_at(-1ul));
	EXPECT(first, end_at(first));
	return done();
}
