/* Stopping and going on, without a terminal.
 *
 * stops WHAT */
#include "signals.h"

static int told[2];
static int status;

static void note(int signal) { byte_to(told[1], signal); }

static void wait_for_ever(void)
{
	byte_to(told[1], 'r');
	for (;;)
		pause();
}

/* In a group of its own, whose parent is in the session: it may be stopped. */
static void in_own_group(void)
{
	setpgid(0, 0);
	wait_for_ever();
}

static pid_t start(void (*body)(void))
{
	pid_t child = child_that(body);
	EXPECT('r', byte_from(told[0]));
	return child;
}

static void is_stopped(pid_t child, int signal)
{
	EXPECT(child, waitpid(child, &status, WUNTRACED));
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == signal, "status %#x", status);
}

static void goes_on(pid_t child)
{
	EXPECT(0, kill(child, SIGCONT));
	EXPECT(child, waitpid(child, &status, WCONTINUED));
	CHECK(WIFCONTINUED(status), "status %#x", status);
}

static void kinds(void)
{
	static const int signals[] = { SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU };
	pid_t child = start(in_own_group);
	for (int i = 0; i < 4; i++) {
		EXPECT(0, kill(child, signals[i]));
		is_stopped(child, signals[i]);
		/* Told once. */
		EXPECT(0, waitpid(child, &status, WUNTRACED | WNOHANG));
		goes_on(child);
		EXPECT(0, waitpid(child, &status, WCONTINUED | WNOHANG));
	}
	siginfo_t info;
	EXPECT(0, kill(child, SIGSTOP));
	EXPECT(0, waitid(P_PID, child, &info, WSTOPPED | WNOWAIT));
	EXPECT(CLD_STOPPED, info.si_code);
	EXPECT(SIGSTOP, info.si_status);
	EXPECT(0, waitid(P_PID, child, &info, WSTOPPED));
	info.si_pid = 5;
	EXPECT(0, waitid(P_PID, child, &info, WSTOPPED | WNOHANG));
	EXPECT(0, info.si_pid);
	EXPECT(0, kill(child, SIGCONT));
	EXPECT(0, waitid(P_PID, child, &info, WCONTINUED));
	EXPECT(CLD_CONTINUED, info.si_code);
	EXPECT(SIGCONT, info.si_status);
	EXPECT(0, kill(child, SIGKILL));
	EXPECT(1000 + SIGKILL, end_of(child));
}

/* In an orphaned group only SIGSTOP stops. */
static void in_orphaned_group(void)
{
	pid_t child = start(wait_for_ever);
	EXPECT(0, kill(child, SIGTSTP));
	EXPECT(0, kill(child, SIGTTIN));
	EXPECT(0, kill(child, SIGTTOU));
	EXPECT(0, kill(child, SIGSTOP));
	is_stopped(child, SIGSTOP);
	EXPECT(0, kill(child, SIGKILL));
	EXPECT(1000 + SIGKILL, end_of(child));
}

/* Stopped, it dies at once of SIGKILL, and of others when it goes on. */
static void killed(void)
{
	pid_t child = start(in_own_group);
	EXPECT(0, kill(child, SIGSTOP));
	is_stopped(child, SIGSTOP);
	EXPECT(0, kill(child, SIGTERM));
	EXPECT(0, waitpid(child, &status, WNOHANG));
	EXPECT(0, kill(child, SIGCONT));
	EXPECT(1000 + SIGTERM, end_of(child));
}

static void with_handlers(void)
{
	setpgid(0, 0);
	handle(SIGCONT, note, 0, SET(SIGUSR1));
	handle(SIGUSR1, note, 0, SET(SIGCONT));
	handle(SIGTSTP, note, 0, 0);
	wait_for_ever();
}

static void handled(void)
{
	pid_t child = start(with_handlers);
	EXPECT(0, kill(child, SIGTSTP));
	EXPECT(SIGTSTP, byte_from(told[0]));
	EXPECT(0, kill(child, SIGSTOP));
	is_stopped(child, SIGSTOP);
	/* A handler runs only when it goes on. */
	EXPECT(0, kill(child, SIGUSR1));
	EXPECT(0, kill(child, SIGCONT));
	int one = byte_from(told[0]), other = byte_from(told[0]);
	printf("handlers: %d %d\n", one, other);
	/* Nothing to go on from: the handler runs all the same. */
	EXPECT(0, kill(child, SIGCONT));
	EXPECT(SIGCONT, byte_from(told[0]));
	EXPECT(0, kill(child, SIGKILL));
	EXPECT(1000 + SIGKILL, end_of(child));
}

static void with_all_blocked(void)
{
	setpgid(0, 0);
	change_mask(SIG_SETMASK, ~0ul);
	byte_to(told[1], 'r');
	for (;;)
		nanosleep(&(struct timespec){ 1, 0 }, NULL);
}

/* SIGCONT goes on though it is blocked, and takes pending stops with it; a stop takes a pending SIGCONT. */
static void taken_back(void)
{
	pid_t child = start(with_all_blocked);
	EXPECT(0, kill(child, SIGTSTP));
	EXPECT(0, waitpid(child, &status, WUNTRACED | WNOHANG));
	EXPECT(0, kill(child, SIGSTOP));
	is_stopped(child, SIGSTOP);
	goes_on(child);
	EXPECT(0, kill(child, SIGKILL));
	EXPECT(1000 + SIGKILL, end_of(child));
	change_mask(SIG_BLOCK, SET(SIGTSTP) | SET(SIGCONT) | SET(SIGTTIN));
	send_self(SIGTSTP);
	send_self(SIGTTIN);
	EXPECT(SET(SIGTSTP) | SET(SIGTTIN), pending_now());
	send_self(SIGCONT);
	EXPECT(SET(SIGCONT), pending_now());
	send_self(SIGTSTP);
	EXPECT(SET(SIGTSTP), pending_now());
}

/* A whole group, and a process that has two threads. */
static void groups(void)
{
	pid_t first = start(in_own_group);
	fflush(stdout);
	pid_t second = fork();
	if (second == 0) {
		setpgid(0, first);
		wait_for_ever();
	}
	EXPECT('r', byte_from(told[0]));
	EXPECT(first, getpgid(second));
	EXPECT(0, kill(-first, SIGSTOP));
	is_stopped(first, SIGSTOP);
	is_stopped(second, SIGSTOP);
	EXPECT(0, kill(-first, SIGCONT));
	EXPECT(first, waitpid(first, &status, WCONTINUED));
	EXPECT(second, waitpid(second, &status, WCONTINUED));
	EXPECT(0, kill(-first, SIGTERM));
	/* Waiting for a group. */
	EXPECT(1, waitpid(-first, &status, 0) > 0);
	EXPECT(1, waitpid(-first, &status, 0) > 0);
	FAILS(ECHILD, waitpid(-first, &status, 0));
	FAILS(ESRCH, kill(-first, 0));
}

int main(int count, char **words)
{
	static const struct part parts[] = {
		{ "kinds", kinds }, { "in-orphaned-group", in_orphaned_group }, { "killed", killed }, { "handled", handled },
		{ "taken-back", taken_back }, { "groups", groups }, { NULL, NULL },
	};
	EXPECT(0, pipe(told));
	return count > 1 ? run_part(parts, words) : 2;
}
