/* A handler overwrites all the saved general registers and adds 4 to the saved pc: after its return they have the new
 * values, all of them, in the one who was interrupted.
 *
 * break-return break|suspend|read ROUNDS: by an instruction, within rt_sigsuspend, within a blocked read */
#include "signals.h"

#define OBSERVE(base) \
	void observe_break_##base(void); \
	long observe_call_##base(long number, const long arguments[6]); \
	extern char broken_##base[], called_##base[];
OBSERVE(21) OBSERVE(12) OBSERVE(3) OBSERVE(4)

extern uint64_t returned[32];

static const struct variant {
	int base;
	void (*broken)(void);
	long (*called)(long, const long[6]);
	char *broken_at, *called_at;
} variants[] = {
#define VARIANT(base) { base, observe_break_##base, observe_call_##base, broken_##base, called_##base }
	VARIANT(21), VARIANT(12), VARIANT(3), VARIANT(4),
};

static const struct variant *variant;
static const long *arguments;
static volatile int is_call, changed, wrong_before;
static volatile long result;
static int round_number;
static char alternate[65536];

static uint64_t constant(int n)
{
	return 0xc0de000000000000 + n * 0x010101010101;
}

static uint64_t new_value(int n)
{
	return n == variant->base ? (uint64_t)returned : (uint64_t)(round_number + 1) * 0x9e3779b97f4a7c15 ^ (uint64_t)n << 56;
}

/* What the interrupted registers must be: for a call, arguments and the kept ones. */
static int is_right(int n, uint64_t value)
{
	if (!is_call)
		return value == constant(n);
	if (n == 4 || (n >= 12 && n <= 20) || n == 11)
		return 1;
	return value == (n >= 5 && n <= 9 ? (uint64_t)arguments[n - 4] : constant(n));
}

/* Runs on the alternate stack; the thread pointer is a constant too, so that nothing here may need it. */
static void handler(int signal, siginfo_t *info, ucontext_t *context)
{
	(void)signal, (void)info;
	mcontext_t *machine = &context->uc_mcontext;
	if (machine->__pc != (uintptr_t)(is_call ? variant->called_at : variant->broken_at))
		return;
	for (int n = 1; n < 32; n++)
		if (!is_right(n, machine->__gregs[n]))
			wrong_before = n;
	result = machine->__gregs[4];
	for (int n = 0; n < 32; n++)
		machine->__gregs[n] = new_value(n);
	machine->__pc += 4;
	changed++;
}

static void check_round(void)
{
	CHECK(wrong_before == 0, "round %d: r%d was wrong before", round_number, wrong_before);
	EXPECT(1, changed);
	for (int n = 1; n < 32; n++)
		CHECK(returned[n] == new_value(n), "round %d: r%d is %#lx, not %#lx", round_number, n,
		      (unsigned long)returned[n], (unsigned long)new_value(n));
}

static void with_break(void)
{
	variant->broken();
}

static void within_suspend(void)
{
	static const uint64_t open;
	static long words[6] = { 0, 8, 0x702, 0x703, 0x704, 0x705 };
	words[0] = (long)&open;
	arguments = words;
	is_call = 1;
	tick(3000);
	variant->called(SYS_rt_sigsuspend, words);
	EXPECT(-EINTR, result);
	/* What the handler left in the mask is not what it returned to: the call's own has gone. */
	EXPECT(SET(SIGALRM), mask_now());
}

static int ends[2];
static char byte;

static void within_read(void)
{
	static long words[6] = { 0, 0, 1, 0x703, 0x704, 0x705 };
	words[0] = ends[0];
	words[1] = (long)&byte;
	arguments = words;
	is_call = 1;
	tick(3000);
	variant->called(SYS_read, words);
	EXPECT(-EINTR, result);
}

int main(int count, char **words)
{
	if (count < 3)
		return 2;
	void (*body)(void) = !strcmp(words[1], "break") ? with_break
			     : !strcmp(words[1], "suspend") ? within_suspend
							    : within_read;
	EXPECT(0, pipe(ends));
	EXPECT(0, sigaltstack(&(stack_t){ alternate, 0, sizeof alternate }, NULL));
	handle(SIGTRAP, handler, SA_SIGINFO | SA_ONSTACK, 0);
	handle(SIGALRM, handler, SA_SIGINFO | SA_ONSTACK, 0);
	if (body == within_suspend)
		change_mask(SIG_BLOCK, SET(SIGALRM));
	for (round_number = 0; round_number < atoi(words[2]); round_number++) {
		variant = &variants[round_number % 4];
		memset(returned, 0, sizeof returned);
		changed = wrong_before = 0;
		result = 0;
		body();
		tick(0);
		check_round();
	}
	printf("%d rounds\n", round_number);
	return done();
}
