/* Resource limits: what is refused, and what a program hears of it.
 *
 * limits WHAT */
#include "signals.h"
#include <fcntl.h>
#include <sys/resource.h>

static volatile int count, seen_code;

static void record(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	count++;
	seen_code = info->si_code;
}

static void limit(int kind, rlim_t soft, rlim_t hard)
{
	EXPECT(0, setrlimit(kind, &(struct rlimit){ soft, hard }));
}

static int end_of_child(void (*body)(void))
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		body();
		_exit(0);
	}
	int status = 0;
	EXPECT(child, waitpid(child, &status, 0));
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* RLIMIT_FSIZE: a write up to the limit is cut, one behind it is an error and a signal. */
static void sizes(void)
{
	char bytes[100] = { 0 };
	int fd = open("/tmp/limited", O_RDWR | O_CREAT | O_TRUNC, 0644);
	CHECK(fd >= 0, "no file");
	handle(SIGXFSZ, record, SA_SIGINFO, 0);
	limit(RLIMIT_FSIZE, 1000, RLIM_INFINITY);
	EXPECT(100, pwrite(fd, bytes, 100, 0));
	EXPECT(50, pwrite(fd, bytes, 100, 950));
	EXPECT(0, count);
	FAILS(EFBIG, pwrite(fd, bytes, 100, 1000));
	EXPECT(1, count);
	printf("code %d\n", seen_code);
	FAILS(EFBIG, pwrite(fd, bytes, 1, 5000));
	EXPECT(2, count);
	EXPECT(0, pwrite(fd, bytes, 0, 5000));
	EXPECT(2, count);
	FAILS(EFBIG, ftruncate(fd, 1001));
	EXPECT(3, count);
	EXPECT(0, ftruncate(fd, 900));
	EXPECT(0, ftruncate(fd, 1000));
	FAILS(EFBIG, posix_fallocate(fd, 900, 200) ? (errno = EFBIG, -1) : 0);
	EXPECT(4, count);
	EXPECT(0, posix_fallocate(fd, 500, 500));
	EXPECT(1000, lseek(fd, 0, SEEK_END));
	FAILS(EFBIG, write(fd, bytes, 1));
	EXPECT(5, count);
	/* What is larger than the limit may be written where it is. */
	limit(RLIMIT_FSIZE, RLIM_INFINITY, RLIM_INFINITY);
	EXPECT(0, ftruncate(fd, 3000));
	limit(RLIMIT_FSIZE, 1000, RLIM_INFINITY);
	FAILS(EFBIG, pwrite(fd, bytes, 1, 2000));
	EXPECT(0, ftruncate(fd, 2000));
	/* Pipes and devices have no size. */
	int ends[2];
	EXPECT(0, pipe(ends));
	EXPECT(100, write(ends[1], bytes, 100));
	EXPECT(6, count);
	unlink("/tmp/limited");
}

static void too_large(void)
{
	limit(RLIMIT_FSIZE, 10, 10);
	int fd = open("/tmp/limited", O_RDWR | O_CREAT | O_TRUNC, 0644);
	while (write(fd, "12345678", 8) > 0)
		;
}

static void deadly(void)
{
	EXPECT(1000 + SIGXFSZ, end_of_child(too_large));
	unlink("/tmp/limited");
}

/* RLIMIT_CPU: SIGXCPU at the soft limit, which then is a second later; SIGKILL at the hard one. */
static void spin(void)
{
	handle(SIGXCPU, record, SA_SIGINFO, 0);
	limit(RLIMIT_CPU, 1, 2);
	while (count == 0)
		;
	struct rlimit now;
	EXPECT(0, getrlimit(RLIMIT_CPU, &now));
	EXPECT(2, now.rlim_cur);
	printf("code %d\n", seen_code);
	fflush(stdout);
	for (;;)
		;
}

static void spin_at_once(void)
{
	limit(RLIMIT_CPU, 0, RLIM_INFINITY);
	for (;;)
		;
}

static void spin_in_child(void)
{
	limit(RLIMIT_CPU, 1, RLIM_INFINITY);
	pid_t child = fork();
	if (child == 0)
		for (;;)
			;
	int status = 0;
	waitpid(child, &status, 0);
	_exit(WTERMSIG(status));
}

static void processor(void)
{
	EXPECT(1000 + SIGKILL, end_of_child(spin));
	EXPECT(1000 + SIGXCPU, end_of_child(spin_at_once));
	EXPECT(SIGXCPU, end_of_child(spin_in_child));
}

/* Who may change which. */
static void as_user(void)
{
	struct rlimit own;
	EXPECT(0, setresuid(1000, 1000, 1000));
	EXPECT(0, getrlimit(RLIMIT_NOFILE, &own));
	limit(RLIMIT_NOFILE, 100, 200);
	limit(RLIMIT_NOFILE, 200, 200);
	FAILS(EPERM, setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 100, 201 }));
	FAILS(EINVAL, setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 201, 200 }));
	FAILS(EPERM, prlimit(getppid(), RLIMIT_NOFILE, NULL, &own));
	FAILS(ESRCH, prlimit(1 << 21, RLIMIT_NOFILE, NULL, &own));
	FAILS(EINVAL, prlimit(0, 16, NULL, &own));
	_exit(differences);
}

static void rights(void)
{
	EXPECT(0, end_of_child(as_user));
	limit(RLIMIT_NOFILE, 100, 200);
	limit(RLIMIT_NOFILE, 100, 300);
}

int main(int words_count, char **words)
{
	static const struct part parts[] = {
		{ "sizes", sizes }, { "deadly", deadly }, { "processor", processor }, { "rights", rights }, { NULL, NULL },
	};
	return words_count > 1 ? run_part(parts, words) : 2;
}
