/* Signals that do nothing do not disturb a call that waits: ignored ones, and those whose default is to be ignored.
 *
 * undisturbed CALL; `undisturbed idle`: waiting uses no processor */
#include "signals.h"
#include "futex.h"
#include <poll.h>
#include <sys/mman.h>

static volatile uint32_t *word;
static int ends[2];
static pid_t waiting, sender;

/* Twenty rounds of four signals, then the end of the wait. */
static void send(void)
{
	for (int i = 0; i < 20; i++) {
		kill(waiting, SIGUSR1);
		kill(waiting, SIGCONT);
		kill(waiting, SIGWINCH);
		kill(waiting, SIGURG);
		nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
	}
	*word = 1;
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
	byte_to(ends[1], 'x');
	nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	_exit(3);
}

static void start(void)
{
	waiting = getpid();
	*word = 0;
	sender = child_that(send);
}

static void finish(void) { EXPECT(3, end_of(sender)); }

static void futex(void)
{
	start();
	EXPECT(0, syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0));
	EXPECT(1, *word);
	finish();
	start();
	EXPECT(0, syscall(SYS_futex, word, FUTEX_WAIT, 0, &(struct timespec){ 100, 0 }, NULL, 0));
	finish();
}

static void sleep_call(void)
{
	struct timespec before, after, left = { 7, 7 };
	start();
	clock_gettime(CLOCK_MONOTONIC, &before);
	EXPECT(0, nanosleep(&(struct timespec){ 0, 100000000 }, &left));
	clock_gettime(CLOCK_MONOTONIC, &after);
	EXPECT(7, left.tv_sec);
	CHECK((after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000 >= 99, "too short");
	finish();
}

static void reading(void)
{
	char byte;
	start();
	EXPECT(1, read(ends[0], &byte, 1));
	finish();
}

static void polling(void)
{
	struct pollfd wait = { ends[0], POLLIN, 0 };
	start();
	EXPECT(1, poll(&wait, 1, -1));
	finish();
}

static void wait_call(void)
{
	int status;
	start();
	EXPECT(sender, wait4(-1, &status, 0, NULL));
	EXPECT(3, WEXITSTATUS(status));
}

static void waiting_for_signal(void)
{
	uint64_t set = SET(SIGUSR2);
	siginfo_t info;
	change_mask(SIG_BLOCK, SET(SIGUSR2));
	start();
	FAILS(EAGAIN, syscall(SYS_rt_sigtimedwait, &set, &info, &(struct timespec){ 0, 100000000 }, 8));
	finish();
}

static volatile int ticks;
static void count_tick(int signal) { (void)signal, ticks++; }

static void idle(void)
{
	struct timespec before, after, before_real, after_real;
	uint64_t none = 0;
	handle(SIGALRM, count_tick, 0, 0);
	change_mask(SIG_BLOCK, SET(SIGALRM));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	clock_gettime(CLOCK_MONOTONIC, &before_real);
	struct itimerval timer = { { 0, 0 }, { 1, 0 } };
	EXPECT(0, setitimer(ITIMER_REAL, &timer, NULL));
	FAILS(EINTR, syscall(SYS_rt_sigsuspend, &none, 8));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	clock_gettime(CLOCK_MONOTONIC, &after_real);
	EXPECT(1, ticks);
	long used = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
	long passed = (after_real.tv_sec - before_real.tv_sec) * 1000 + (after_real.tv_nsec - before_real.tv_nsec) / 1000000;
	CHECK(passed >= 999, "only %ld ms passed", passed);
	CHECK(used < 300, "%ld ms of the processor", used);
}

int main(int count, char **words)
{
	static const struct part parts[] = {
		{ "futex", futex }, { "sleep", sleep_call }, { "reading", reading }, { "polling", polling },
		{ "wait", wait_call }, { "signal", waiting_for_signal }, { "idle", idle }, { NULL, NULL },
	};
	word = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(0, pipe(ends));
	handle(SIGUSR1, IGNORED, 0, 0);
	return count > 1 ? run_part(parts, words) : 2;
}
