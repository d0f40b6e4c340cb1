/* A program that is killed within a call gives back what it had: its descriptors are closed, its children are others'.
 *
 * killed ROUNDS: so many of each call, each killed in it */
#include "signals.h"
#include "futex.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>

static int held[2], empty[2], full[2];
static volatile uint32_t *word;

static void in_read(void) { char byte; (void)!read(empty[0], &byte, 1); }
static void in_write(void) { static char block[65536]; while (write(full[1], block, sizeof block) > 0) ; }
static void in_futex(void) { syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0); }
static void in_sleep(void) { nanosleep(&(struct timespec){ 1000, 0 }, NULL); }
static void in_poll(void) { poll(&(struct pollfd){ empty[0], POLLIN, 0 }, 1, -1); }
static void in_suspend(void) { sigsuspend(&(sigset_t){ 0 }); }
static void in_timedwait(void) { sigset_t set; sigfillset(&set); sigprocmask(SIG_SETMASK, &set, NULL); sigtimedwait(&set, NULL, NULL); }
static void in_open(void) { (void)!open("/tmp/fifo", O_RDONLY); }
static void in_loop(void) { for (;;) __asm__ volatile("" ::: "memory"); }
static void in_calls(void) { for (;;) syscall(SYS_getppid); }
static void in_maps(void) { for (;;) munmap(mmap(NULL, 65536, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0), 65536); }

static void in_wait(void)
{
	pid_t child = fork();
	if (child == 0) {
		close(held[1]);
		in_sleep();
	}
	/* The child's pipe tells whether somebody still has it. */
	waitpid(child, NULL, 0);
}

static void in_fork(void)
{
	for (;;) {
		pid_t child = fork();
		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

static const struct {
	const char *name;
	void (*body)(void);
} calls[] = {
	{ "read", in_read }, { "write", in_write }, { "futex", in_futex }, { "sleep", in_sleep }, { "poll", in_poll },
	{ "suspend", in_suspend }, { "timedwait", in_timedwait }, { "open", in_open }, { "wait", in_wait },
	{ "loop", in_loop }, { "calls", in_calls }, { "maps", in_maps }, { "fork", in_fork },
};

static void once(const char *name, void (*body)(void))
{
	EXPECT(0, pipe(held));
	pid_t child = fork();
	if (child == 0) {
		close(held[0]);
		byte_to(held[1], 'r');
		body();
		_exit(1);
	}
	close(held[1]);
	EXPECT('r', byte_from(held[0]));
	/* It may be within the call, or before it: some turns make the first likely. */
	for (int i = 0; i < 3; i++)
		sched_yield();
	EXPECT(0, kill(child, SIGKILL));
	int end = end_of(child);
	CHECK(end == 1000 + SIGKILL, "%s: it ended with %d", name, end);
	/* Nobody has the other end any more. */
	EXPECT(-1, byte_from(held[0]));
	EXPECT(0, close(held[0]));
}

int main(int count, char **words)
{
	int rounds = count > 1 ? atoi(words[1]) : 1;
	word = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(0, pipe(empty));
	EXPECT(0, pipe(full));
	EXPECT(0, mkfifo("/tmp/fifo", 0600));
	int lowest = open("/dev/null", O_RDONLY);
	close(lowest);
	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
		for (int round = 0; round < rounds; round++)
			once(calls[i].name, calls[i].body);
	EXPECT(lowest, open("/dev/null", O_RDONLY));
	FAILS(ECHILD, waitpid(-1, NULL, 0));
	return done();
}
