/* Touches every page of ranges of addresses whose upper bits are lost on some machines, so that they name the host's
 * own memory; each must be a SIGSEGV, and the host must answer behind it.
 *
 * alias-pages ADDRESS:PAGES... */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check.h"

#define PAGE 0x4000

static sigjmp_buf back;
static volatile uintptr_t seen;

static void on_fault(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	seen = (uintptr_t)info->si_addr;
	siglongjmp(back, 1);
}

static int is_refused(uintptr_t address, int writes)
{
	seen = 0;
	if (sigsetjmp(back, 0) == 0) {
		if (writes)
			*(volatile char *)address = 1;
		else
			(void)*(volatile char *)address;
		return 0;
	}
	return seen == address;
}

int main(int count, char **words)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
	sigaction(SIGSEGV, &action, NULL);
	pid_t me = getpid();
	for (int word = 1; word < count; word++) {
		char *end;
		uintptr_t start = strtoull(words[word], &end, 16) & 0xffffffffffff;
		long pages = strtol(end + 1, NULL, 0), refused = 0, answered = 0;
		for (long page = 0; page < pages; page++) {
			uintptr_t address = start + page * PAGE + page % PAGE;
			refused += is_refused(address, 0) + is_refused(address, 1);
			answered += getpid() == me;
		}
		printf("%s: %ld refused, %ld answered\n", words[word], refused, answered);
		if (refused != 2 * pages || answered != pages)
			return 1;
	}
	return 0;
}
