/* A loop that holds constants in all 31 registers, $sp, $tp and $r21 too, while SIGALRM comes a thousand times a second
 * and its handler overwrites everything that it may; or holds them in the vector unit.
 *
 * hold registers TICKS; hold fp|lsx|lasx TICKS */
#include "signals.h"
#include "vectors.h"

void hold_registers(void), spoil_and_return(void);
extern char hold_begin[], hold_last[], hold_end[];

static volatile int ticks, wanted, wrong;
static volatile uint64_t wrong_value;
static char alternate[65536];

/* Called by the handler, with a thread pointer that is a constant. */
void look(int signal, siginfo_t *info, ucontext_t *context)
{
	(void)signal, (void)info;
	mcontext_t *machine = &context->uc_mcontext;
	if (machine->__pc < (uintptr_t)hold_begin || machine->__pc > (uintptr_t)hold_last)
		return;
	for (int n = 1; n < 32; n++)
		if (machine->__gregs[n] != 0xc0de000000000000 + n * 0x010101010101) {
			wrong = n;
			wrong_value = machine->__gregs[n];
		}
	if (++ticks >= wanted || wrong)
		machine->__pc = (uintptr_t)hold_end;
}

static void registers(void)
{
	handle(SIGALRM, spoil_and_return, SA_SIGINFO | SA_ONSTACK, 0);
	tick(1000);
	hold_registers();
	tick(0);
	CHECK(wrong == 0, "r%d is %#lx at tick %d", wrong, (unsigned long)wrong_value, ticks);
	EXPECT(wanted, ticks);
}

/* Here the handler only counts, and spoils the vectors. */

static void count_tick(int signal)
{
	(void)signal;
	ticks++;
	__asm__ volatile(".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23\n"
			 "xvreplgr2vr.d $xr\\n, $sp\n"
			 ".endr\n"
			 ".irp n, 24, 25, 26, 27, 28, 29, 30, 31\n"
			 "xvreplgr2vr.d $xr\\n, $ra\n"
			 ".endr\n"
			 "movgr2cf $fcc0, $zero\n movgr2cf $fcc3, $zero\n movgr2cf $fcc7, $zero\n"
			 "movgr2fcsr $fcsr0, $zero\n" ::: "memory");
}

static void vectors(enum width width)
{
	static struct vector_state pattern, seen;
	handle(SIGALRM, count_tick, SA_RESTART, 0);
	for (uint64_t seed = 1; ticks < wanted && !differences; seed++) {
		make_pattern(&pattern, seed);
		tick(1000);
		long round = hold_vectors[width](&pattern, &seen, 2000, seed % 2 ? PAUSE_NONE : PAUSE_GETPID);
		tick(0);
		CHECK(round == 0, "round %ld of seed %lu is wrong", round, (unsigned long)seed);
	}
}

int main(int count, char **words)
{
	if (count < 3)
		return 2;
	EXPECT(0, sigaltstack(&(stack_t){ alternate, 0, sizeof alternate }, NULL));
	wanted = atoi(words[2]);
	for (enum width width = WIDTH_FP; width < WIDTHS; width++)
		if (!strcmp(words[1], width_names[width])) {
			vectors(width);
			return done();
		}
	registers();
	return done();
}
