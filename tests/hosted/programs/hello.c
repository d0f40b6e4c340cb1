/* The least that a person tries first. */
#include <stdio.h>

int main(void)
{
	printf("hello, world\n");
	fprintf(stderr, "and to the errors\n");
	return 0;
}
