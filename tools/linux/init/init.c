/* The first process of Linux in the oracle: runs the groups of programs in /bixi/plan, one group after the other, and
 * tells on the second serial line what each wrote and how it ended. The tool's src/report.rs reads those frames:
 *
 *   O PROGRAM LENGTH\n BYTES      it wrote to its standard output
 *   E PROGRAM LENGTH\n BYTES      it wrote to its standard error
 *   X PROGRAM HOW NUMBER\n        it ended: exited STATUS, killed SIGNAL, late 0 (it was stopped), unstarted ERRNO
 *
 * PROGRAM counts through the whole plan. The programs of a group run at the same time. Each group gets an empty /tmp,
 * and whatever it leaves running is killed.
 *
 * The plan is a list of strings, each ended by a zero byte: for a group, how many programs it has and its time limit in
 * milliseconds; for a program, its path, its standard input's file, and its arguments and its environment, each list
 * with its length before it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { MOST_TOGETHER = 16 };

struct program {
	int number;
	const char *path, *input;
	char **arguments, **environment;
	pid_t process;
	/* Ours: a descriptor of the process, the file that feeds its input, and its three pipes; -1 when closed. */
	int handle, feed, to, out, err;
};

static int frames;
static char *plan, *plan_end;

static void fail(const char *what)
{
	fprintf(stderr, "init: %s: %s\n", what, strerror(errno));
	fflush(stderr);
	reboot(RB_POWER_OFF);
	_exit(1);
}

static void send(const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t sent = write(frames, bytes, length);
		if (sent < 0 && errno != EINTR)
			fail("the frames' line");
		if (sent > 0)
			bytes += sent, length -= sent;
	}
}

static void tell(const char *format, ...)
{
	char line[96];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	send(line, length);
}

static int open_line(const char *path)
{
	int line = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios mode;
	if (line < 0 || tcgetattr(line, &mode))
		fail(path);
	cfmakeraw(&mode);
	if (tcsetattr(line, TCSANOW, &mode))
		fail(path);
	return line;
}

static const char *next_string(void)
{
	if (plan >= plan_end) {
		errno = EINVAL;
		fail("the plan is too short");
	}
	char *string = plan;
	plan += strlen(plan) + 1;
	return string;
}

static char **next_list(void)
{
	int count = atoi(next_string());
	char **list = calloc(count + 1, sizeof *list);
	for (int i = 0; i < count; i++)
		list[i] = (char *)next_string();
	return list;
}

/* This machine's Linux finds no clock: it is told the time. */
static void set_clock(void)
{
	struct timespec now = { 0 };
	FILE *file = fopen("/bixi/time", "r");
	if (!file || fscanf(file, "%lld", (long long *)&now.tv_sec) != 1 || clock_settime(CLOCK_REALTIME, &now))
		fail("/bixi/time");
	fclose(file);
}

static void read_plan(void)
{
	struct stat facts;
	int file = open("/bixi/plan", O_RDONLY | O_CLOEXEC);
	if (file < 0 || fstat(file, &facts))
		fail("/bixi/plan");
	plan = malloc(facts.st_size + 1);
	if (read(file, plan, facts.st_size) != facts.st_size)
		fail("/bixi/plan");
	plan_end = plan + facts.st_size;
	*plan_end = 0;
	close(file);
}

static long long now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void pipe_of(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC))
		fail("pipe");
}

static void in_child(struct program *program, int in, int out, int err, int failure)
{
	setsid();
	signal(SIGPIPE, SIG_DFL);
	if (chdir("/") || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(126);
	execve(program->path, program->arguments, program->environment);
	int why = errno;
	(void)!write(failure, &why, sizeof why);
	_exit(127);
}

/* Returns 0, or why the program cannot be started. */
static int start(struct program *program)
{
	int in[2], out[2], err[2], failure[2], why = 0;
	pipe_of(in), pipe_of(out), pipe_of(err), pipe_of(failure);
	program->process = fork();
	if (program->process < 0)
		fail("fork");
	if (program->process == 0)
		in_child(program, in[0], out[1], err[1], failure[1]);
	close(in[0]), close(out[1]), close(err[1]), close(failure[1]);
	program->feed = open(program->input, O_RDONLY | O_CLOEXEC);
	program->to = in[1], program->out = out[0], program->err = err[0];
	fcntl(program->to, F_SETFL, O_NONBLOCK);
	fcntl(program->out, F_SETFL, O_NONBLOCK);
	fcntl(program->err, F_SETFL, O_NONBLOCK);
	program->handle = syscall(SYS_pidfd_open, program->process, 0);
	if (program->feed < 0 || program->handle < 0)
		fail(program->path);
	if (read(failure[0], &why, sizeof why) != sizeof why)
		why = 0;
	close(failure[0]);
	return why;
}

static void shut(int *descriptor)
{
	if (*descriptor >= 0)
		close(*descriptor);
	*descriptor = -1;
}

/* Passes on what is there; returns when there is no more now. */
static void relay(struct program *program, int *from, char kind)
{
	char bytes[4096];
	while (*from >= 0) {
		ssize_t length = read(*from, bytes, sizeof bytes);
		if (length < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (length <= 0) {
			shut(from);
			return;
		}
		tell("%c %d %zd\n", kind, program->number, length);
		send(bytes, length);
	}
}

static void feed(struct program *program)
{
	char bytes[4096];
	ssize_t length = pread(program->feed, bytes, sizeof bytes, lseek(program->feed, 0, SEEK_CUR));
	ssize_t taken = length > 0 ? write(program->to, bytes, length) : 0;
	if (taken > 0)
		lseek(program->feed, taken, SEEK_CUR);
	else if (length <= 0 || errno != EAGAIN)
		shut(&program->to);
}

static void reap(struct program *program, int late)
{
	int status;
	if (late)
		kill(program->process, SIGKILL);
	while (waitpid(program->process, &status, 0) < 0)
		if (errno != EINTR)
			fail("waitpid");
	relay(program, &program->out, 'O');
	relay(program, &program->err, 'E');
	if (late)
		tell("X %d late 0\n", program->number);
	else if (WIFEXITED(status))
		tell("X %d exited %d\n", program->number, WEXITSTATUS(status));
	else
		tell("X %d killed %d\n", program->number, WTERMSIG(status));
	shut(&program->handle), shut(&program->feed), shut(&program->to);
	shut(&program->out), shut(&program->err);
}

/* Waits until something happens to one of the programs, and sees to it; returns how many are still running. */
static int attend(struct program *programs, int count, long long deadline)
{
	struct pollfd waits[4 * MOST_TOGETHER];
	int running = 0;
	long long left = deadline - now_ms();
	for (int i = 0; i < count; i++) {
		struct program *program = &programs[i];
		waits[4 * i] = (struct pollfd){ program->handle, POLLIN, 0 };
		waits[4 * i + 1] = (struct pollfd){ program->out, POLLIN, 0 };
		waits[4 * i + 2] = (struct pollfd){ program->err, POLLIN, 0 };
		waits[4 * i + 3] = (struct pollfd){ program->to, POLLOUT, 0 };
	}
	if (left > 0 && poll(waits, 4 * count, left) < 0 && errno != EINTR)
		fail("poll");
	for (int i = 0; i < count; i++) {
		struct program *program = &programs[i];
		if (program->handle < 0)
			continue;
		if (waits[4 * i + 1].revents)
			relay(program, &program->out, 'O');
		if (waits[4 * i + 2].revents)
			relay(program, &program->err, 'E');
		if (waits[4 * i + 3].revents)
			feed(program);
		if (waits[4 * i].revents || left <= 0)
			reap(program, !waits[4 * i].revents);
		running += program->handle >= 0;
	}
	return running;
}

static void run_group(int first)
{
	struct program programs[MOST_TOGETHER];
	int count = atoi(next_string());
	long long limit = atoll(next_string());
	if (count < 1 || count > MOST_TOGETHER) {
		errno = E2BIG;
		fail("a group");
	}
	for (int i = 0; i < count; i++) {
		programs[i] = (struct program){ .number = first + i };
		programs[i].path = next_string();
		programs[i].input = next_string();
		programs[i].arguments = next_list();
		programs[i].environment = next_list();
	}
	if (mount("tmp", "/tmp", "tmpfs", 0, "mode=1777"))
		fail("/tmp");
	for (int i = 0; i < count; i++) {
		int why = start(&programs[i]);
		if (why) {
			waitpid(programs[i].process, NULL, 0);
			shut(&programs[i].handle);
			tell("X %d unstarted %d\n", programs[i].number, why);
		}
	}
	long long deadline = now_ms() + limit;
	while (attend(programs, count, deadline) > 0)
		;
	kill(-1, SIGKILL);
	while (wait(NULL) > 0)
		;
	if (umount2("/tmp", MNT_DETACH))
		fail("/tmp");
	for (int i = 0; i < count; i++) {
		free(programs[i].arguments);
		free(programs[i].environment);
	}
}

int main(void)
{
	mkdir("/dev", 0755), mkdir("/proc", 0755), mkdir("/sys", 0755), mkdir("/tmp", 01777);
	if (mount("dev", "/dev", "devtmpfs", 0, NULL) || mount("proc", "/proc", "proc", 0, NULL) ||
	    mount("sys", "/sys", "sysfs", 0, NULL))
		fail("mount");
	if ((mkdir("/dev/pts", 0755) && errno != EEXIST) ||
	    mount("pts", "/dev/pts", "devpts", 0, "mode=620,ptmxmode=666"))
		fail("/dev/pts");
	/* As udev makes them. */
	if (symlink("/proc/self/fd", "/dev/fd") || symlink("fd/0", "/dev/stdin") || symlink("fd/1", "/dev/stdout") ||
	    symlink("fd/2", "/dev/stderr"))
		fail("/dev/fd");
	signal(SIGPIPE, SIG_IGN);
	frames = open_line("/dev/ttyS1");
	int control = open_line("/dev/ttyS3");
	set_clock();
	read_plan();
	for (int first = 0; plan < plan_end;) {
		int count = atoi(plan);
		run_group(first);
		first += count;
	}
	tcdrain(frames);
	(void)!write(control, "exit code=0\n", 12);
	tcdrain(control);
	reboot(RB_POWER_OFF);
}
