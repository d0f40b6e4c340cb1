/* Dispositions of signals: every flag of sigaction, what is refused, what goes over to children and to new programs.
 *
 * actions WHAT */
#include "signals.h"

static volatile int count, depth, deepest, seen_signal, seen_code, seen_pid, seen_value;
static volatile uint64_t seen_mask, seen_pending;

static void record(int signal)
{
	count++;
	seen_signal = signal;
	seen_mask = mask_now();
}

static void record_info(int signal, siginfo_t *info, void *context)
{
	(void)context;
	count++;
	seen_signal = signal;
	seen_code = info->si_code;
	seen_pid = info->si_pid;
	seen_value = info->si_value.sival_int;
	CHECK(info->si_signo == signal && info->si_errno == 0, "signo %d errno %d", info->si_signo, info->si_errno);
}

/* Sends itself its own signal, and says whether that comes at once. */
static void record_depth(int signal)
{
	depth++;
	if (depth > deepest)
		deepest = depth;
	if (++count < 3)
		send_self(signal);
	seen_pending = pending_now();
	depth--;
}

static void plain(void)
{
	handle(SIGUSR1, record, 0, 0);
	for (int i = 1; i <= 3; i++) {
		send_self(SIGUSR1);
		EXPECT(i, count);
	}
	EXPECT(SIGUSR1, seen_signal);
	EXPECT(SET(SIGUSR1), seen_mask);
	EXPECT(0, mask_now());
	for (int signal = 1; signal <= 64; signal++) {
		if (signal == SIGKILL || signal == SIGSTOP)
			continue;
		handle(signal, record, 0, 0);
		send_self(signal);
		EXPECT(signal, seen_signal);
	}
	EXPECT(65, count);
}

static void information(void)
{
	handle(SIGUSR1, record_info, SA_SIGINFO, 0);
	send_self(SIGUSR1);
	EXPECT(SI_USER, seen_code);
	EXPECT(getpid(), seen_pid);
	EXPECT(0, syscall(SYS_tkill, syscall(SYS_gettid), SIGUSR1));
	EXPECT(SI_TKILL, seen_code);
	EXPECT(getpid(), seen_pid);
	EXPECT(0, syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1));
	EXPECT(SI_TKILL, seen_code);
	EXPECT(0, sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 77 }));
	EXPECT(SI_QUEUE, seen_code);
	EXPECT(77, seen_value);
	/* Its own process may be told anything. */
	siginfo_t info = { 0 };
	info.si_signo = SIGUSR1;
	info.si_code = -70;
	info.si_pid = 5;
	info.si_value.sival_int = 6;
	EXPECT(0, syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, &info));
	EXPECT(-70, seen_code);
	EXPECT(5, seen_pid);
	EXPECT(6, seen_value);
	EXPECT(5, count);
}

static void deferred(void)
{
	handle(SIGUSR1, record_depth, 0, 0);
	send_self(SIGUSR1);
	EXPECT(3, count);
	EXPECT(1, deepest);
	EXPECT(0, seen_pending);
}

static void nodefer(void)
{
	handle(SIGUSR1, record_depth, SA_NODEFER, 0);
	send_self(SIGUSR1);
	EXPECT(3, count);
	EXPECT(3, deepest);
	/* What its mask says is blocked all the same. */
	count = deepest = 0;
	handle(SIGUSR1, record_depth, SA_NODEFER, SET(SIGUSR1));
	send_self(SIGUSR1);
	EXPECT(1, deepest);
}

static void send_other(int signal)
{
	seen_mask = mask_now();
	send_self(SIGUSR2);
	seen_pending = pending_now();
	seen_signal = signal;
}

static void masked(void)
{
	handle(SIGUSR2, record, 0, 0);
	handle(SIGUSR1, send_other, 0, SET(SIGUSR2) | SET(SIGHUP) | SET(SIGKILL) | SET(SIGSTOP));
	change_mask(SIG_SETMASK, SET(SIGTERM));
	send_self(SIGUSR1);
	EXPECT(SET(SIGUSR2), seen_pending);
	EXPECT(1, count);
	EXPECT(SIGUSR2, seen_signal);
	EXPECT(SET(SIGTERM) | SET(SIGUSR2), seen_mask);
	EXPECT(SET(SIGTERM), mask_now());
	struct action action;
	EXPECT(0, set_action(SIGUSR1, NULL, &action));
	printf("the mask that is told: %#lx\n", (unsigned long)action.mask);
}

static struct action within;

static void look_at_action(int signal)
{
	count++;
	set_action(signal, NULL, &within);
	seen_mask = mask_now();
}

static void once(void)
{
	struct action after;
	handle(SIGUSR1, look_at_action, SA_RESETHAND, SET(SIGUSR2));
	send_self(SIGUSR1);
	EXPECT(1, count);
	CHECK(within.handler == NO_HANDLER, "the handler stays");
	EXPECT(0, set_action(SIGUSR1, NULL, &after));
	printf("flags within %#lx after %#lx, mask %#lx\n", within.flags, after.flags, (unsigned long)after.mask);
	EXPECT(SET(SIGUSR1) | SET(SIGUSR2), seen_mask);
	handle(SIGUSR1, look_at_action, SA_RESETHAND | SA_NODEFER, 0);
	send_self(SIGUSR1);
	EXPECT(0, seen_mask);
	pid_t child = fork();
	if (child == 0) {
		send_self(SIGUSR1);
		_exit(0);
	}
	EXPECT(1000 + SIGUSR1, end_of(child));
}

static void told(void)
{
	static const unsigned long flags[] = {
		SA_NOCLDSTOP, SA_NOCLDWAIT, SA_SIGINFO, SA_ONSTACK, SA_RESTART, SA_NODEFER, SA_RESETHAND,
		0x400 /* SA_UNSUPPORTED */, 0x800 /* SA_EXPOSE_TAGBITS */, 0x04000000 /* a restorer, elsewhere */,
		0x10, 0x20, 0x100, 0xffffffff, 1ul << 32, 1ul << 63,
	};
	for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
		struct action action = { record, flags[i], ~0ul }, old;
		EXPECT(0, set_action(SIGUSR1, &action, &old));
		EXPECT(0, set_action(SIGUSR1, NULL, &old));
		CHECK(old.handler == record, "the handler");
		printf("flags %#lx are told as %#lx, mask %#lx\n", flags[i], old.flags, (unsigned long)old.mask);
	}
}

static void refused(void)
{
	struct action action = { record, 0, 0 }, old = { record, 5, 6 };
	static const int signals[] = { 0, -1, 65, 1000, SIGKILL, SIGSTOP, 64, 32, 33 };
	for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) {
		errno = 0;
		long set = set_action(signals[i], &action, NULL);
		int set_error = errno;
		errno = 0;
		long asked = set_action(signals[i], NULL, &old);
		printf("signal %d: set %ld %d, asked %ld %d\n", signals[i], set, set_error, asked, errno);
	}
	static const size_t sizes[] = { 0, 4, 7, 9, 16, 128 };
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
		FAILS(EINVAL, syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, sizes[i]));
	FAILS(EFAULT, set_action(SIGUSR1, (void *)8, NULL));
	FAILS(EFAULT, set_action(SIGUSR1, NULL, (void *)8));
	/* A place for the old one that is bad does not undo the new one. */
	struct action other = { look_at_action, 0, 0 };
	handle(SIGUSR1, record, 0, 0);
	FAILS(EFAULT, set_action(SIGUSR1, &other, (void *)8));
	EXPECT(0, set_action(SIGUSR1, NULL, &old));
	printf("after EFAULT: %s\n", old.handler == look_at_action ? "new" : "old");
}

static void nothing(void) {}

static void children_left(void)
{
	handle(SIGCHLD, IGNORED, 0, 0);
	EXPECT(-ECHILD, end_of(child_that(nothing)));
	handle(SIGCHLD, record_info, SA_SIGINFO | SA_NOCLDWAIT, 0);
	/* The signal comes all the same. */
	int result = end_of(child_that(nothing));
	EXPECT(-ECHILD, result);
	EXPECT(1, count);
	EXPECT(CLD_EXITED, seen_code);
	/* Default does nothing either, but keeps the child. */
	handle(SIGCHLD, NO_HANDLER, 0, 0);
	EXPECT(0, end_of(child_that(nothing)));
}

static void sleep_for_ever(void)
{
	for (;;)
		pause();
}

static void stopped_children(void)
{
	int status;
	handle(SIGCHLD, record_info, SA_SIGINFO | SA_NOCLDSTOP, 0);
	pid_t child = child_that(sleep_for_ever);
	EXPECT(0, kill(child, SIGSTOP));
	while (waitpid(child, &status, WUNTRACED) < 0 && errno == EINTR)
		;
	EXPECT(0, kill(child, SIGCONT));
	while (waitpid(child, &status, WCONTINUED) < 0 && errno == EINTR)
		;
	EXPECT(0, count);
	EXPECT(0, kill(child, SIGKILL));
	EXPECT(1000 + SIGKILL, end_of(child));
	EXPECT(1, count);
	EXPECT(CLD_KILLED, seen_code);
}

static void discarded(void)
{
	change_mask(SIG_BLOCK, SET(SIGUSR1) | SET(SIGWINCH) | SET(SIGRTMIN));
	send_self(SIGUSR1);
	send_self(SIGRTMIN);
	EXPECT(SET(SIGUSR1) | SET(SIGRTMIN), pending_now());
	/* To ignore it takes back what is pending; a handler does not. */
	handle(SIGUSR1, record, 0, 0);
	EXPECT(SET(SIGUSR1) | SET(SIGRTMIN), pending_now());
	handle(SIGUSR1, IGNORED, 0, 0);
	EXPECT(SET(SIGRTMIN), pending_now());
	handle(SIGRTMIN, IGNORED, 0, 0);
	EXPECT(0, pending_now());
	/* Blocked, a signal whose action is to do nothing is pending. */
	send_self(SIGWINCH);
	send_self(SIGUSR1);
	EXPECT(SET(SIGWINCH) | SET(SIGUSR1), pending_now());
	handle(SIGWINCH, record, 0, 0);
	EXPECT(SET(SIGWINCH) | SET(SIGUSR1), pending_now());
	handle(SIGWINCH, NO_HANDLER, 0, 0);
	EXPECT(SET(SIGUSR1), pending_now());
	change_mask(SIG_SETMASK, 0);
	EXPECT(0, pending_now());
	EXPECT(0, count);
}

static void look_in_child(void)
{
	EXPECT(0, pending_now());
	EXPECT(SET(SIGUSR2), mask_now());
	struct itimerval left;
	EXPECT(0, getitimer(ITIMER_REAL, &left));
	CHECK(left.it_value.tv_sec == 0 && left.it_value.tv_usec == 0, "the timer goes over");
	send_self(SIGUSR1);
	EXPECT(1, count);
}

static void inherited(void)
{
	handle(SIGUSR1, record, 0, 0);
	change_mask(SIG_BLOCK, SET(SIGUSR2));
	send_self(SIGUSR2);
	alarm(1000);
	EXPECT(0, end_of(child_that(look_in_child)));
	EXPECT(SET(SIGUSR2), pending_now());
	CHECK(alarm(0) > 900, "the timer is gone");
}

/* The other half of `executed`. */
static int tell_after(void)
{
	for (int signal = 1; signal <= 64; signal++) {
		struct action action;
		set_action(signal, NULL, &action);
		if (action.handler != NO_HANDLER || action.flags || action.mask)
			printf("%d: %s, flags %#lx, mask %#lx\n", signal,
			       action.handler == IGNORED ? "ignored" : action.handler ? "handled" : "default",
			       action.flags, (unsigned long)action.mask);
	}
	printf("mask %#lx pending %#lx\n", (unsigned long)mask_now(), (unsigned long)pending_now());
	stack_t stack;
	EXPECT(0, sigaltstack(NULL, &stack));
	printf("stack %s, flags %d\n", stack.ss_sp ? "there" : "none", stack.ss_flags);
	/* The timer is still there. */
	CHECK(alarm(0) > 900, "the timer is gone");
	return done();
}

static char room[32768];

static void executed(void)
{
	handle(SIGUSR1, record, SA_RESTART | SA_SIGINFO, SET(SIGHUP));
	handle(SIGUSR2, IGNORED, 0, SET(SIGHUP));
	handle(SIGCHLD, IGNORED, SA_NOCLDWAIT, 0);
	change_mask(SIG_SETMASK, SET(SIGTERM) | SET(SIGRTMAX));
	send_self(SIGTERM);
	EXPECT(0, sigaltstack(&(stack_t){ room, 0, sizeof room }, NULL));
	alarm(1000);
	fflush(stdout);
	execl("/proc/self/exe", "actions", "--after", NULL);
	CHECK(0, "execl: %s", strerror(errno));
}

int main(int words_count, char **words)
{
	static const struct part parts[] = {
		{ "plain", plain }, { "information", information }, { "deferred", deferred }, { "nodefer", nodefer },
		{ "masked", masked }, { "once", once }, { "told", told }, { "refused", refused },
		{ "children-left", children_left }, { "stopped-children", stopped_children },
		{ "discarded", discarded }, { "inherited", inherited }, { "executed", executed }, { NULL, NULL },
	};
	if (words_count > 1 && !strcmp(words[1], "--after"))
		return tell_after();
	return words_count > 1 ? run_part(parts, words) : 2;
}
