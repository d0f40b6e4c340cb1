/* rt_sigreturn with frames that a handler has changed: what Linux takes and what it refuses.
 *
 * forged records|registers|unit|noise: each form in a child; how it ended, and what a handler of its fault saw */
#include "forged.h"
#include <sys/mman.h>

extern char stop_here[];
static void (*change)(ucontext_t *context, struct record *record);

static void forge(int signal, siginfo_t *info, ucontext_t *context)
{
	(void)signal, (void)info;
	change(context, first_record(context));
}

static int tells_all;

static void tell_unit(void)
{
	const struct unit *unit = &unit_after;
	/* A narrower record says nothing of the upper lanes. */
	printf(" register %lx", (unsigned long)unit->register0[0]);
	if (tells_all)
		printf(" %lx", (unsigned long)unit->register0[3]);
	printf(" conditions ");
	for (int i = 0; i < 8; i++)
		printf("%d", unit->conditions[i]);
	printf(" control %#x", unit->control);
}

static void raise_forged(void)
{
	EXPECT(0, sigaltstack(&(stack_t){ alternate, 0, sizeof alternate }, NULL));
	handle(SIGUSR1, forge, SA_SIGINFO, 0);
	raise_held(getpid(), SIGUSR1);
	tell_unit();
}

static void try(const char *name, void (*with)(ucontext_t *, struct record *))
{
	change = with;
	try_both(name, raise_forged);
}

#define FORGE(name) static void name(ucontext_t *context, struct record *record)
#define UNUSED (void)context, (void)record

static struct record *after(struct record *record)
{
	return (struct record *)((char *)record + record->size);
}

FORGE(unchanged) { UNUSED; }
FORGE(unknown_magic) { UNUSED; record->magic = 0x12345678; }
FORGE(ends_at_once) { UNUSED; record->magic = 0; }
FORGE(ends_with_size) { UNUSED; record->magic = 0; record->size = 77; }
FORGE(named_lsx) { UNUSED; record->magic = LSX; record->data[0] = 5; }
FORGE(named_fpu) { UNUSED; record->magic = FPU; record->data[0] = 6; }
FORGE(size_0) { UNUSED; record->size = 0; }
FORGE(size_16) { UNUSED; record->size = 16; }
FORGE(size_less) { UNUSED; record->size = LASX_SIZE - 16; }
FORGE(size_one_less) { UNUSED; record->size = LASX_SIZE - 1; }
FORGE(size_4_less) { UNUSED; record->size = LASX_SIZE - 4; record->data[127] = record->data[128] = 0; }
FORGE(size_more) { UNUSED; record->size = LASX_SIZE + 16; }
FORGE(size_more_end) { UNUSED; record->size = LASX_SIZE + 16; *after(record) = (struct record){ 0 }; }
FORGE(size_huge) { UNUSED; record->size = 0x7fffffff; }
FORGE(size_all) { UNUSED; record->size = 0xffffffff; }
FORGE(size_back) { UNUSED; record->size = -16u; }
static struct record *end_of_records(struct record *record) { return (void *)((char *)record + LASX_SIZE); }
FORGE(end_unknown) { UNUSED; end_of_records(record)->magic = 0x55; }
FORGE(end_with_size) { UNUSED; end_of_records(record)->size = 16; }
FORGE(end_again) { UNUSED; end_of_records(record)->magic = FPU; end_of_records(record)->size = 0; }

/* A smaller record, then another one, then the end, all in the room of the one that was there. */
static void two(struct record *record, uint32_t first, uint32_t first_size, uint32_t second, uint32_t second_size)
{
	memset(record, 0, LASX_SIZE);
	*record = (struct record){ first, first_size, 0 };
	record->data[0] = 7;
	record = (void *)((char *)record + first_size);
	*record = (struct record){ second, second_size, 0 };
	record->data[0] = 8;
}
FORGE(fpu_then_lsx) { UNUSED; two(record, FPU, 304, LSX, 544); }
FORGE(lsx_then_fpu) { UNUSED; two(record, LSX, 544, FPU, 304); }
FORGE(fpu_twice) { UNUSED; two(record, FPU, 304, FPU, 304); }
FORGE(only_fpu) { UNUSED; two(record, FPU, 304, 0, 0); }
FORGE(only_lsx) { UNUSED; two(record, LSX, 544, 0, 0); }
FORGE(fpu_exact) { UNUSED; two(record, FPU, 288, 0, 0); }
FORGE(fpu_short) { UNUSED; two(record, FPU, 280, 0, 0); }

FORGE(flags_none) { UNUSED; context->uc_mcontext.__flags = 0; }
FORGE(flags_all) { UNUSED; context->uc_mcontext.__flags = ~0u; }
FORGE(flags_other) { UNUSED; context->uc_mcontext.__flags = ~1u; }
FORGE(flags_only) { UNUSED; context->uc_mcontext.__flags = 1; record->magic = record->size = 0; }

static void records(void)
{
	static const struct {
		const char *name;
		void (*with)(ucontext_t *, struct record *);
	} forms[] = {
#define FORM(name) { #name, name }
		FORM(unchanged), FORM(unknown_magic), FORM(ends_at_once), FORM(ends_with_size), FORM(named_lsx),
		FORM(named_fpu), FORM(size_0), FORM(size_16), FORM(size_less), FORM(size_one_less),
		FORM(size_4_less), FORM(size_more), FORM(size_more_end), FORM(size_huge), FORM(size_all), FORM(size_back),
		FORM(end_unknown), FORM(end_with_size), FORM(end_again), FORM(fpu_then_lsx), FORM(lsx_then_fpu),
		FORM(fpu_twice), FORM(only_fpu), FORM(only_lsx), FORM(fpu_exact), FORM(fpu_short),
		FORM(flags_none), FORM(flags_all), FORM(flags_other), FORM(flags_only),
	};
	for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++)
		try(forms[i].name, forms[i].with);
}

/* Registers of the general kind, the mask, the stack. */
static unsigned char *page;
static void go_to(ucontext_t *context, uintptr_t pc) { context->uc_mcontext.__pc = pc; }
FORGE(pc_null) { UNUSED; go_to(context, 0); }
FORGE(pc_odd) { UNUSED; go_to(context, forged_pc); }
FORGE(other_kept) { UNUSED; context->uc_mcontext.__gregs[0] = 5; context->uc_flags = ~0ul; context->uc_link = (void *)5; }

static void no_information(int signal, siginfo_t *info, ucontext_t *context)
{
	(void)signal, (void)context;
	memset(info, 0xff, 128);
}

static void overwritten(void)
{
	handle(SIGUSR1, no_information, SA_SIGINFO, 0);
	raise_held(getpid(), SIGUSR1);
}

static void at_pc(const char *name, uintptr_t pc)
{
	forged_pc = pc;
	try(name, pc_odd);
}

static uint64_t mask_to_be;
static stack_t stack_to_be;
FORGE(other_mask) { UNUSED; *(uint64_t *)&context->uc_sigmask = mask_to_be; }
FORGE(other_stack) { UNUSED; context->uc_stack = stack_to_be; }

static void with_mask(uint64_t mask)
{
	mask_to_be = mask;
	change = other_mask;
	raise_forged();
	printf("; %#lx gives %#lx\n", (unsigned long)mask, (unsigned long)mask_now());
	change_mask(SIG_SETMASK, 0);
}

static void with_stack(void *place, int flags, size_t size)
{
	stack_t stack;
	stack_to_be = (stack_t){ place, flags, size };
	change = other_stack;
	raise_forged();
	EXPECT(0, sigaltstack(NULL, &stack));
	printf("; flags %#x size %zu: flags %#x size %zu%s\n", flags, size, stack.ss_flags, stack.ss_size,
	       stack.ss_sp == page ? ", the new one" : stack.ss_sp == alternate ? ", the old one" : "");
}

static void registers(void)
{
	page = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(page + 32768, 16384);
	forged_pc = 1;
	try("pc null", pc_null);
	at_pc("pc 2", 2);
	at_pc("pc between instructions", (uintptr_t)stop_here + 2);
	at_pc("pc data", (uintptr_t)page);
	at_pc("pc hole", (uintptr_t)page + 32768);
	at_pc("pc last below", (1ul << 47) - 4);
	/* Not 1 << 47 nor the upper half's first page: `fault` jumps there, which QEMU may never come back from. */
	at_pc("pc in the kernel", 0x9000000000200000);
	at_pc("pc uncached", 0x8000000000000000);
	at_pc("pc last", ~3ul);
	try("r0, uc_flags, uc_link", other_kept);
	try_both("siginfo", overwritten);
	with_mask(0);
	with_mask(SET(SIGHUP) | SET(64));
	with_mask(~0ul);
	with_stack(page, 0, 16384);
	with_stack(page, 0, 100);
	with_stack(page, SS_DISABLE, 16384);
	with_stack(page, SS_ONSTACK, 16384);
	with_stack(page, 0x44, 16384);
	with_stack(page, (int)(1u << 31), 16384);
	with_stack((void *)8, 0, 16384);
}

static uint64_t conditions_to_be;
static uint32_t control_to_be;
FORGE(other_control)
{
	(void)context;
	record->data[128] = conditions_to_be;
	*(uint32_t *)&record->data[129] = control_to_be;
	record->data[0] = 9;
	record->data[3] = 10;
}

static void with_control(uint64_t conditions, uint32_t control)
{
	char name[64];
	conditions_to_be = conditions;
	control_to_be = control;
	snprintf(name, sizeof name, "%#lx %#x", (unsigned long)conditions, control);
	try(name, other_control);
}

/* Enables are the low five bits, rounding is at 8, flags from 16, causes from 24. Bit 6, the mode of binary
 * translation, stays as it is: where the machine has no such unit Linux 7.2 dies of it. */
enum { TRANSLATION_MODE = 6 };

static void unit(void)
{
	static const uint32_t controls[] = {
		0, 0x1f, 1, 0x300, 0x1f0000, 0x1f000000, 0x1f1f0000, 0x10000010, 0x08000008, 0x04000004, 0x02000002,
		0x01000001, 0x10000008, 0x1f00001f, 0x1f1f031f, 0xe0e0e0a0, 0xffffffbf,
	};
	tells_all = 1;
	for (unsigned i = 0; i < sizeof controls / sizeof *controls; i++)
		with_control(0, controls[i]);
	with_control(0x0101010101010101, 0);
	with_control(0x0001000100010001, 0);
	with_control(0xfefefefefefefefe, 0);
	with_control(0xffffffffffffffff, 0);
	with_control(0x0302010003020100, 0);
}

/* Bytes of headers, flags and control at random: only how it ends is told. */
static uint64_t state;
static uint32_t random_number(void)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return state >> 16;
}

FORGE(random_bytes)
{
	unsigned char *parts[] = { (void *)&context->uc_mcontext.__flags, (void *)record, (void *)&record->data[129],
				   (void *)end_of_records(record) };
	static const int lengths[] = { 4, 8, 4, 8 };
	for (int changes = 1 + random_number() % 3; changes > 0; changes--) {
		int part = random_number() % 4, byte = random_number() % lengths[part], bit = random_number() % 8;
		if (part != 2 || byte != 0 || bit != TRANSLATION_MODE)
			parts[part][byte] ^= 1 << bit;
	}
}

static void raise_quietly(void)
{
	handle(SIGUSR1, forge, SA_SIGINFO, 0);
	raise_held(getpid(), SIGUSR1);
}

static void noise(void)
{
	static char line[601];
	int length = 0;
	change = random_bytes;
	for (int round = 1; round <= 600; round++) {
		state = round * 0x9e3779b97f4a7c15;
		int end = end_of(child_that(raise_quietly));
		line[length++] = end == 0 ? '.' : end == 1000 + SIGSEGV ? 's' : end == 1000 + SIGFPE ? 'f' : '?';
	}
	printf("%s\n", line);
}

int main(int count, char **words)
{
	static const struct part parts[] = {
		{ "records", records }, { "registers", registers }, { "unit", unit }, { "noise", noise }, { NULL, NULL },
	};
	return count > 1 ? run_part(parts, words) : 2;
}
