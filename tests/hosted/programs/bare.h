/* For programs without a C library: system calls as they are, and text. */
#pragma once
typedef unsigned long u64;

static inline long call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long a0 __asm__("$a0") = a, a1 __asm__("$a1") = b, a2 __asm__("$a2") = c;
	register long a3 __asm__("$a3") = d, a4 __asm__("$a4") = e, a5 __asm__("$a5") = f;
	register long a7 __asm__("$a7") = number;
	__asm__ volatile("syscall 0"
			 : "+r"(a0)
			 : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7)
			 : "$t0", "$t1", "$t2", "$t3", "$t4", "$t5", "$t6", "$t7", "$t8", "memory");
	return a0;
}

#define CALL_WRITE 64
#define CALL_EXIT 93
#define CALL_EXIT_GROUP 94

static inline void say(const char *text)
{
	u64 length = 0;
	while (text[length])
		length++;
	call6(CALL_WRITE, 1, (long)text, length, 0, 0, 0);
}

static inline void say_hex(u64 value)
{
	char text[19] = "0x";
	for (int digit = 0; digit < 16; digit++)
		text[2 + digit] = "0123456789abcdef"[value >> (60 - 4 * digit) & 15];
	text[18] = 0;
	say(text);
}

static inline void say_number(long value)
{
	char text[21];
	int at = 20;
	u64 rest = value < 0 ? -(u64)value : (u64)value;
	text[at] = 0;
	do
		text[--at] = '0' + rest % 10;
	while (rest /= 10);
	if (value < 0)
		text[--at] = '-';
	say(text + at);
}

__attribute__((noreturn)) static inline void leave(int status)
{
	for (;;)
		call6(CALL_EXIT_GROUP, status, 0, 0, 0, 0, 0);
}
