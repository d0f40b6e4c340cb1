/* mmap, munmap, mremap and madvise of memory without a file. */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>
#include "check.h"

enum { PAGE = 16384 };

static unsigned char *map(void *where, size_t pages, int flags)
{
	return mmap(where, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static int all(const unsigned char *bytes, size_t count, unsigned char value)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != value)
			return 0;
	return 1;
}

static void places(void)
{
	unsigned char *area = map(NULL, 8, 0);
	CHECK(area != MAP_FAILED && (uintptr_t)area % PAGE == 0 && (uintptr_t)area < 1ul << 47, "at %p", (void *)area);
	CHECK(all(area, 8 * PAGE, 0), "it is not zero");
	memset(area, 1, 8 * PAGE);
	/* A hole in the middle, filled again. */
	EXPECT(0, munmap(area + 2 * PAGE, 3 * PAGE));
	CHECK(all(area, 2 * PAGE, 1) && all(area + 5 * PAGE, 3 * PAGE, 1), "its neighbours changed");
	EXPECT((uintptr_t)area + 3 * PAGE, (uintptr_t)map(area + 3 * PAGE, 1, MAP_FIXED));
	CHECK(all(area + 3 * PAGE, PAGE, 0), "a new page is not zero");
	EXPECT((uintptr_t)area + 2 * PAGE, (uintptr_t)map(area + 2 * PAGE, 1, MAP_FIXED_NOREPLACE));
	FAILS(EEXIST, (intptr_t)map(area + 3 * PAGE, 2, MAP_FIXED_NOREPLACE));
	/* A hint that is taken, and one that is in use. */
	EXPECT((uintptr_t)area + 4 * PAGE, (uintptr_t)map(area + 4 * PAGE, 1, 0));
	unsigned char *elsewhere = map(area, 1, 0);
	CHECK(elsewhere != area && elsewhere != MAP_FAILED, "a hint in use");
	/* Over everything at once. */
	EXPECT((uintptr_t)area, (uintptr_t)map(area, 8, MAP_FIXED));
	CHECK(all(area, 8 * PAGE, 0), "what was mapped over is still there");
	EXPECT(0, munmap(area, 8 * PAGE));
	EXPECT(0, munmap(area, 8 * PAGE));
	EXPECT(0, munmap(elsewhere, 1));
}

static void errors(void)
{
	FAILS(EINVAL, (intptr_t)map(NULL, 0, 0));
	FAILS(EINVAL, (intptr_t)map((void *)1, 1, MAP_FIXED));
	FAILS(EINVAL, (intptr_t)mmap(NULL, PAGE, PROT_READ, MAP_ANONYMOUS, -1, 0));
	FAILS(EBADF, (intptr_t)mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 99, 0));
	FAILS(ENOMEM, (intptr_t)mmap(NULL, 1ul << 47, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
	FAILS(ENOMEM, (intptr_t)mmap(NULL, -1ul, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	/* Other architectures say ENOMEM here. */
	FAILS(EINVAL, (intptr_t)map((void *)(1ul << 47), 1, MAP_FIXED));
	FAILS(EINVAL, munmap((void *)1, PAGE));
	FAILS(EINVAL, munmap((void *)(1ul << 47), PAGE));
	FAILS(EINVAL, munmap(NULL, 0));
	FAILS(EINVAL, munmap((void *)PAGE, -1ul));
}

static void grow(void)
{
	unsigned char *area = map(NULL, 4, 0), *moved;
	memset(area, 7, 4 * PAGE);
	EXPECT(0, munmap(area + 2 * PAGE, 2 * PAGE));
	EXPECT((uintptr_t)area, (uintptr_t)mremap(area, 2 * PAGE, 3 * PAGE, 0));
	CHECK(all(area, 2 * PAGE, 7) && all(area + 2 * PAGE, PAGE, 0), "growing in place");
	EXPECT((uintptr_t)area, (uintptr_t)mremap(area, 3 * PAGE, PAGE, 0));
	unsigned char *guard = map(area + PAGE, 1, MAP_FIXED);
	CHECK(guard == area + PAGE, "a guard");
	FAILS(ENOMEM, (intptr_t)mremap(area, PAGE, 2 * PAGE, 0));
	moved = mremap(area, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
	CHECK(moved != MAP_FAILED && moved != area && all(moved, PAGE, 7) && all(moved + PAGE, PAGE, 0), "moving");
	FAILS(EFAULT, (intptr_t)mremap(area, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, moved + PAGE));
	EXPECT((uintptr_t)area, (uintptr_t)mremap(moved, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, area));
	CHECK(all(area, PAGE, 7), "moving to a place");
	FAILS(EINVAL, (intptr_t)mremap(area, PAGE, 0, 0));
	FAILS(EINVAL, (intptr_t)mremap(area + 1, PAGE, PAGE, 0));
	FAILS(EINVAL, (intptr_t)mremap(area, PAGE, PAGE, 64));
	FAILS(EINVAL, (intptr_t)mremap(area, PAGE, PAGE, MREMAP_FIXED, area));
	EXPECT(0, munmap(area, 2 * PAGE));
	EXPECT(0, munmap(moved + PAGE, PAGE));
}

static void advise(void)
{
	unsigned char *area = map(NULL, 4, 0);
	memset(area, 9, 4 * PAGE);
	EXPECT(0, madvise(area + PAGE, 2 * PAGE, MADV_DONTNEED));
	CHECK(all(area, PAGE, 9) && all(area + PAGE, 2 * PAGE, 0) && all(area + 3 * PAGE, PAGE, 9), "DONTNEED");
	EXPECT(0, madvise(area, PAGE, MADV_WILLNEED));
	EXPECT(0, madvise(area, 0, MADV_DONTNEED));
	FAILS(EINVAL, madvise(area, PAGE, 9999));
	FAILS(EINVAL, madvise(area + 1, PAGE, MADV_DONTNEED));
	EXPECT(0, munmap(area + PAGE, PAGE));
	FAILS(ENOMEM, madvise(area, 4 * PAGE, MADV_DONTNEED));
	CHECK(all(area, PAGE, 0) && all(area + 3 * PAGE, PAGE, 0), "DONTNEED goes on over a hole");
}

/* Far more address space than memory, touched here and there. */
static void sparse(void)
{
	size_t size = 1ul << 36;
	unsigned char *area =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(area != MAP_FAILED, "64 GiB: %s", strerror(errno));
	if (area == MAP_FAILED)
		return;
	for (size_t at = 0; at < size; at += size / 64)
		area[at] = at / (size / 64) + 1;
	for (size_t at = 0; at < size; at += size / 64)
		CHECK(area[at] == at / (size / 64) + 1 && area[at + PAGE] == 0, "at %#zx", at);
	EXPECT(0, munmap(area, size));
}

int main(void)
{
	places();
	errors();
	grow();
	advise();
	sparse();
	return done();
}
