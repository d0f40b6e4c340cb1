/* Processes: fork, wait, what a child gets and what it does not, orphans, many.
 *
 * fork WHAT */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include "check.h"

static pid_t child_that(void (*body)(void))
{
	fflush(stdout);
	pid_t child = fork();
	CHECK(child >= 0, "fork: %s", strerror(errno));
	if (child == 0) {
		body();
		fflush(stdout);
		_exit(differences ? 99 : 0);
	}
	return child;
}

static int status_of(pid_t child)
{
	int status = -1;
	EXPECT(child, waitpid(child, &status, 0));
	return status;
}

static void exit_7(void) { _exit(7); }
static void die(void) { raise(SIGKILL); }
static void fault(void) { *(volatile int *)8 = 0; }
static void sleep_long(void) { nanosleep(&(struct timespec){ 100, 0 }, NULL); }

static void statuses(void)
{
	int status = status_of(child_that(exit_7));
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7, "status %#x", status);
	status = status_of(child_that(die));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %#x", status);
	status = status_of(child_that(fault));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "status %#x", status);
	FAILS(ECHILD, waitpid(-1, NULL, 0));
	FAILS(ECHILD, waitpid(getpid(), NULL, 0));
	FAILS(EINVAL, waitpid(-1, NULL, 0x1000));

	pid_t sleeper = child_that(sleep_long);
	EXPECT(0, waitpid(sleeper, &status, WNOHANG));
	EXPECT(0, waitpid(-1, &status, WNOHANG));
	EXPECT(0, kill(sleeper, 0));
	EXPECT(0, kill(sleeper, SIGTERM));
	status = status_of(sleeper);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "status %#x", status);
	FAILS(ESRCH, kill(sleeper, 0));

	siginfo_t info = { 0 };
	pid_t child = child_that(exit_7);
	EXPECT(0, waitid(P_PID, child, &info, WEXITED | WNOWAIT));
	EXPECT(child, info.si_pid);
	EXPECT(CLD_EXITED, info.si_code);
	EXPECT(7, info.si_status);
	EXPECT(SIGCHLD, info.si_signo);
	struct rusage usage;
	EXPECT(child, wait4(child, &status, 0, &usage));
	FAILS(ECHILD, waitid(P_PID, child, &info, WEXITED));
}

static long value = 1;
static char *private_page, *shared_page;

static void change_memory(void)
{
	long on_stack = 5;
	EXPECT(1, value);
	EXPECT(2, private_page[0]);
	value = on_stack;
	private_page[0] = 20;
	private_page[16384] = 21;
	shared_page[0] = 30;
}

static void memory(void)
{
	private_page = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	shared_page = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	private_page[0] = 2;
	shared_page[0] = 3;
	for (int round = 0; round < 20; round++) {
		shared_page[0] = 3;
		EXPECT(0, status_of(child_that(change_memory)));
		EXPECT(1, value);
		EXPECT(2, private_page[0]);
		EXPECT(0, private_page[16384]);
		EXPECT(30, shared_page[0]);
	}
	/* The parent writes while the child still looks. */
	int turn[2];
	EXPECT(0, pipe(turn));
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		char byte;
		int bad = read(turn[0], &byte, 1) != 1 || private_page[0] != 2 || value != 1;
		_exit(bad);
	}
	value = 100;
	private_page[0] = 101;
	EXPECT(1, write(turn[1], "x", 1));
	EXPECT(0, status_of(child));
}

static int file;

static void use_inherited(void)
{
	char byte;
	EXPECT(1, read(file, &byte, 1));
	EXPECT('0', byte);
	EXPECT(022, umask(0));
	char folder[64];
	CHECK(getcwd(folder, sizeof folder) && !strcmp(folder, "/tmp"), "folder %s", folder);
	EXPECT(0, chdir("/"));
	EXPECT(0, close(file));
	CHECK(getpid() != getppid() && syscall(SYS_gettid) == getpid(), "ids");
}

static void inheritance(void)
{
	umask(022);
	EXPECT(0, chdir("/tmp"));
	file = open("inherited", O_RDWR | O_CREAT | O_TRUNC, 0644);
	EXPECT(10, write(file, "0123456789", 10));
	EXPECT(0, lseek(file, 0, SEEK_SET));
	EXPECT(0, status_of(child_that(use_inherited)));
	/* The offset is shared, the table of descriptors, the umask and the folder are not. */
	char byte;
	EXPECT(1, read(file, &byte, 1));
	EXPECT('1', byte);
	EXPECT(022, umask(022));
	char folder[64];
	CHECK(getcwd(folder, sizeof folder) && !strcmp(folder, "/tmp"), "folder %s", folder);
	EXPECT(0, close(file));
	EXPECT(0, unlink("inherited"));
}

static int gone[2];

static void leave_orphan(void)
{
	pid_t before = getpid();
	if (fork() == 0) {
		/* Until the parent has gone, and somebody else is the parent. */
		for (int i = 0; i < 1000 && getppid() == before; i++)
			nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
		(void)!write(gone[1], getppid() == before ? "n" : "y", 1);
		_exit(0);
	}
}

static void orphans(void)
{
	EXPECT(0, pipe(gone));
	EXPECT(0, status_of(child_that(leave_orphan)));
	char answer = 0;
	EXPECT(1, read(gone[0], &answer, 1));
	EXPECT('y', answer);
}

static void nothing(void) {}

static void many(void)
{
	for (int i = 0; i < 200; i++)
		EXPECT(0, status_of(child_that(nothing)));
	/* All at once, reaped in any order. */
	pid_t children[20];
	for (int i = 0; i < 20; i++)
		children[i] = child_that(exit_7);
	for (int i = 0; i < 20; i++) {
		int status;
		pid_t child = wait(&status);
		int known = 0;
		for (int j = 0; j < 20; j++)
			if (children[j] == child)
				known = 1, children[j] = 0;
		CHECK(known && WEXITSTATUS(status) == 7, "child %d", child);
	}
	FAILS(ECHILD, wait(NULL));
}

static void deep(int depth)
{
	if (depth == 0)
		_exit(3);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0)
		deep(depth - 1);
	int status = status_of(child);
	_exit(WEXITSTATUS(status));
}

static void chain_body(void) { deep(10); }
static void chain(void) { EXPECT(3, WEXITSTATUS(status_of(child_that(chain_body)))); }

/* As the C library's vfork where it has one: the same memory, and the parent waits until the child ends or executes. */
static void vfork_runs_first(void)
{
	static volatile int changed;
	register long a0 __asm__("$a0") = 0x4111 /* VM, VFORK, SIGCHLD */, a1 __asm__("$a1") = 0, a2 __asm__("$a2") = 0;
	register long a3 __asm__("$a3") = 0, a4 __asm__("$a4") = 0, a7 __asm__("$a7") = SYS_clone;
	__asm__ volatile("syscall 0\n"
			 "bnez $a0, 1f\n"
			 "li.w $t0, 1\n"
			 "st.w $t0, %[changed], 0\n"
			 "li.w $a0, 4\n"
			 "li.w $a7, 94\n"
			 "syscall 0\n"
			 "1:"
			 : "+r"(a0), "+r"(a7)
			 : "r"(a1), "r"(a2), "r"(a3), "r"(a4), [changed] "r"(&changed)
			 : "$t0", "$t1", "$t2", "$t3", "$t4", "$t5", "$t6", "$t7", "$t8", "memory");
	pid_t child = a0;
	EXPECT(1, changed);
	EXPECT(4, WEXITSTATUS(status_of(child)));
}

int main(int count, char **words)
{
	static const struct part parts[] = {
		{ "statuses", statuses }, { "memory", memory }, { "inheritance", inheritance },
		{ "orphans", orphans }, { "many", many }, { "chain", chain }, { "vfork", vfork_runs_first },
		{ NULL, NULL },
	};
	return count > 1 ? run_part(parts, words) : 2;
}
