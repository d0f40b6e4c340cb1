/* Signals of a program's own faults: code, address, saved pc and flags; who gets them, and when they kill.
 *
 * faults WHAT */
#include "signals.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

long load_at(uintptr_t), store_at(uintptr_t);
void call_at(uintptr_t);
extern char loads[], stores[], call_back[];

enum { PAGE = 16384 };

static unsigned char *pages;
static volatile int count, seen_signal, seen_code;
static volatile uintptr_t seen_address, seen_pc;
static volatile unsigned seen_flags;
static volatile long seen_lower, seen_upper;

/* Notes what it sees, and goes on after the instruction; after a jump, where that came from. */
static void skip(int signal, siginfo_t *info, ucontext_t *context)
{
	mcontext_t *machine = &context->uc_mcontext;
	count++;
	seen_signal = signal;
	seen_code = info->si_code;
	seen_address = (uintptr_t)info->si_addr;
	seen_pc = machine->__pc;
	seen_flags = machine->__flags & 0xc0000000;
	seen_lower = (long)info->si_lower;
	seen_upper = (long)info->si_upper;
	if (machine->__gregs[1] == (uintptr_t)call_back)
		machine->__pc = (uintptr_t)call_back;
	else
		machine->__pc += 4;
}

static void skip_all(void)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
	for (int i = 0; i < 6; i++)
		handle(faults[i], skip, SA_SIGINFO, 0);
}

static void tell(const char *what, uintptr_t address, const char *pc)
{
	if (!count)
		printf("%s: nothing\n", what);
	else
		/* The flags say something of faults in pages alone: else they are those of the fault before. */
		printf("%s: signal %d code %d address %s pc %s flags %#x\n", what, seen_signal, seen_code,
		       seen_address == address ? "right" : !seen_address ? "0" : "other",
		       seen_pc == (uintptr_t)pc ? "right" : seen_pc == address ? "the address" : "other",
		       seen_signal == SIGSEGV && seen_code <= SEGV_ACCERR ? seen_flags : 0);
	if (count && seen_signal == SIGSEGV && seen_code == SEGV_BNDERR)
		printf("bounds %ld %ld, address %ld\n", seen_lower, seen_upper, (long)seen_address);
	CHECK(count <= 1, "%s: %d signals", what, count);
	count = 0;
}

/* The jump comes first: into a page that has been read, QEMU's machine sends Linux 7.2 round for ever. */
static void access_at(const char *name, uintptr_t address)
{
	/* `fault` jumps to these: QEMU may never come back from there. */
	if (address != 1ul << 47 && address != 0xffff800000000000) {
		printf("%s: ", name);
		call_at(address);
		tell("call", address, NULL);
	}
	printf("%s: ", name);
	load_at(address);
	tell("load", address, loads);
	printf("%s: ", name);
	store_at(address);
	tell("store", address, stores);
}

static void memory(void)
{
	skip_all();
	pages = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(pages, PAGE, PROT_NONE);
	mprotect(pages + PAGE, PAGE, PROT_READ);
	munmap(pages + 3 * PAGE, PAGE);
	/* Code that only returns: `ret`. */
	*(uint32_t *)(pages + 4 * PAGE) = 0x4c000020;
	__builtin___clear_cache((char *)pages + 4 * PAGE, (char *)pages + 4 * PAGE + 4);
	mprotect(pages + 4 * PAGE, PAGE, PROT_READ | PROT_EXEC);
	access_at("no access", (uintptr_t)pages + 8);
	access_at("read only", (uintptr_t)pages + PAGE + 16);
	access_at("read and write", (uintptr_t)pages + 2 * PAGE + 16);
	access_at("unmapped", (uintptr_t)pages + 3 * PAGE + 4);
	access_at("code", (uintptr_t)pages + 4 * PAGE);
	access_at("null", 0);
	access_at("low", 0x1000);
	access_at("at the limit", 1ul << 47);
	access_at("below the limit", (1ul << 47) - 4);
	access_at("beyond", 1ul << 48);
	access_at("in the upper half", 0xffff800000000000);
	access_at("in the kernel", 0x9000000000200000);
	access_at("uncached", 0x8000000000000000);
	access_at("last", ~3ul);
	EXPECT(77, load_at(0x1000));
}

static void beyond_the_file(void)
{
	skip_all();
	int file = open("/tmp/short", O_RDWR | O_CREAT, 0600);
	EXPECT(0, ftruncate(file, PAGE + 1));
	pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	access_at("its last page", (uintptr_t)pages + PAGE + 8);
	access_at("after it", (uintptr_t)pages + 2 * PAGE + 8);
	load_at((uintptr_t)pages + 8);
	EXPECT(0, count);
	EXPECT(0, ftruncate(file, 0));
	load_at((uintptr_t)pages + 8);
	tell("cut off", (uintptr_t)pages + 8, loads);
}

#define INSTRUCTION(name) \
	extern void name(void); \
	extern char at_##name[];
#define INSTRUCTIONS(each)                                                                                          \
	each(break_0) each(break_1) each(break_5) each(break_6) each(break_7) each(break_8) each(break_100)          \
	each(privileged) each(undefined) each(bounds) each(bounds_greater) each(float_divide) each(float_invalid)    \
	each(float_overflow) each(float_inexact) each(float_underflow) each(float_none)
INSTRUCTIONS(INSTRUCTION)

static void instructions(void)
{
	skip_all();
#define TRY(name) name(), tell(#name, (uintptr_t)at_##name, at_##name);
	INSTRUCTIONS(TRY)
}

static void fault(void) { store_at(8); }

static void blocked_fault(void)
{
	handle(SIGSEGV, skip, SA_SIGINFO, 0);
	change_mask(SIG_BLOCK, SET(SIGSEGV));
	fault();
}

static void ignored_fault(void)
{
	handle(SIGSEGV, IGNORED, 0, 0);
	fault();
}

static void ignored_break(void)
{
	handle(SIGTRAP, IGNORED, 0, 0);
	break_0();
}

static void fault_in_handler(int signal)
{
	(void)signal;
	if (count++ < 3)
		fault();
	_exit(count);
}

static void fault_again(void)
{
	handle(SIGSEGV, fault_in_handler, 0, 0);
	fault();
}

static void fault_again_nodefer(void)
{
	handle(SIGSEGV, fault_in_handler, SA_NODEFER, 0);
	fault();
}

/* Sent by somebody, it can be blocked and ignored. */
static void only_sent(void)
{
	change_mask(SIG_BLOCK, SET(SIGSEGV));
	send_self(SIGSEGV);
	EXPECT(SET(SIGSEGV), pending_now());
	handle(SIGSEGV, IGNORED, 0, 0);
	change_mask(SIG_UNBLOCK, SET(SIGSEGV));
	send_self(SIGSEGV);
}

/* Blocked and pending, and then there is a fault: it dies of that. */
static void pending_too(void)
{
	change_mask(SIG_BLOCK, SET(SIGSEGV));
	send_self(SIGSEGV);
	fault();
}

static void deadly(void)
{
	printf("default %d\n", end_of(child_that(fault)));
	printf("blocked %d\n", end_of(child_that(blocked_fault)));
	printf("ignored %d\n", end_of(child_that(ignored_fault)));
	printf("ignored break %d\n", end_of(child_that(ignored_break)));
	printf("again %d\n", end_of(child_that(fault_again)));
	printf("again without deferring %d\n", end_of(child_that(fault_again_nodefer)));
	printf("sent %d\n", end_of(child_that(only_sent)));
	printf("pending %d\n", end_of(child_that(pending_too)));
}

static volatile int order[4], orders;
static void note(int signal)
{
	if (orders < 4)
		order[orders++] = signal;
}

static void note_and_skip(int signal, siginfo_t *info, ucontext_t *context)
{
	note(signal);
	skip(signal, info, context);
}

/* When it returns, a blocked signal with a lower number is let in, and the next instruction faults. */
static void let_in(int signal, siginfo_t *info, ucontext_t *context)
{
	(void)info;
	note(signal);
	*(uint64_t *)&context->uc_sigmask = 0;
}

static volatile int ticks;
static void count_tick(int signal) { (void)signal, ticks++; }

/* A fault is not lost for a signal that comes at the same time. */
static void not_swallowed(void)
{
	handle(SIGHUP, note, 0, 0);
	handle(SIGUSR1, let_in, SA_SIGINFO, 0);
	handle(SIGSEGV, note_and_skip, SA_SIGINFO, 0);
	change_mask(SIG_BLOCK, SET(SIGHUP));
	send_self(SIGHUP);
	send_self(SIGUSR1);
	fault();
	printf("order %d %d %d\n", order[0], order[1], order[2]);
	EXPECT(1, count);
	handle(SIGSEGV, skip, SA_SIGINFO, 0);
	handle(SIGALRM, count_tick, 0, 0);
	count = 0;
	tick(1000);
	for (int i = 0; i < 3000; i++)
		store_at(8);
	tick(0);
	EXPECT(3000, count);
	CHECK(ticks > 0, "no tick");
}

static volatile pid_t handled_by[2];

static void note_thread(int signal, siginfo_t *info, ucontext_t *context)
{
	handled_by[info->si_addr == (void *)16] = syscall(SYS_gettid);
	skip(signal, info, context);
}

static void *faulting_thread(void *address)
{
	pid_t me = syscall(SYS_gettid);
	for (int i = 0; i < 200; i++) {
		handled_by[address == (void *)16] = 0;
		store_at((uintptr_t)address);
		if (handled_by[address == (void *)16] != me)
			return (void *)1;
		if (i % 10 == 0)
			sched_yield();
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread;
	void *bad = NULL;
	handle(SIGSEGV, note_thread, SA_SIGINFO, 0);
	EXPECT(0, pthread_create(&thread, NULL, faulting_thread, (void *)16));
	EXPECT(0, (long)faulting_thread((void *)8));
	EXPECT(0, pthread_join(thread, &bad));
	EXPECT(0, (long)bad);
}

static void map_it(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	count++;
	mprotect((void *)((uintptr_t)info->si_addr & -PAGE), PAGE, PROT_READ | PROT_WRITE);
}

/* A handler that mends the fault: the instruction is tried again. */
static void mended(void)
{
	enum { PAGES = 50 };
	pages = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	handle(SIGSEGV, map_it, SA_SIGINFO, 0);
	for (int i = 0; i < PAGES; i++)
		pages[i * PAGE + i] = i;
	for (int i = 0; i < PAGES; i++)
		EXPECT(i, pages[i * PAGE + i]);
	EXPECT(PAGES, count);
}

static volatile int level, deepest, unwound;

/* Three levels: an alarm's handler faults, whose handler raises a signal, whose handler faults. */
static void third(int signal)
{
	(void)signal;
	deepest = ++level;
	load_at(8);
	level--;
	unwound++;
}

static void second(int signal, siginfo_t *info, ucontext_t *context)
{
	level++;
	if (level == 2)
		send_self(SIGUSR1);
	skip(signal, info, context);
	level--;
	unwound++;
}

static void first(int signal)
{
	(void)signal;
	level++;
	store_at(8);
	level--;
	unwound++;
}

static void nested(void)
{
	handle(SIGALRM, first, 0, 0);
	handle(SIGSEGV, second, SA_SIGINFO | SA_NODEFER, 0);
	handle(SIGUSR1, third, 0, 0);
	for (int round = 0; round < 20; round++) {
		unwound = 0;
		struct itimerval soon = { { 0, 0 }, { 0, 1000 } };
		EXPECT(0, setitimer(ITIMER_REAL, &soon, NULL));
		while (unwound == 0)
			;
		EXPECT(4, unwound);
		EXPECT(3, deepest);
		EXPECT(0, level);
	}
}

int main(int words_count, char **words)
{
	static const struct part parts[] = {
		{ "memory", memory }, { "beyond-the-file", beyond_the_file }, { "instructions", instructions },
		{ "deadly", deadly }, { "not-swallowed", not_swallowed }, { "threads", threads }, { "mended", mended },
		{ "nested", nested }, { NULL, NULL },
	};
	return words_count > 1 ? run_part(parts, words) : 2;
}
