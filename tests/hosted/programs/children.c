/* What a parent hears of its children.
 *
 * children WHAT */
#include "signals.h"
#include <pthread.h>
#include <sys/mman.h>

static volatile int count, seen_code, seen_status;
static volatile pid_t seen_pid;
static volatile uid_t seen_uid;

static void record(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	count++;
	seen_code = info->si_code;
	seen_status = info->si_status;
	seen_pid = info->si_pid;
	seen_uid = info->si_uid;
}

static void wait_for_signal(int wanted)
{
	uint64_t none = 0;
	while (count < wanted)
		syscall(SYS_rt_sigsuspend, &none, 8);
}

static void tell(const char *what, pid_t child)
{
	printf("%s: code %d status %d%s\n", what, seen_code, seen_status, seen_pid == child ? "" : ", another's");
	EXPECT(0, seen_uid);
}

static void exit_7(void) { _exit(7); }
static void exit_300(void) { _exit(300); }
static void die(void) { raise(SIGKILL); }
static void terminate(void) { raise(SIGTERM); }
static void fault(void) { *(volatile int *)8 = 1; }
static void wait_for_ever(void)
{
	for (;;)
		pause();
}

static void *end_all(void *unused)
{
	syscall(SYS_exit_group, 9);
	return unused;
}

static void ended_by_thread(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, end_all, NULL);
	wait_for_ever();
}

static void *end_later(void *unused)
{
	nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	syscall(SYS_exit, 4);
	return unused;
}

/* The first thread ends before the last one: the status is the last one's. */
static void ended_first_thread_first(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, end_later, NULL);
	syscall(SYS_exit, 6);
}

static void codes(void)
{
	static const struct {
		const char *name;
		void (*body)(void);
	} ends[] = {
		{ "exit 7", exit_7 }, { "exit 300", exit_300 }, { "kill", die }, { "term", terminate }, { "fault", fault },
		{ "exit_group of a thread", ended_by_thread }, { "first thread first", ended_first_thread_first },
	};
	handle(SIGCHLD, record, SA_SIGINFO, 0);
	change_mask(SIG_BLOCK, SET(SIGCHLD));
	for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++) {
		int status;
		count = 0;
		pid_t child = child_that(ends[i].body);
		wait_for_signal(1);
		tell(ends[i].name, child);
		EXPECT(child, waitpid(child, &status, 0));
		printf("status %#x\n", status);
		EXPECT(1, count);
	}
}

static void stops(void)
{
	int status;
	handle(SIGCHLD, record, SA_SIGINFO, 0);
	change_mask(SIG_BLOCK, SET(SIGCHLD));
	pid_t child = child_that(wait_for_ever);
	EXPECT(0, kill(child, SIGSTOP));
	wait_for_signal(1);
	tell("stopped", child);
	EXPECT(child, waitpid(child, &status, WUNTRACED));
	printf("status %#x\n", status);
	EXPECT(0, waitpid(child, &status, WUNTRACED | WNOHANG));
	EXPECT(0, kill(child, SIGCONT));
	wait_for_signal(2);
	tell("continued", child);
	EXPECT(child, waitpid(child, &status, WCONTINUED));
	printf("status %#x\n", status);
	EXPECT(0, kill(child, SIGKILL));
	wait_for_signal(3);
	tell("killed", child);
	EXPECT(1000 + SIGKILL, end_of(child));
}

/* Many ends, one signal: who is told must look for all of them. */
static void coalesced(void)
{
	pid_t children[5];
	siginfo_t info;
	change_mask(SIG_BLOCK, SET(SIGCHLD));
	for (int i = 0; i < 5; i++)
		children[i] = child_that(exit_7);
	for (int i = 0; i < 5; i++)
		EXPECT(0, waitid(P_PID, children[i], &info, WEXITED | WNOWAIT));
	EXPECT(SET(SIGCHLD), pending_now());
	handle(SIGCHLD, record, SA_SIGINFO, 0);
	change_mask(SIG_UNBLOCK, SET(SIGCHLD));
	EXPECT(1, count);
	for (int i = 0; i < 5; i++)
		EXPECT(7, end_of(children[i]));
}

/* Its default action is to do nothing: calls of the parent's are not disturbed, however its children end. */
static void undisturbed(void)
{
	for (int i = 0; i < 30; i++) {
		pid_t child = child_that(exit_7);
		if (i % 2)
			EXPECT(7, end_of(child));
		EXPECT(0, nanosleep(&(struct timespec){ 0, 2000000 }, NULL));
		if (i % 2 == 0)
			EXPECT(7, end_of(child));
		EXPECT(0, pending_now());
	}
}

static int say_nothing(void *unused)
{
	(void)unused;
	_exit(3);
}

/* A child may end with another signal, or with none. */
static void other_signals(void)
{
	static char room[65536];
	int status;
	handle(SIGCHLD, record, SA_SIGINFO, 0);
	handle(SIGUSR1, record, SA_SIGINFO, 0);
	change_mask(SIG_BLOCK, SET(SIGUSR1) | SET(SIGCHLD));
	pid_t child = clone(say_nothing, room + sizeof room, SIGUSR1, NULL);
	wait_for_signal(1);
	tell("with SIGUSR1", child);
	FAILS(ECHILD, waitpid(child, &status, 0));
	EXPECT(child, waitpid(child, &status, __WCLONE));
	child = clone(say_nothing, room + sizeof room, 0, NULL);
	FAILS(ECHILD, waitpid(child, &status, 0));
	EXPECT(child, waitpid(child, &status, __WALL));
	EXPECT(3, WEXITSTATUS(status));
	EXPECT(0, pending_now());
	EXPECT(1, count);
}

static int told[2];
static void note_hangup(int signal) { (void)signal, byte_to(told[1], 'h'); }
static void note_continued(int signal) { (void)signal, byte_to(told[1], 'c'); }

static void be_stopped(void)
{
	setpgid(0, 0);
	handle(SIGHUP, note_hangup, 0, SET(SIGCONT));
	handle(SIGCONT, note_continued, 0, SET(SIGHUP));
	raise(SIGSTOP);
	byte_to(told[1], 'x');
	_exit(0);
}

static void leave_stopped(void)
{
	int status;
	pid_t child = child_that(be_stopped);
	EXPECT(child, waitpid(child, &status, WUNTRACED));
	CHECK(WIFSTOPPED(status), "status %#x", status);
	_exit(5);
}

/* A group that nobody is there for any more, and that has a stopped process, is hung up and goes on. */
static void orphaned(void)
{
	EXPECT(0, pipe(told));
	EXPECT(5, end_of(child_that(leave_stopped)));
	close(told[1]);
	int byte;
	while ((byte = byte_from(told[0])) >= 0)
		printf("%c", byte);
	printf("\n");
}

static void never_stopped(void)
{
	setpgid(0, 0);
	handle(SIGHUP, note_hangup, 0, 0);
	pid_t parent = getppid();
	byte_to(told[1], 'r');
	while (getppid() == parent)
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	/* Nothing has come, and nothing will. */
	EXPECT(0, pending_now());
	byte_to(told[1], 'x');
	_exit(0);
}

static void leave_running(void)
{
	child_that(never_stopped);
	EXPECT('r', byte_from(told[0]));
	_exit(5);
}

static void orphaned_running(void)
{
	EXPECT(0, pipe(told));
	EXPECT(5, end_of(child_that(leave_running)));
	close(told[1]);
	EXPECT('x', byte_from(told[0]));
	EXPECT(-1, byte_from(told[0]));
}

static void die_with_parent(void)
{
	EXPECT(0, syscall(SYS_prctl, 1 /* PR_SET_PDEATHSIG */, SIGUSR1));
	handle(SIGUSR1, note_hangup, 0, 0);
	byte_to(told[1], 'r');
	pause();
	_exit(0);
}

static void leave_dependent(void)
{
	child_that(die_with_parent);
	EXPECT('r', byte_from(told[0]));
	_exit(5);
}

static void parents_death(void)
{
	EXPECT(0, pipe(told));
	EXPECT(5, end_of(child_that(leave_dependent)));
	EXPECT('h', byte_from(told[0]));
}

int main(int words_count, char **words)
{
	static const struct part parts[] = {
		{ "codes", codes }, { "stops", stops }, { "coalesced", coalesced }, { "undisturbed", undisturbed },
		{ "other-signals", other_signals }, { "orphaned", orphaned }, { "orphaned-running", orphaned_running },
		{ "parents-death", parents_death }, { NULL, NULL },
	};
	return words_count > 1 ? run_part(parts, words) : 2;
}
