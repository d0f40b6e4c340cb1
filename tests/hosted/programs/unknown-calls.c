/* Numbers that are no system call: ENOSYS, whatever else is in the registers; and no number reaches anybody else. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include "check.h"

static long call(long number)
{
	register long a0 __asm__("$a0") = 0x5a5a, a1 __asm__("$a1") = 0x1111, a7 __asm__("$a7") = number;
	__asm__ volatile("syscall 0"
			 : "+r"(a0), "+r"(a1), "+r"(a7)
			 :
			 : "$t0", "$t1", "$t2", "$t3", "$t4", "$t5", "$t6", "$t7", "$t8", "memory");
	CHECK(a1 == 0x1111 && a7 == number, "call %#lx changed its arguments", number);
	return a0;
}

int main(void)
{
	static const long numbers[] = {
		/* Holes of the table, and calls that LoongArch does not have. */
		244, 245, 246, 250, 255, 259, 295, 299, 400, 415, 
		/* Beyond it, as 12, 16, 32, 63 and 64 bits. */
		600, 1000, 4094, 4095, 4096, 65535, 65536, 0x7fffffff, 0x80000000, 0xffffffff,
		0x100000000, 0x1000000ac, 1l << 62, (long)(1ul << 63), (long)(1ul << 63) + 172, -1, -4095, -38,
	};
	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
		CHECK(call(numbers[i]) == -ENOSYS, "call %#lx is %ld", numbers[i], call(numbers[i]));
	CHECK(call(SYS_getpid) > 0, "a call that is there");
	/* The number in the instruction says nothing. */
	register long a0 __asm__("$a0"), a7 __asm__("$a7") = SYS_getpid;
	__asm__ volatile("syscall 0x7fff" : "=r"(a0), "+r"(a7) : : "$t0", "$t1", "$t2", "$t3", "$t4", "$t5", "$t6", "$t7", "$t8", "memory");
	EXPECT(getpid(), a0);
	return done();
}
