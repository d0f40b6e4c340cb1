/* rt_sigreturn from other places than a handler's stack: a frame of the kernel's, copied there.
 *
 * Each place in a child; how it ended, and what a handler of its fault saw. */
#include "forged.h"
#include <sys/mman.h>

enum { PAGE = 16384 };

static unsigned char frame[FRAME] __attribute__((aligned(64)));
static unsigned char *pages;
static unsigned char *place;
static size_t room;
static int allowed;
static volatile int stage;

static void copy_frame(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	memcpy(frame, info, sizeof frame);
}

static void return_from_place(void)
{
	EXPECT(0, sigaltstack(&(stack_t){ alternate, 0, sizeof alternate }, NULL));
	handle(SIGUSR1, copy_frame, SA_SIGINFO, 0);
	stage = 0;
	raise_held(getpid(), SIGUSR1);
	if (stage == 0) {
		stage = 1;
		if (room)
			memcpy(place, frame, room);
		if (allowed >= 0)
			mprotect(pages, 4 * PAGE, allowed);
		return_at(place);
	}
	printf(" returned, %lx", (unsigned long)unit_after.register0[3]);
}

static void from(const char *name, uintptr_t where, size_t bytes, int protection)
{
	place = (unsigned char *)where;
	room = bytes;
	allowed = protection;
	forged_pc = where;
	try_both(name, return_from_place);
}

int main(void)
{
	pages = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(pages + 4 * PAGE, 4 * PAGE);
	uintptr_t good = (uintptr_t)pages + PAGE, end = (uintptr_t)pages + 4 * PAGE;
	from("good", good, FRAME, -1);
	from("by 16", good + 16, FRAME, -1);
	from("by 8", good + 8, FRAME, -1);
	from("by 4", good + 4, FRAME, -1);
	from("by 1", good + 1, FRAME, -1);
	from("read only", good, FRAME, PROT_READ);
	from("may be executed too", good, FRAME, PROT_READ | PROT_EXEC);
	from("no access", good, FRAME, PROT_NONE);
	from("over a page's end", good + PAGE - 700, FRAME, -1);
	from("fits to the end", end - FRAME, FRAME, -1);
	from("without the end's padding", end - FRAME + 8, FRAME - 8, -1);
	from("without the end's size", end - FRAME + 12, FRAME - 12, -1);
	from("without the end", end - FRAME + 16, FRAME - 16, -1);
	from("within the record", end - FIXED - 100, FIXED + 100, -1);
	from("within the record's head", end - FIXED - 4, FIXED + 4, -1);
	from("without records", end - FIXED, FIXED, -1);
	from("within the registers", end - 400, 400, -1);
	from("within the context", end - 150, 150, -1);
	from("within siginfo", end - 100, 100, -1);
	from("at the end", end, 0, -1);
	from("null", 0, 0, -1);
	from("low", 8, 0, -1);
	from("at the limit", 1ul << 47, 0, -1);
	from("over the limit", (1ul << 47) - 800, 0, -1);
	from("in the upper half", 0xffff800000000000, 0, -1);
	from("in the kernel", 0x9000000000200000, 0, -1);
	from("wraps", -800ul, 0, -1);
	/* A frame of zeros: nothing but a pc of 0. */
	memset(frame, 0, sizeof frame);
	from("zeros", good + 2 * PAGE, 0, -1);
	return done();
}
