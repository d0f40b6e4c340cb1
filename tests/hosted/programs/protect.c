/* mprotect: its errors, and that system calls, too, see what it did; its faults are the program `fault`'s. */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include "check.h"

enum { PAGE = 16384 };

int main(void)
{
	unsigned char *area = mmap(NULL, 6 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(area, 3, 6 * PAGE);
	EXPECT(0, mprotect(area + 2 * PAGE, 2 * PAGE, PROT_READ));
	EXPECT(3, area[2 * PAGE]);
	area[2 * PAGE - 1] = 4;
	area[4 * PAGE] = 5;
	FAILS(EFAULT, getrandom(area + 3 * PAGE, 8, 0));
	EXPECT(0, mprotect(area + 3 * PAGE, PAGE, PROT_READ | PROT_WRITE));
	EXPECT(8, getrandom(area + 3 * PAGE, 8, 0));
	EXPECT(0, mprotect(area, PAGE, PROT_NONE));
	FAILS(EFAULT, write(1, area, 1));
	EXPECT(0, mprotect(area, PAGE, PROT_READ));
	EXPECT(3, area[0]);
	/* Code that the program writes itself. */
	unsigned *code = (void *)(area + 5 * PAGE);
	code[0] = 0x02800000u | 42 << 10 | 0 << 5 | 4; /* addi.w $a0, $zero, 42 */
	code[1] = 0x4c000020u; /* jirl $zero, $ra, 0 */
	EXPECT(0, mprotect(code, PAGE, PROT_READ | PROT_EXEC));
	__builtin___clear_cache((char *)code, (char *)(code + 2));
	__asm__ volatile("ibar 0" ::: "memory");
	EXPECT(42, ((int (*)(void))code)());
	EXPECT(0, mprotect(area, 0, PROT_NONE));
	/* As the kernel sees it: the C library aligns what it is given. */
	FAILS(EINVAL, syscall(SYS_mprotect, area + 1, PAGE, PROT_READ));
	FAILS(EINVAL, mprotect(area, PAGE, 0x100));
	EXPECT(0, munmap(area + PAGE, PAGE));
	/* What lies before a hole is changed, then the hole is told. */
	FAILS(ENOMEM, mprotect(area, 3 * PAGE, PROT_READ | PROT_WRITE));
	area[0] = 1;
	FAILS(EFAULT, getrandom(area + 2 * PAGE, 8, 0));
	return done();
}
