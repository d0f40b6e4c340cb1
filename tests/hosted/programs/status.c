/* Ends with the status that it is given, in the way that it is given. */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char **words)
{
	int status = count > 2 ? atoi(words[2]) : 0;
	if (count > 1 && !strcmp(words[1], "return"))
		return status;
	if (count > 1 && !strcmp(words[1], "exit"))
		syscall(SYS_exit, status);
	if (count > 1 && !strcmp(words[1], "exit-group"))
		syscall(SYS_exit_group, status);
	abort();
}
