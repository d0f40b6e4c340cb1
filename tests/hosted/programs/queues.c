/* Queued signals and waiting for them.
 *
 * queues WHAT */
#include "signals.h"
#include <pthread.h>
#include <sys/resource.h>

static long wait_for(uint64_t set, siginfo_t *info, const struct timespec *limit)
{
	return syscall(SYS_rt_sigtimedwait, &set, info, limit, 8);
}

static const struct timespec none = { 0, 0 };

static void in_order(void)
{
	siginfo_t info;
	int first = 34;
	change_mask(SIG_SETMASK, ~0ul);
	for (int value = 1; value <= 3; value++) {
		EXPECT(0, sigqueue(getpid(), first + 2, (union sigval){ .sival_int = 10 + value }));
		EXPECT(0, sigqueue(getpid(), first, (union sigval){ .sival_int = value }));
	}
	for (int i = 0; i < 6; i++) {
		memset(&info, 0xff, sizeof info);
		EXPECT(i < 3 ? first : first + 2, wait_for(SET(first) | SET(first + 2), &info, &none));
		EXPECT(i < 3 ? i + 1 : 10 + i - 2, info.si_value.sival_int);
		EXPECT(SI_QUEUE, info.si_code);
		EXPECT(getpid(), info.si_pid);
		EXPECT(getuid(), info.si_uid);
		EXPECT(0, info.si_errno);
	}
	FAILS(EAGAIN, wait_for(SET(first), &info, &none));
	EXPECT(0, pending_now());
}

static void standard(void)
{
	siginfo_t info;
	change_mask(SIG_SETMASK, ~0ul);
	for (int value = 1; value <= 3; value++)
		EXPECT(0, sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = value }));
	send_self(34);
	send_self(34);
	send_self(SIGUSR2);
	send_self(SIGSEGV);
	/* Standard ones come once, with what the first one said. */
	EXPECT(SIGSEGV, wait_for(~0ul, &info, &none));
	EXPECT(SIGUSR1, wait_for(~0ul, &info, &none));
	EXPECT(1, info.si_value.sival_int);
	EXPECT(SIGUSR2, wait_for(~0ul, &info, &none));
	EXPECT(34, wait_for(~0ul, &info, &none));
	EXPECT(SI_USER, info.si_code);
	EXPECT(34, wait_for(~0ul, &info, &none));
	FAILS(EAGAIN, wait_for(~0ul, &info, &none));
}

static volatile int values[16], taken;

static void record_value(int signal, siginfo_t *info, void *context)
{
	(void)context;
	if (taken < 16)
		values[taken++] = signal * 100 + info->si_value.sival_int;
}

static void handled(void)
{
	for (int signal = 34; signal <= 36; signal++)
		handle(signal, record_value, SA_SIGINFO, ~0ul);
	change_mask(SIG_SETMASK, ~0ul);
	for (int value = 1; value <= 3; value++)
		for (int signal = 36; signal >= 34; signal--)
			EXPECT(0, sigqueue(getpid(), signal, (union sigval){ .sival_int = value }));
	change_mask(SIG_SETMASK, 0);
	for (int i = 0; i < taken; i++)
		printf("%d ", values[i]);
	printf("\n");
}

static void errors(void)
{
	siginfo_t info;
	uint64_t set = SET(SIGUSR1);
	change_mask(SIG_BLOCK, set);
	FAILS(EINVAL, syscall(SYS_rt_sigtimedwait, &set, &info, &none, 4));
	FAILS(EINVAL, syscall(SYS_rt_sigtimedwait, &set, &info, &none, 16));
	FAILS(EFAULT, syscall(SYS_rt_sigtimedwait, (void *)8, &info, &none, 8));
	FAILS(EFAULT, syscall(SYS_rt_sigtimedwait, &set, &info, (void *)8, 8));
	FAILS(EINVAL, wait_for(set, &info, &(struct timespec){ -1, 0 }));
	FAILS(EINVAL, wait_for(set, &info, &(struct timespec){ 0, 1000000000 }));
	FAILS(EINVAL, wait_for(set, &info, &(struct timespec){ 0, -1 }));
	FAILS(EAGAIN, wait_for(set, &info, &(struct timespec){ 0, 1000000 }));
	FAILS(EAGAIN, wait_for(0, &info, &none));
	/* A bad place for the information: the signal is gone all the same. */
	send_self(SIGUSR1);
	FAILS(EFAULT, wait_for(set, (void *)8, &none));
	printf("then pending: %#lx\n", (unsigned long)pending_now());
	send_self(SIGUSR1);
	EXPECT(SIGUSR1, wait_for(set, NULL, NULL));
	/* SIGKILL and SIGSTOP are taken out of the set. */
	FAILS(EAGAIN, wait_for(SET(SIGKILL) | SET(SIGSTOP), &info, &none));
	pid_t me = getpid();
	info = (siginfo_t){ 0 };
	info.si_code = SI_QUEUE;
	FAILS(EINVAL, syscall(SYS_rt_sigqueueinfo, me, 65, &info));
	FAILS(ESRCH, syscall(SYS_rt_sigqueueinfo, 0x3ffffff, SIGUSR1, &info));
	FAILS(EFAULT, syscall(SYS_rt_sigqueueinfo, me, SIGUSR1, (void *)8));
	EXPECT(0, syscall(SYS_rt_sigqueueinfo, me, 0, &info));
	FAILS(EINVAL, syscall(SYS_rt_tgsigqueueinfo, -1, me, SIGUSR1, &info));
	FAILS(ESRCH, syscall(SYS_rt_tgsigqueueinfo, 1, me, SIGUSR1, &info));
}

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

/* Nobody may look like the kernel to somebody else. */
static void forged(void)
{
	pid_t child = child_that(wait_for_ever);
	static const int codes[] = { SI_USER, SI_TKILL, SI_KERNEL, 1, SI_QUEUE, SI_TIMER, -60 };
	for (unsigned i = 0; i < sizeof codes / sizeof *codes; i++) {
		siginfo_t info = { 0 };
		info.si_signo = SIGWINCH;
		info.si_code = codes[i];
		errno = 0;
		long other = syscall(SYS_rt_sigqueueinfo, child, SIGWINCH, &info);
		int other_error = errno;
		errno = 0;
		long own = syscall(SYS_rt_sigqueueinfo, getpid(), SIGWINCH, &info);
		int own_error = errno;
		errno = 0;
		long own_thread = syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGWINCH, &info);
		printf("code %d: to a child %ld %d, to itself %ld %d, to its thread %ld %d\n", codes[i], other,
		       other_error, own, own_error, own_thread, errno);
	}
	EXPECT(0, kill(child, SIGKILL));
	EXPECT(1000 + SIGKILL, end_of(child));
}

static void limited(void)
{
	siginfo_t info;
	struct rlimit limit = { 20, 20 };
	change_mask(SIG_SETMASK, ~0ul);
	EXPECT(0, setrlimit(RLIMIT_SIGPENDING, &limit));
	int queued = 0;
	while (queued < 100 && sigqueue(getpid(), 40, (union sigval){ .sival_int = queued }) == 0)
		queued++;
	EXPECT(EAGAIN, errno);
	CHECK(queued <= 20 && queued > 0, "queued %d", queued);
	/* kill always works: without information where there is no room. */
	send_self(41);
	EXPECT(41, wait_for(SET(41), &info, &none));
	printf("code %d, pid %s\n", info.si_code, info.si_pid ? "told" : "none");
	send_self(SIGUSR1);
	EXPECT(SIGUSR1, wait_for(SET(SIGUSR1), &info, &none));
	for (int i = 0; i < queued; i++) {
		EXPECT(40, wait_for(SET(40), &info, &none));
		EXPECT(i, info.si_value.sival_int);
	}
	EXPECT(0, sigqueue(getpid(), 40, (union sigval){ .sival_int = 1 }));
}

/* Blocked, a signal that would do nothing still arrives at the one who waits for it. */
static void ignorable(void)
{
	siginfo_t info;
	change_mask(SIG_SETMASK, ~0ul);
	static const int signals[] = { SIGCHLD, SIGWINCH, SIGURG, SIGCONT };
	for (int i = 0; i < 4; i++) {
		send_self(signals[i]);
		EXPECT(signals[i], wait_for(SET(signals[i]), &info, &none));
	}
	/* So does an ignored one. */
	handle(SIGUSR1, IGNORED, 0, 0);
	send_self(SIGUSR1);
	errno = 0;
	long got = wait_for(SET(SIGUSR1), &info, &none);
	printf("ignored, and blocked: %ld %d\n", got, errno);
	change_mask(SIG_UNBLOCK, SET(SIGUSR1));
	send_self(SIGUSR1);
	errno = 0;
	got = wait_for(SET(SIGUSR1), &info, &none);
	printf("ignored, and not blocked: %ld %d\n", got, errno);
}

static volatile int handled_count;

static void count_one(int signal)
{
	(void)signal;
	handled_count++;
}

static pid_t waiting_process;

static void send_slowly(void)
{
	for (;;) {
		kill(waiting_process, SIGUSR1);
		nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
	}
}

/* Waiting for one signal: another one interrupts the wait, and the first one ends it, blocked or not. */
static void interrupted(void)
{
	siginfo_t info;
	handle(SIGUSR1, count_one, SA_RESTART, 0);
	handle(SIGUSR2, count_one, 0, 0);
	waiting_process = getpid();
	pid_t child = child_that(send_slowly);
	FAILS(EINTR, wait_for(SET(SIGUSR2), &info, &(struct timespec){ 100, 0 }));
	CHECK(handled_count > 0, "no handler");
	EXPECT(0, kill(child, SIGKILL));
	EXPECT(1000 + SIGKILL, end_of(child));
	handled_count = 0;
	child = child_that(send_slowly);
	/* Not blocked: either its handler runs before the wait and again later, or it is taken by the wait. */
	for (int i = 0; i < 100; i++) {
		long got = wait_for(SET(SIGUSR1), &info, &(struct timespec){ 100, 0 });
		if (got == SIGUSR1) {
			EXPECT(child, info.si_pid);
			break;
		}
		EXPECT(EINTR, errno);
	}
	EXPECT(0, kill(child, SIGKILL));
	EXPECT(1000 + SIGKILL, end_of(child));
}

static int ready[2];

static void *waiting_thread(void *set)
{
	siginfo_t info;
	byte_to(ready[1], 'r');
	long got = wait_for(*(uint64_t *)set, &info, NULL);
	return (void *)(got * 1000 + info.si_value.sival_int);
}

/* Each of two waiting threads gets its own. */
static void threads(void)
{
	pthread_t one, other;
	uint64_t sets[2] = { SET(34), SET(35) };
	void *result;
	EXPECT(0, pipe(ready));
	change_mask(SIG_SETMASK, ~0ul);
	EXPECT(0, pthread_create(&one, NULL, waiting_thread, &sets[0]));
	EXPECT(0, pthread_create(&other, NULL, waiting_thread, &sets[1]));
	byte_from(ready[0]), byte_from(ready[0]);
	EXPECT(0, sigqueue(getpid(), 35, (union sigval){ .sival_int = 2 }));
	EXPECT(0, sigqueue(getpid(), 34, (union sigval){ .sival_int = 1 }));
	EXPECT(0, pthread_join(one, &result));
	EXPECT(34001, (long)result);
	EXPECT(0, pthread_join(other, &result));
	EXPECT(35002, (long)result);
}

int main(int count, char **words)
{
	static const struct part parts[] = {
		{ "in-order", in_order }, { "standard", standard }, { "handled", handled }, { "errors", errors },
		{ "forged", forged }, { "limited", limited }, { "ignorable", ignorable },
		{ "interrupted", interrupted }, { "threads", threads }, { NULL, NULL },
	};
	return count > 1 ? run_part(parts, words) : 2;
}
