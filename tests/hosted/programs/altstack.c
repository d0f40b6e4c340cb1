/* Alternate signal stacks: what is refused, what is told, and where frames lie.
 *
 * altstack WHAT */
#include "signals.h"
#include <sys/auxv.h>
#include <sys/mman.h>

enum { PAGE = 16384, SIZE = 4 * PAGE };

static unsigned char *area;
static volatile int count, levels;
static volatile uintptr_t at[4];
static volatile int flags_in_handler, change_result, change_error;
static stack_t told_in_handler;

static int lies_in_area(uintptr_t place)
{
	return place >= (uintptr_t)area && place < (uintptr_t)area + SIZE;
}

static int set_stack(void *place, int flags, size_t size)
{
	stack_t stack = { place, flags, size };
	return syscall(SYS_sigaltstack, &stack, NULL);
}

static void record(int signal, siginfo_t *info, void *context)
{
	(void)info;
	char here;
	ucontext_t *saved = context;
	if (count < 4)
		at[count] = (uintptr_t)&here;
	count++;
	syscall(SYS_sigaltstack, NULL, &told_in_handler);
	flags_in_handler = told_in_handler.ss_flags;
	errno = 0;
	change_result = set_stack(area, 0, SIZE);
	change_error = errno;
	CHECK(saved->uc_stack.ss_sp == area || saved->uc_stack.ss_flags == SS_DISABLE, "uc_stack");
	if (signal == SIGUSR1 && levels > 0) {
		levels--;
		send_self(levels % 2 ? SIGUSR1 : SIGUSR2);
	}
}

static void record_again(int signal, siginfo_t *info, void *context)
{
	(void)info, (void)context, (void)signal;
	char here;
	if (count < 4)
		at[count] = (uintptr_t)&here;
	count++;
}

static void tell(const char *what, int result)
{
	int error = errno;
	stack_t stack;
	syscall(SYS_sigaltstack, NULL, &stack);
	printf("%s: %d %d; flags %#x, %s, size %zu\n", what, result, result ? error : 0, stack.ss_flags,
	       stack.ss_sp == area ? "area" : stack.ss_sp ? "elsewhere" : "none", stack.ss_size);
}

static void errors(void)
{
	tell("at first", 0);
	tell("good", set_stack(area, 0, SIZE));
	tell("too small", set_stack(area, 0, 1024));
	tell("2047", set_stack(area, 0, 2047));
	tell("2048", set_stack(area, 0, 2048));
	tell("4095", set_stack(area, 0, 4095));
	tell("4096", set_stack(area, 0, 4096));
	tell("size 0", set_stack(area, 0, 0));
	printf("AT_MINSIGSTKSZ %lu\n", getauxval(AT_MINSIGSTKSZ));
	tell("disabled", set_stack(area, SS_DISABLE, 5));
	tell("flag ONSTACK", set_stack(area, SS_ONSTACK, SIZE));
	tell("flags 3", set_stack(area, 3, SIZE));
	tell("flags 4", set_stack(area, 4, SIZE));
	tell("AUTODISARM", set_stack(area, (int)(1u << 31), SIZE));
	tell("AUTODISARM and DISABLE", set_stack(area, (int)(1u << 31) | SS_DISABLE, SIZE));
	tell("AUTODISARM and ONSTACK", set_stack(area, (int)(1u << 31) | SS_ONSTACK, SIZE));
	tell("not mapped", set_stack((void *)8, 0, SIZE));
	tell("upper half", set_stack((void *)0xffff800000000000, 0, SIZE));
	tell("good again", set_stack(area, 0, SIZE));
	FAILS(EFAULT, syscall(SYS_sigaltstack, (void *)8, NULL));
	errno = 0;
	tell("bad place for the old one", syscall(SYS_sigaltstack, &(stack_t){ area, 0, 8192 }, (void *)8));
	stack_t old;
	EXPECT(0, syscall(SYS_sigaltstack, &(stack_t){ area, 0, SIZE }, &old));
	printf("old: size %zu\n", old.ss_size);
}

/* Nobody looks where such a stack ends: the ordinary one is within it. */
static void wrap(void)
{
	printf("wraps: %d\n", set_stack(area, 0, -(size_t)area + 10));
	FAILS(EPERM, set_stack(area, 0, SIZE));
}

static void take_everything(void)
{
	tell("huge", set_stack(area, 0, ~0ul));
	tell("back", set_stack(area, 0, SIZE));
}

static void sizes(void)
{
	EXPECT(0, end_of(child_that(wrap)));
	EXPECT(0, end_of(child_that(take_everything)));
}

static void used(void)
{
	EXPECT(0, set_stack(area, 0, SIZE));
	handle(SIGUSR1, record, SA_SIGINFO | SA_ONSTACK, 0);
	send_self(SIGUSR1);
	EXPECT(1, count);
	CHECK(lies_in_area(at[0]), "not on the stack");
	CHECK(at[0] > (uintptr_t)area + SIZE - PAGE, "not at its top");
	EXPECT(SS_ONSTACK, flags_in_handler);
	EXPECT(SIZE, told_in_handler.ss_size);
	/* In use it cannot be changed. */
	EXPECT(-1, change_result);
	EXPECT(EPERM, change_error);
	tell("after", 0);
	handle(SIGUSR1, record, SA_SIGINFO, 0);
	send_self(SIGUSR1);
	CHECK(!lies_in_area(at[1]), "on the stack without SA_ONSTACK");
	EXPECT(0, flags_in_handler);
	EXPECT(0, change_result);
	handle(SIGUSR1, record, SA_SIGINFO | SA_ONSTACK, 0);
	EXPECT(0, set_stack(NULL, SS_DISABLE, 0));
	send_self(SIGUSR1);
	CHECK(!lies_in_area(at[2]), "on the stack that is disabled");
}

static void nested(void)
{
	EXPECT(0, set_stack(area, 0, SIZE));
	levels = 1;
	handle(SIGUSR1, record, SA_SIGINFO | SA_ONSTACK, 0);
	handle(SIGUSR2, record_again, SA_SIGINFO | SA_ONSTACK, 0);
	send_self(SIGUSR1);
	EXPECT(2, count);
	CHECK(lies_in_area(at[0]) && lies_in_area(at[1]), "not both there");
	/* The second frame lies below the first one, not at the top again. */
	CHECK(at[1] + 576 < at[0], "the second one lies at %#lx, the first at %#lx", at[1], at[0]);
	/* A handler without SA_ONSTACK goes on where the one with it is. */
	count = 0, levels = 1;
	handle(SIGUSR2, record_again, SA_SIGINFO, 0);
	send_self(SIGUSR1);
	CHECK(lies_in_area(at[1]) && at[1] < at[0], "left the stack");
}

/* The stack disarms itself while a handler is on it: the next frame begins at the top again. */
static void disarmed(void)
{
	EXPECT(0, set_stack(area, (int)(1u << 31), SIZE));
	tell("set", 0);
	handle(SIGUSR1, record, SA_SIGINFO | SA_ONSTACK, 0);
	send_self(SIGUSR1);
	CHECK(lies_in_area(at[0]), "not on the stack");
	printf("within: flags %#x, change %d %d\n", flags_in_handler, change_result, change_error);
	tell("after", 0);
}

static int deeper(int depth)
{
	volatile char room[512];
	room[0] = depth;
	return depth < 1000000 ? deeper(depth + 1) + room[0] : 0;
}

static void fill(int signal)
{
	if (signal == SIGUSR1)
		deeper(0);
}

static void report_code(int signal, siginfo_t *info, void *context)
{
	(void)context;
	uintptr_t address = (uintptr_t)info->si_addr;
	printf("signal %d, code %d, address %s\n", signal, info->si_code,
	       address >= (uintptr_t)area - PAGE && address < (uintptr_t)area ? "below the stack" : "elsewhere");
	fflush(stdout);
	_exit(5);
}

/* Overflow of the alternate stack, onto a page that is not there. */
static void overflow_dies(void)
{
	mprotect(area - PAGE, PAGE, PROT_NONE);
	EXPECT(0, set_stack(area, 0, SIZE));
	handle(SIGUSR1, fill, SA_ONSTACK, 0);
	send_self(SIGUSR1);
}

/* The handler for that has nowhere to go: it dies all the same. */
static void overflow_with_handler(void)
{
	handle(SIGSEGV, report_code, SA_SIGINFO | SA_ONSTACK, 0);
	overflow_dies();
}

/* What overflows is the ordinary stack: the handler runs on the alternate one. */
static void ordinary_overflow(void)
{
	EXPECT(0, set_stack(area, 0, SIZE));
	handle(SIGSEGV, report_code, SA_SIGINFO | SA_ONSTACK, 0);
	deeper(0);
}

static void again_and_again(int signal)
{
	count++;
	send_self(signal);
}

/* Frames upon frames, until one does not fit: SIGSEGV. */
static void frames_overflow(void)
{
	EXPECT(0, set_stack(area, 0, SIZE));
	mprotect(area - PAGE, PAGE, PROT_NONE);
	handle(SIGUSR1, again_and_again, SA_NODEFER | SA_ONSTACK, 0);
	send_self(SIGUSR1);
}

/* A frame that cannot be written at all. */
static void stack_not_there(void)
{
	EXPECT(0, set_stack((void *)0x100000, 0, SIZE));
	handle(SIGUSR1, report_code, SA_SIGINFO | SA_ONSTACK, 0);
	send_self(SIGUSR1);
}

static void overflows(void)
{
	printf("overflow: %d\n", end_of(child_that(overflow_dies)));
	printf("with a handler: %d\n", end_of(child_that(overflow_with_handler)));
	printf("the ordinary one: %d\n", end_of(child_that(ordinary_overflow)));
	printf("frames: %d\n", end_of(child_that(frames_overflow)));
	printf("not there: %d\n", end_of(child_that(stack_not_there)));
}

static void look_in_child(void) { tell("in a child", 0); }

static int on_new_thread(void *unused)
{
	(void)unused;
	tell("in a new thread of the kernel's", 0);
	return 0;
}

static void inherited(void)
{
	EXPECT(0, set_stack(area, 0, SIZE));
	EXPECT(0, end_of(child_that(look_in_child)));
	/* A child that shares memory has none, unless its parent waits for it. */
	static char room[65536];
	fflush(stdout);
	pid_t child = clone(on_new_thread, room + sizeof room, CLONE_VM | SIGCHLD, NULL);
	EXPECT(0, end_of(child));
	child = clone(on_new_thread, room + sizeof room, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	EXPECT(0, end_of(child));
	tell("here", 0);
}

int main(int words_count, char **words)
{
	static const struct part parts[] = {
		{ "errors", errors }, { "sizes", sizes }, { "used", used }, { "nested", nested }, { "disarmed", disarmed },
		{ "overflows", overflows }, { "inherited", inherited }, { NULL, NULL },
	};
	area = mmap(NULL, SIZE + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	area += PAGE;
	return words_count > 1 ? run_part(parts, words) : 2;
}
