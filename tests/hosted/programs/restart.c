/* Calls that wait, and are interrupted by a handler: with and without SA_RESTART.
 *
 * restart CALL: what each handler saw of the call, and how it ended. A signal comes again and again; a call that goes
 * on by itself is let go after three. */
#include "signals.h"
#include "futex.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/stat.h>

long interrupted_call(long number, const long arguments[6]);
extern char the_call[], after_call[];

static long call_number, arguments[6];
static volatile int again, stopped, wrong_argument, wrong_number, other_result;
static void (*volatile let_go)(void);

static void handler(int signal, siginfo_t *info, ucontext_t *context)
{
	(void)signal, (void)info;
	mcontext_t *machine = &context->uc_mcontext;
	if (machine->__pc == (uintptr_t)after_call) {
		stopped++;
		other_result |= machine->__gregs[4] != (unsigned long)-EINTR;
	}
	if (machine->__pc != (uintptr_t)the_call)
		return;
	/* It will be called again, with what it was called with. */
	wrong_argument |= machine->__gregs[4] != (unsigned long)arguments[0];
	wrong_number |= machine->__gregs[11] != (unsigned long)call_number && machine->__gregs[11] != SYS_restart_syscall;
	if (++again == 3 && let_go)
		let_go();
}

static long interrupt(unsigned long flags, long number, void (*release)(void))
{
	again = stopped = wrong_argument = wrong_number = other_result = 0;
	let_go = release;
	call_number = number;
	handle(SIGALRM, handler, SA_SIGINFO | flags, 0);
	tick(5000);
	long result = interrupted_call(number, arguments);
	tick(0);
	/* Process ids differ from run to run. A call that went on may end just when the next signal comes. */
	long shown = number == SYS_wait4 && result > 0 ? 1 : result;
	const char *how = again >= 3 ? ", went on" : !stopped ? "" : other_result ? ", stopped, not EINTR" : ", stopped";
	printf("%s SA_RESTART: %ld%s%s%s\n", flags ? "with" : "without", shown, how,
	       wrong_argument ? ", argument lost" : "", wrong_number ? ", number lost" : "");
	return result;
}

#define ARGUMENTS(...) memcpy(arguments, (long[6]){ __VA_ARGS__ }, sizeof arguments)

static int ends[2];
static char bytes[65536];
static pid_t child;

static void write_byte(void) { (void)!write(ends[1], "x", 1); }
static void read_some(void) { (void)!read(ends[0], bytes, sizeof bytes); }
static void kill_child(void) { kill(child, SIGTERM); }
static void wait_for_ever(void)
{
	for (;;)
		pause();
}

static void reading(void)
{
	EXPECT(0, pipe(ends));
	ARGUMENTS(ends[0], (long)bytes, 10);
	interrupt(0, SYS_read, NULL);
	interrupt(SA_RESTART, SYS_read, write_byte);
	struct iovec { void *base; size_t length; } pieces[2] = { { bytes, 3 }, { bytes, 3 } };
	ARGUMENTS(ends[0], (long)pieces, 2);
	interrupt(0, SYS_readv, NULL);
	interrupt(SA_RESTART, SYS_readv, write_byte);
}

static void writing(void)
{
	EXPECT(0, pipe(ends));
	EXPECT(65536, fcntl(ends[1], F_SETPIPE_SZ, 65536));
	EXPECT(65536, write(ends[1], bytes, 65536));
	ARGUMENTS(ends[1], (long)bytes, 10);
	interrupt(0, SYS_write, NULL);
	interrupt(SA_RESTART, SYS_write, read_some);
	/* What has been written already is told, whatever the flags. */
	read_some();
	ARGUMENTS(ends[1], (long)bytes, 65536);
	EXPECT(16384, write(ends[1], bytes, 16384));
	interrupt(0, SYS_write, NULL);
	read_some();
	EXPECT(16384, write(ends[1], bytes, 16384));
	interrupt(SA_RESTART, SYS_write, NULL);
}

static void waiting(void)
{
	int status;
	child = child_that(wait_for_ever);
	ARGUMENTS(-1, (long)&status, 0, 0);
	interrupt(0, SYS_wait4, NULL);
	EXPECT(child, interrupt(SA_RESTART, SYS_wait4, kill_child) > 0 ? child : 0);
	EXPECT(SIGTERM, status);
	siginfo_t info;
	child = child_that(wait_for_ever);
	ARGUMENTS(P_ALL, 0, (long)&info, WEXITED, 0);
	interrupt(0, SYS_waitid, NULL);
	interrupt(SA_RESTART, SYS_waitid, kill_child);
	EXPECT(CLD_KILLED, info.si_code);
}

static volatile uint32_t word;
static void change_word(void)
{
	word = 1;
	syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void futexes(void)
{
	struct timespec limit = { 100, 0 };
	ARGUMENTS((long)&word, FUTEX_WAIT, 0, 0);
	interrupt(0, SYS_futex, NULL);
	interrupt(SA_RESTART, SYS_futex, change_word);
	word = 0;
	ARGUMENTS((long)&word, FUTEX_WAIT_PRIVATE, 0, (long)&limit);
	interrupt(0, SYS_futex, NULL);
	interrupt(SA_RESTART, SYS_futex, change_word);
	word = 0;
	/* An absolute limit. */
	clock_gettime(CLOCK_MONOTONIC, &limit);
	limit.tv_sec += 100;
	ARGUMENTS((long)&word, FUTEX_WAIT_BITSET, 0, (long)&limit, 0, -1);
	interrupt(0, SYS_futex, NULL);
	interrupt(SA_RESTART, SYS_futex, change_word);
}

static void sleeping(void)
{
	struct timespec time = { 100, 0 }, left = { 0, 0 };
	for (unsigned long flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
		left.tv_sec = 0;
		ARGUMENTS((long)&time, (long)&left);
		interrupt(flags, SYS_nanosleep, NULL);
		CHECK(left.tv_sec >= 90 && left.tv_sec < 100, "%ld seconds are left", left.tv_sec);
		left.tv_sec = 0;
		ARGUMENTS(CLOCK_MONOTONIC, 0, (long)&time, (long)&left);
		interrupt(flags, SYS_clock_nanosleep, NULL);
		CHECK(left.tv_sec >= 90 && left.tv_sec < 100, "%ld seconds are left", left.tv_sec);
		struct timespec end;
		clock_gettime(CLOCK_MONOTONIC, &end);
		end.tv_sec += 100;
		left.tv_sec = 77;
		ARGUMENTS(CLOCK_MONOTONIC, TIMER_ABSTIME, (long)&end, (long)&left);
		interrupt(flags, SYS_clock_nanosleep, NULL);
		EXPECT(77, left.tv_sec);
	}
}

static void polling(void)
{
	struct pollfd wait = { 0, POLLIN, 0 };
	struct timespec limit = { 100, 0 };
	fd_set set;
	EXPECT(0, pipe(ends));
	wait.fd = ends[0];
	for (unsigned long flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
		ARGUMENTS((long)&wait, 1, 0, 0, 8);
		interrupt(flags, SYS_ppoll, NULL);
		limit = (struct timespec){ 100, 0 };
		ARGUMENTS((long)&wait, 1, (long)&limit, 0, 8);
		interrupt(flags, SYS_ppoll, NULL);
		CHECK(limit.tv_sec >= 90 && limit.tv_sec < 100, "%ld seconds are left", limit.tv_sec);
		FD_ZERO(&set);
		FD_SET(ends[0], &set);
		limit = (struct timespec){ 100, 0 };
		ARGUMENTS(ends[0] + 1, (long)&set, 0, 0, (long)&limit, 0);
		interrupt(flags, SYS_pselect6, NULL);
		CHECK(limit.tv_sec >= 90 && limit.tv_sec < 100, "%ld seconds are left", limit.tv_sec);
		CHECK(FD_ISSET(ends[0], &set), "the set is changed");
	}
}

static void suspending(void)
{
	uint64_t none = 0, other = SET(SIGUSR2);
	siginfo_t info;
	for (unsigned long flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
		ARGUMENTS((long)&none, 8);
		interrupt(flags, SYS_rt_sigsuspend, NULL);
		ARGUMENTS((long)&other, (long)&info, 0, 8);
		interrupt(flags, SYS_rt_sigtimedwait, NULL);
	}
}

static void hold_lock(void)
{
	int file = open("/tmp/locked", O_RDWR);
	struct flock lock = { .l_type = F_WRLCK };
	fcntl(file, F_SETLKW, &lock);
	flock(file, LOCK_EX);
	byte_to(ends[1], 'l');
	wait_for_ever();
}

static void locking(void)
{
	EXPECT(0, pipe(ends));
	int file = open("/tmp/locked", O_RDWR | O_CREAT, 0600);
	struct flock lock = { .l_type = F_WRLCK };
	child = child_that(hold_lock);
	EXPECT('l', byte_from(ends[0]));
	ARGUMENTS(file, F_SETLKW, (long)&lock);
	interrupt(0, SYS_fcntl, NULL);
	ARGUMENTS(file, LOCK_EX);
	interrupt(0, SYS_flock, NULL);
	ARGUMENTS(file, F_SETLKW, (long)&lock);
	interrupt(SA_RESTART, SYS_fcntl, kill_child);
	EXPECT(1000 + SIGTERM, end_of(child));
	child = child_that(hold_lock);
	/* It cannot have the first lock, which is ours. */
	EXPECT(0, kill(child, SIGKILL));
	EXPECT(1000 + SIGKILL, end_of(child));
}

static void open_other_end(void) { (void)!open("/tmp/fifo", O_RDWR); }

static void opening(void)
{
	EXPECT(0, mkfifo("/tmp/fifo", 0600));
	ARGUMENTS(AT_FDCWD, (long)"/tmp/fifo", O_RDONLY);
	interrupt(0, SYS_openat, NULL);
	EXPECT(3, interrupt(SA_RESTART, SYS_openat, open_other_end) > 0 ? 3 : 0);
}

static pid_t sleeper;

static void sleep_a_little(void)
{
	struct timespec before, after;
	clock_gettime(CLOCK_MONOTONIC, &before);
	byte_to(ends[1], 's');
	EXPECT(0, nanosleep(&(struct timespec){ 0, 300000000 }, NULL));
	clock_gettime(CLOCK_MONOTONIC, &after);
	long ms = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
	CHECK(ms >= 299, "it slept %ld ms", ms);
}

/* Stopped and continued without a handler, a sleep goes on to its end, and so do other calls. */
static void stopped_and_continued(void)
{
	int status;
	EXPECT(0, pipe(ends));
	sleeper = child_that(sleep_a_little);
	EXPECT('s', byte_from(ends[0]));
	for (int i = 0; i < 3; i++) {
		EXPECT(0, kill(sleeper, SIGSTOP));
		EXPECT(sleeper, waitpid(sleeper, &status, WUNTRACED));
		CHECK(WIFSTOPPED(status), "status %#x", status);
		EXPECT(0, kill(sleeper, SIGCONT));
		EXPECT(sleeper, waitpid(sleeper, &status, WCONTINUED));
		CHECK(WIFCONTINUED(status), "status %#x", status);
	}
	EXPECT(0, end_of(sleeper));
}

int main(int count, char **words)
{
	static const struct part parts[] = {
		{ "reading", reading }, { "writing", writing }, { "waiting", waiting }, { "futexes", futexes },
		{ "sleeping", sleeping }, { "polling", polling }, { "suspending", suspending }, { "locking", locking },
		{ "opening", opening }, { "stopped", stopped_and_continued }, { NULL, NULL },
	};
	return count > 1 ? run_part(parts, words) : 2;
}
