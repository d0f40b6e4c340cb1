/* Does what its first argument names, for the oracle's own test. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

int main(int count, char **words)
{
	const char *what = count > 1 ? words[1] : "";
	if (!strcmp(what, "exit"))
		return atoi(words[2]);
	if (!strcmp(what, "words")) {
		printf("%s %s '%s' '%s' %s\n", words[0], words[1], words[2], words[3], environ[0]);
		fprintf(stderr, "to the errors\n");
		return 0;
	}
	if (!strcmp(what, "copy")) {
		char bytes[777];
		ssize_t length;
		while ((length = read(0, bytes, sizeof bytes)) > 0)
			if (write(1, bytes, length) != length)
				return 1;
		return 0;
	}
	if (!strcmp(what, "hang")) {
		if (write(1, "before\n", 7) != 7)
			return 1;
		pause();
	}
	if (!strcmp(what, "fault"))
		*(volatile int *)8 = 0;
	if (!strcmp(what, "make"))
		return open(words[2], O_CREAT | O_WRONLY, 0600) < 0;
	if (!strcmp(what, "wait-for")) {
		while (access(words[2], F_OK)) {
			if (count > 3)
				return 1;
			usleep(1000);
		}
		return 0;
	}
	if (!strcmp(what, "left")) {
		if (fork() == 0)
			pause();
		return 0;
	}
	return 99;
}
