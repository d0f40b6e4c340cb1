/* Touches an address whose upper bits are lost on some machines, so that it names the host's own memory.
 *
 * alias HOW ADDRESS: read, write or execute. It must die of it, and not the host. */
#include <stdint.h>
#include <stdlib.h>
#include "check.h"

int main(int count, char **words)
{
	if (count < 3)
		return 2;
	uintptr_t address = strtoull(words[2], NULL, 0) & 0xffffffffffff;
	printf("before\n");
	fflush(stdout);
	if (words[1][0] == 'r')
		(void)*(volatile char *)address;
	else if (words[1][0] == 'w')
		*(volatile char *)address = 1;
	else
		((void (*)(void))address)();
	printf("it lives\n");
	return 1;
}
