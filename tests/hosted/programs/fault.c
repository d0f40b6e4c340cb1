/* Dies as its word says, after one line: what a program may not do ends it with the signal that Linux documents. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "check.h"

enum { PAGE = 16384 };

static unsigned char *area;

#define INSTRUCTION(name, text) \
	static void name(void) { __asm__ volatile(text ::: "$t0", "$t1", "memory"); }

/* Privileged: SIGILL. */
INSTRUCTION(csr_read, "csrrd $t0, 0")
INSTRUCTION(csr_write, "csrwr $t0, 0x30")
INSTRUCTION(csr_exchange, "li.w $t0, 4\n li.w $t1, 4\n csrxchg $t0, $t1, 0")
INSTRUCTION(csr_timer, "csrrd $t0, 0x41")
INSTRUCTION(iocsr_read, "move $t1, $zero\n iocsrrd.w $t0, $t1")
INSTRUCTION(iocsr_write, "move $t1, $zero\n iocsrwr.w $t0, $t1")
INSTRUCTION(tlb_search, "tlbsrch")
INSTRUCTION(tlb_read, "tlbrd")
INSTRUCTION(tlb_write, "tlbwr")
INSTRUCTION(tlb_fill, "tlbfill")
INSTRUCTION(tlb_invalidate, "invtlb 0, $zero, $zero")
INSTRUCTION(exception_return, "ertn")
INSTRUCTION(idle, "idle 0")
INSTRUCTION(cache_operation, "cacop 8, $sp, 0")
INSTRUCTION(walk_directory, "lddir $t0, $t0, 1")
INSTRUCTION(walk_page, "ldpte $t0, 0")
INSTRUCTION(debug_call, "dbcl 0")

/* Undefined: SIGILL. */
INSTRUCTION(all_zeros, ".word 0")
INSTRUCTION(all_ones, ".word 0xffffffff")
INSTRUCTION(reserved, ".word 0x00008000")
INSTRUCTION(hypercall, ".word 0x002b8000 | 0x100")
INSTRUCTION(translation, ".word 0x00390000")

/* `break`: SIGTRAP; with the codes of a division by zero and of an overflow, SIGFPE. */
INSTRUCTION(break_0, "break 0")
INSTRUCTION(break_1, "break 1")
INSTRUCTION(break_overflow, "break 6")
INSTRUCTION(break_divide, "break 7")
INSTRUCTION(break_large, "break 0x7fff")

/* Bounds: SIGSEGV. */
INSTRUCTION(bound, "li.w $t0, 1\n li.w $t1, 2\n asrtle.d $t1, $t0")

/* Not aligned, where it must be: SIGBUS on a processor; QEMU's translator lets the first two through. */
static void unaligned_reserve(void)
{
	__asm__ volatile("ll.d $t0, %0, 0" ::"r"(area + 1) : "$t0", "memory");
}
static void unaligned_atomic(void)
{
	__asm__ volatile("amadd.d $t0, $zero, %0" ::"r"(area + 4) : "$t0", "memory");
}
static void unaligned_jump(void)
{
	__asm__ volatile("jirl $ra, %0, 0" ::"r"((uintptr_t)unaligned_jump + 2) : "$ra", "memory");
}

/* Where a program has nothing: SIGSEGV or SIGBUS. */
#define LOAD(name, address)                             \
	static void load_##name(void)                   \
	{                                               \
		(void)*(volatile uint64_t *)(address);  \
	}                                               \
	static void store_##name(void)                  \
	{                                               \
		*(volatile uint64_t *)(address) = 0;    \
	}                                               \
	static void jump_##name(void)                   \
	{                                               \
		((void (*)(void))(uintptr_t)(address))(); \
	}

LOAD(null, 0x0ul)
LOAD(low, 0x4000ul)
LOAD(hole, (uintptr_t)area + 3 * PAGE)
LOAD(limit, 0x800000000000ul)
LOAD(beyond, 0x900000000000ul)
LOAD(alias, 0x1000000000000ul)
LOAD(uncached, 0x8000000000000000ul)
LOAD(kernel, 0x9000000000200000ul)
LOAD(mapped, 0xffff800000000000ul)
LOAD(last, 0xfffffffffffffff8ul)

/* What its pages do not allow: SIGSEGV. */
static void store_text(void)
{
	*(volatile uint32_t *)(uintptr_t)store_text = 0;
}
static void store_read_only(void)
{
	mprotect(area, PAGE, PROT_READ);
	area[0] = 1;
}
static void load_none(void)
{
	mprotect(area, PAGE, PROT_NONE);
	(void)*(volatile unsigned char *)area;
}
static void jump_data(void)
{
	((void (*)(void))(uintptr_t)area)();
}
static void jump_unmapped(void)
{
	munmap(area, PAGE);
	((void (*)(void))(uintptr_t)area)();
}

/* Floating point with its exception enabled: SIGFPE. */
INSTRUCTION(float_divide, "li.w $t0, 8\n movgr2fcsr $fcsr0, $t0\n movgr2fr.d $ft0, $zero\n"
			  "ffint.d.l $ft1, $ft0\n frecip.d $ft1, $ft1\n fadd.d $ft1, $ft1, $ft1")
INSTRUCTION(float_invalid, "li.w $t0, 16\n movgr2fcsr $fcsr0, $t0\n movgr2fr.d $ft0, $zero\n"
			   "fdiv.d $ft1, $ft0, $ft0\n fadd.d $ft1, $ft1, $ft1")

static volatile int deeper = 1;
static int descend(int depth)
{
	volatile char room[4096];
	room[0] = depth;
	return deeper ? descend(depth + 1) + room[0] : 0;
}
static void stack_overflow(void)
{
	exit(descend(0));
}

/* Signals that a program sends itself, with their default actions. */
#define RAISE(name, signal) \
	static void raise_##name(void) { syscall(SYS_kill, getpid(), signal); }

RAISE(hup, SIGHUP)
RAISE(int, SIGINT)
RAISE(quit, SIGQUIT)
RAISE(kill, SIGKILL)
RAISE(pipe, SIGPIPE)
RAISE(alarm, SIGALRM)
RAISE(term, SIGTERM)
RAISE(user, SIGUSR1)
RAISE(first_realtime, 32)
RAISE(last_realtime, 64)
RAISE(child, SIGCHLD)
RAISE(urgent, SIGURG)
RAISE(window, SIGWINCH)
RAISE(continue, SIGCONT)
RAISE(none, 0)

#define CASE(name) { #name, name }
#define ADDRESS(name) CASE(load_##name), CASE(store_##name), CASE(jump_##name)

static const struct {
	const char *name;
	void (*die)(void);
} cases[] = {
	CASE(csr_read), CASE(csr_write), CASE(csr_exchange), CASE(csr_timer), CASE(iocsr_read), CASE(iocsr_write),
	CASE(tlb_search), CASE(tlb_read), CASE(tlb_write), CASE(tlb_fill), CASE(tlb_invalidate),
	CASE(exception_return), CASE(idle), CASE(cache_operation), CASE(walk_directory), CASE(walk_page),
	CASE(debug_call), CASE(all_zeros), CASE(all_ones), CASE(reserved), CASE(hypercall), CASE(translation),
	CASE(break_0), CASE(break_1), CASE(break_overflow), CASE(break_divide), CASE(break_large), CASE(bound),
	CASE(unaligned_reserve), CASE(unaligned_atomic), CASE(unaligned_jump),
	ADDRESS(null), ADDRESS(low), ADDRESS(hole), ADDRESS(limit), ADDRESS(beyond), ADDRESS(alias),
	ADDRESS(uncached), ADDRESS(kernel), ADDRESS(mapped), ADDRESS(last),
	CASE(store_text), CASE(store_read_only), CASE(load_none), CASE(jump_data), CASE(jump_unmapped),
	CASE(float_divide), CASE(float_invalid), CASE(stack_overflow),
	CASE(raise_hup), CASE(raise_int), CASE(raise_quit), CASE(raise_kill), CASE(raise_pipe), CASE(raise_alarm),
	CASE(raise_term), CASE(raise_user), CASE(raise_first_realtime), CASE(raise_last_realtime),
	CASE(raise_child), CASE(raise_urgent), CASE(raise_window), CASE(raise_continue), CASE(raise_none),
};

int main(int count, char **words)
{
	area = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(area + 3 * PAGE, PAGE);
	printf("before\n");
	fflush(stdout);
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
		if (count > 1 && !strcmp(words[1], cases[i].name)) {
			cases[i].die();
			printf("it lives\n");
			return 0;
		}
	printf("no such case\n");
	return 1;
}
