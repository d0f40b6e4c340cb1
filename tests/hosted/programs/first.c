/* What the first instruction of a program finds in the registers: its stack, and nothing of anybody else's. That is
 * zeros; Linux's own choice for the vectors is all ones, and it leaves its call's number in $a7.
 *
 * first WIDTH: which of the floating-point and vector registers are looked at; nothing used them before. */
#include "bare.h"
#include "vectors.h"

extern u64 first_registers[32];

static struct vector_state state;

static int wrong;

enum { CALL_EXECVE = 221 };

static void is_zero_or(u64 other, const char *name, long number, u64 value)
{
	if (value == 0 || value == other)
		return;
	wrong = 1;
	say(name);
	say_number(number);
	say(" is ");
	say_hex(value);
	say("\n");
}

__attribute__((noreturn)) void first(u64 *stack)
{
	long count = stack[0];
	const char *word = count > 1 ? (const char *)stack[2] : "fp";
	enum width width = word[0] == 'f' ? WIDTH_FP : word[1] == 's' ? WIDTH_LSX : WIDTH_LASX;
	store_vectors[width](&state);
	for (int i = 0; i < 32; i++)
		if (i != 3)
			is_zero_or(i == 11 ? CALL_EXECVE : 0, "r", i, first_registers[i]);
	if (first_registers[3] != (u64)stack || (u64)stack % 16 != 0) {
		wrong = 1;
		say("the stack is not aligned\n");
	}
	for (int i = 0; i < vector_words(width); i++)
		is_zero_or(~0ul, "vector word ", i, state.registers[i]);
	for (int i = 0; i < 8; i++)
		is_zero_or(0, "fcc", i, state.conditions[i]);
	is_zero_or(0, "fcsr", 0, state.control);
	if (!wrong)
		say("ok\n");
	leave(wrong);
}
