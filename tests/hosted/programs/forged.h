/* What the programs of forged frames share: a child in which a handler forges the frame that it returns by. */
#pragma once
#include "signals.h"

enum { FPU = 0x46505501, LSX = 0x53580001, LASX = 0x41535801 };

/* Of the fixed frame, of LASX's record and of the end. */
enum { FIXED = 576, LASX_SIZE = 1056, FRAME = FIXED + LASX_SIZE + 16 };

struct record {
	uint32_t magic, size;
	uint64_t padding;
	uint64_t data[];
};

struct unit {
	uint64_t register0[4];
	uint8_t conditions[8];
	uint32_t control;
};

long raise_held(long process, long signal);
void return_at(void *frame) __attribute__((noreturn));
extern struct unit unit_after;

static uintptr_t forged_pc;
static char alternate[65536];

static inline struct record *first_record(ucontext_t *context)
{
	return (struct record *)context->uc_mcontext.__extcontext;
}

static void report(int signal, siginfo_t *info, ucontext_t *context)
{
	uintptr_t address = (uintptr_t)info->si_addr, pc = context->uc_mcontext.__pc;
	printf("[signal %d code %d address %s pc %s flags %#x] ", signal, info->si_code,
	       !address ? "0" : address == forged_pc ? "forged" : "other",
	       !pc ? "0" : pc == forged_pc ? "forged" : "other", context->uc_mcontext.__flags & 0xc0000000);
	fflush(stdout);
	_exit(40);
}

static void report_faults(void)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	for (int i = 0; i < 5; i++)
		handle(faults[i], report, SA_SIGINFO | SA_ONSTACK, 0);
}

/* Runs it in a child with no handler for its fault, and if it ends badly in one with a handler. */
static inline void try_both(const char *name, void (*body)(void))
{
	printf("%s:", name);
	int end = end_of(child_that(body));
	printf(" %d", end);
	if (end != 0) {
		printf(" ");
		fflush(stdout);
		pid_t child = fork();
		if (child == 0) {
			report_faults();
			body();
			fflush(stdout);
			_exit(0);
		}
		printf("%d", end_of(child));
	}
	printf("\n");
}
