/* Tries to use up the system: each way in a child, which says what stopped it. Whatever it was, the parent goes on, and
 * what comes after it finds the system as it was.
 *
 * exhaust WHAT */
#include "exhaust.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static void raise_limit(int kind, rlim_t most)
{
	EXPECT(0, setrlimit(kind, &(struct rlimit){ most, most }));
}

static void become_user(uid_t user)
{
	EXPECT(0, setresgid(user, user, user));
	EXPECT(0, setresuid(user, user, user));
}

/* Descriptors, within the limit and up to what nobody may raise it to. */
static void few_descriptors(void)
{
	int ends[2];
	UNTIL_STOPPED("open", 1000, open("/dev/null", O_RDONLY));
	UNTIL_STOPPED("dup", 0, dup(0));
	UNTIL_STOPPED("pipe", 0, pipe(ends));
	UNTIL_STOPPED("eventfd", 0, eventfd(0, 0));
	UNTIL_STOPPED("ptmx", 0, open("/dev/ptmx", O_RDWR | O_NOCTTY));
}

static void many_descriptors(void)
{
	raise_limit(RLIMIT_NOFILE, MANY);
	EXPECT(MANY - 1, dup2(0, MANY - 1));
	UNTIL_STOPPED("dup", MANY / 2, dup(0));
	for (int child = 0; child < 20; child++)
		if (fork() == 0)
			for (;;)
				pause();
	kill(0, SIGKILL);
}

/* Every child with the largest table of descriptors. */
static void large_tables(void)
{
	setsid();
	many_descriptors();
}

static void until_no_file(void)
{
	int ends[2];
	raise_limit(RLIMIT_NOFILE, MANY);
	become_user(1000);
	UNTIL_STOPPED("open", 1000, open("/dev/null", O_RDONLY));
	UNTIL_STOPPED("pipe", 0, pipe(ends));
	UNTIL_STOPPED("eventfd", 0, eventfd(0, 0));
}

static void until_no_eventfd(void)
{
	raise_limit(RLIMIT_NOFILE, MANY);
	become_user(1000);
	UNTIL_STOPPED("eventfd", 1000, eventfd(0, 0));
}

static void until_no_pipe(void)
{
	int ends[2];
	raise_limit(RLIMIT_NOFILE, MANY);
	become_user(1000);
	UNTIL_STOPPED("pipe", 1000, pipe(ends));
}

static void descriptors(void)
{
	in_child(few_descriptors);
	in_child(large_tables);
}

static void open_files(void)
{
	in_child(until_no_file);
	in_child(until_no_eventfd);
	in_child(until_no_pipe);
}

/* Areas of one page each. */
static long map_other(void)
{
	static int count;
	int protection = count++ % 2 ? PROT_READ : PROT_READ | PROT_WRITE;
	void *at = mmap(NULL, PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return at == MAP_FAILED ? -1 : 0;
}

static void until_no_area(void)
{
	UNTIL_STOPPED("mmap", 65000, map_other());
	/* A part in the middle of one cannot go, the whole of it can. */
	char *area = mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(area == MAP_FAILED, "an area more");
}

static void split_areas(void)
{
	char *all = mmap(NULL, (size_t)2 * MANY / 16 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(all != MAP_FAILED, "no area");
	long page = 1;
	UNTIL_STOPPED("mprotect", 32000, mprotect(all + PAGE * (page += 2), PAGE, PROT_NONE));
	UNTIL_STOPPED("munmap", 0, munmap(all + PAGE * (page += 2), PAGE));
	EXPECT(0, munmap(all, (size_t)2 * MANY / 16 * PAGE));
}

static void areas(void)
{
	in_child(until_no_area);
	in_child(split_areas);
}

/* Page numbers far apart: what has to be remembered of a page that costs no frame. */
static void look_far(void)
{
	size_t bytes = 1ul << 46;
	volatile char *all = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(all != MAP_FAILED, "no area");
	for (size_t at = 0; at < bytes; at += 1 << 20)
		(void)all[at];
}

static void look_far_by_calls(void)
{
	size_t bytes = 1ul << 46;
	char *all = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(all != MAP_FAILED, "no area");
	int fd = open("/dev/null", O_WRONLY), ends[2];
	CHECK(fd >= 0 && pipe(ends) == 0, "no files");
	char byte;
	for (size_t at = 0; at < bytes; at += 1 << 20)
		if (write(ends[1], all + at, 1) != 1 || read(ends[0], &byte, 1) != 1) {
			printf("write: %s\n", name_of(errno));
			return;
		}
}

static void look_at_once(void)
{
	char *all = mmap(NULL, 1ul << 40, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_POPULATE, -1, 0);
	CHECK(all != MAP_FAILED, "no area");
}

static void pages(void)
{
	in_child(look_far);
	in_child(look_far_by_calls);
	in_child(look_at_once);
}

/* More memory than there is. */
static void touch(void)
{
	for (;;) {
		char *part = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (part == MAP_FAILED)
			return;
		for (size_t at = 0; at < 16 << 20; at += PAGE)
			part[at] = 1;
	}
}

static void memory(void)
{
	in_child(touch);
}

/* Processes and threads. */
static void fork_many(long least)
{
	setsid();
	UNTIL_STOPPED("fork", least, fork() ?: (pause(), -1));
	fflush(stdout);
	kill(0, SIGKILL);
}

static void fork_as_user(void)
{
	raise_limit(RLIMIT_NPROC, 100);
	become_user(1000);
	fork_many(80);
}

static void fork_as_root(void)
{
	raise_limit(RLIMIT_NPROC, RLIM_INFINITY);
	/* Page tables end before anything else does. */
	fork_many(100);
}

static void *wait_for_ever(void *unused)
{
	(void)unused;
	for (;;)
		pause();
}

static void threads_of(long least)
{
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 4096);
	pthread_attr_setguardsize(&small, 0);
	pthread_t thread;
	UNTIL_STOPPED("pthread_create", least,
		      -(errno = pthread_create(&thread, &small, wait_for_ever, NULL)));
}

static void threads_as_user(void)
{
	raise_limit(RLIMIT_NPROC, 100);
	become_user(1001);
	threads_of(80);
}

static void threads_as_root(void)
{
	raise_limit(RLIMIT_NPROC, RLIM_INFINITY);
	threads_of(500);
}

static void processes(void)
{
	in_child(fork_as_user);
	in_child(threads_as_user);
}

static void processes_of_root(void)
{
	in_child(fork_as_root);
	in_child(threads_as_root);
}

/* Signals that wait. */
static void queue(long least)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	UNTIL_STOPPED("sigqueue", least, sigqueue(getpid(), SIGRTMIN, (union sigval){ 0 }));
	UNTIL_STOPPED("sigqueue of another", 0, sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ 0 }));
	/* What is no realtime signal comes always. */
	EXPECT(0, kill(getpid(), SIGUSR1));
	siginfo_t info;
	sigset_t user;
	sigemptyset(&user);
	sigaddset(&user, SIGUSR1);
	EXPECT(SIGUSR1, sigtimedwait(&user, &info, &(struct timespec){ 0 }));
}

static void queue_as_user(void)
{
	raise_limit(RLIMIT_SIGPENDING, 1000);
	become_user(1000);
	queue(900);
}

static void queue_without_limit(void)
{
	raise_limit(RLIMIT_SIGPENDING, RLIM_INFINITY);
	queue(10000);
}

static void signals(void)
{
	in_child(queue_as_user);
}

static void signals_without_limit(void)
{
	in_child(queue_without_limit);
}

/* Waiting for very many at once. */
static struct pollfd *sets;

static int poll_all(void *unused)
{
	(void)unused;
	for (;;)
		if (poll(sets, MANY, -1) < 0)
			_exit(errno == ENOMEM ? 1 : 2);
}

static void poll_many(void)
{
	raise_limit(RLIMIT_NOFILE, MANY);
	setsid();
	sets = mmap(NULL, MANY * sizeof *sets, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = eventfd(0, 0), failed = 0;
	for (long at = 0; at < MANY; at++)
		sets[at] = (struct pollfd){ fd, POLLIN, 0 };
	for (int child = 0; child < 4; child++)
		if (fork() == 0)
			poll_all(NULL);
	int status;
	while (wait(&status) > 0)
		failed += WIFEXITED(status) && WEXITSTATUS(status) == 1;
	printf("poll: %d\n", failed);
}

static void poll_too_many(void)
{
	FAILS(EINVAL, poll(NULL, 1 << 30, 0));
	FAILS(EINVAL, poll(NULL, 5000, 0));
	EXPECT(0, syscall(SYS_pselect6, 1 << 30, NULL, NULL, NULL, &(struct timespec){ 0 }, NULL));
	FAILS(EINVAL, syscall(SYS_pselect6, -1, NULL, NULL, NULL, &(struct timespec){ 0 }, NULL));
}

static void polls(void)
{
	in_child(poll_too_many);
}

static void polls_of_many(void)
{
	in_child(poll_many);
}

/* Programs with very many words, or very long ones. */
static char *words_of(char *word, long count)
{
	char **words = mmap(NULL, (count + 1) * sizeof *words, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(words != MAP_FAILED, "no area");
	for (long at = 0; at < count; at++)
		words[at] = word;
	return (char *)words;
}

static void execute(void)
{
	static char *none[] = { NULL };
	char *long_word = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(long_word, 'x', 32 * PAGE + 1);
	char **few = (char **)words_of(long_word, 1), **many = (char **)words_of("", 4 * MANY);
	char **some = (char **)words_of("", MANY);
	raise_limit(RLIMIT_STACK, RLIM_INFINITY);
	FAILS(E2BIG, execve("/proc/self/exe", few, none));
	FAILS(E2BIG, execve("/proc/self/exe", none, few));
	FAILS(E2BIG, execve("/proc/self/exe", many, none));
	FAILS(E2BIG, execve("/proc/self/exe", none, many));
	FAILS(E2BIG, execve("/proc/self/exe", some, some));
	long_word[32 * PAGE - 2] = 0;
	char **large = (char **)words_of(long_word, 100);
	FAILS(E2BIG, execve("/proc/self/exe", large, large));
}

static void programs(void)
{
	in_child(execute);
}

/* Vectors and buffers. */
static void vectors(void)
{
	static struct iovec pieces[2048];
	char byte = 0;
	for (int at = 0; at < 2048; at++)
		pieces[at] = (struct iovec){ &byte, 1 };
	int fd = open("/dev/zero", O_RDWR);
	FAILS(EINVAL, readv(fd, pieces, 1025));
	FAILS(EINVAL, writev(fd, pieces, 1025));
	FAILS(EINVAL, readv(fd, pieces, 1 << 30));
	EXPECT(1024, readv(fd, pieces, 1024));
	int folder = open("/", O_RDONLY | O_DIRECTORY);
	char *large = mmap(NULL, 1ul << 31, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(large != MAP_FAILED, "no area");
	FAILS(EINVAL, syscall(SYS_getdents64, folder, large, 1ul << 31));
	CHECK(syscall(SYS_getdents64, folder, large, 1ul << 30) > 0, "getdents64: %s", strerror(errno));
}

/* Terminals, and what waits in them. */
static void open_terminals(void)
{
	static char line[16384];
	memset(line, 'x', sizeof line);
	for (int at = 79; at < 16384; at += 80)
		line[at] = '\n';
	/* All of them first: then there is not room for all that they may hold. */
	static int masters[8192], sides[8192];
	long times = 0;
	raise_limit(RLIMIT_NOFILE, MANY);
	for (errno = 0; times < 8192; times++) {
		int number, unlocked = 0;
		if ((masters[times] = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK)) < 0)
			break;
		EXPECT(0, ioctl(masters[times], 0x40045431, &unlocked));
		EXPECT(0, ioctl(masters[times], 0x80045430, &number));
		char name[32];
		sprintf(name, "/dev/pts/%d", number);
		sides[times] = open(name, O_RDWR | O_NOCTTY | O_NONBLOCK);
		CHECK(sides[times] >= 0, "%s: %s", name, strerror(errno));
		errno = 0;
	}
	stopped("ptmx", times, 1000);
	int error = 0;
	for (long at = 0; at < times; at++) {
		while (write(sides[at], line, sizeof line) > 0)
			;
		error = errno == EAGAIN ? error : errno;
		while (write(masters[at], line, sizeof line) > 0)
			;
		error = errno == EAGAIN ? error : errno;
	}
	CHECK(error == 0 || error == ENOMEM, "write: %s", strerror(error));
}

static void terminals(void)
{
	in_child(open_terminals);
}

/* What each process may have of its own: groups. */
static void groups_in_children(void)
{
	static gid_t groups[65536];
	for (int at = 0; at < 65536; at++)
		groups[at] = at;
	setsid();
	FAILS(EINVAL, syscall(SYS_setgroups, 65537, groups));
	EXPECT(0, syscall(SYS_setgroups, 65536, groups));
	UNTIL_STOPPED("fork", 50, fork() ?: (pause(), -1));
	fflush(stdout);
	kill(0, SIGKILL);
}

static void groups(void)
{
	in_child(groups_in_children);
}

static const struct part parts[] = {
	{ "descriptors", descriptors },
	{ "open-files", open_files },
	{ "areas", areas },
	{ "pages", pages },
	{ "memory", memory },
	{ "processes", processes },
	{ "processes-of-root", processes_of_root },
	{ "signals", signals },
	{ "signals-without-limit", signals_without_limit },
	{ "polls", polls },
	{ "polls-of-many", polls_of_many },
	{ "programs", programs },
	{ "vectors", vectors },
	{ "terminals", terminals },
	{ "groups", groups },
	{ NULL, NULL },
};

int main(int words_count, char **words)
{
	if (words_count < 2)
		return 2;
	return run_part(parts, words);
}
