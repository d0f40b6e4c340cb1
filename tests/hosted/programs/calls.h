/* The system calls, with arguments that work: what `pinned` and `bad-pointers` are generated from.
 *
 * A row: name, number, step of the project that brings it, arguments. A pointer says how the kernel uses it and how
 * many bytes there; the object it points to is made anew for each call. */
#pragma once
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "futex.h"

/* Newer than the C library's list for LoongArch. */
#ifndef SYS_newfstatat
#define SYS_newfstatat 79
#define SYS_fstat 80
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

/* READS_LIMIT is a time limit without which the call waits for ever. */
enum use { VALUE, READS, READS_LIMIT, WRITES, BOTH };

struct argument {
	enum use use;
	/* The value itself, or how many bytes the kernel reads or writes. */
	long value;
	/* What stands there before; zeros if nothing is given. */
	const void *content;
};

struct call {
	const char *name;
	long number;
	const char *step;
	struct argument arguments[6];
};

/* Some files and pipes, and both sides of a terminal, opened by `open_files` where the program has such calls. */
enum { SOME_FILE = 1000, SOME_FOLDER, PIPE_IN, PIPE_OUT, TERMINAL, TERMINAL_MASTER };

/* Objects that calls read. */
static char some_text[64] = "0123456789abcdef\n";
static const struct timespec no_time, short_time = { 0, 1000 };
static const struct timeval no_timeval[2] = { { 1, 2 }, { 3, 4 } };
static struct iovec some_pieces[2] = { { some_text, 0 }, { some_text, 0 } };
static const uint32_t some_word = 5;
/* SCHED_OTHER has the priority 0. */
static const int some_policy[] = { 0 };
static const uint64_t some_mask = 1, output_set = 1 << 1;
static const struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	uint64_t mask;
} some_action = { SIG_DFL, 0, 0 };
static const stack_t no_stack = { NULL, SS_DISABLE, 0 };
static const struct rlimit64_ { uint64_t now, most; } some_limit = { 1 << 20, ~0ul };
static const struct pollfd some_poll = { 1, POLLOUT, 0 };
static const struct itimerval no_timer;
static const int64_t some_offset, later_offset = 50;
static const struct { uint32_t version; int process; } some_capabilities = { 0x20080522, 0 };
static const uint32_t all_capabilities[6] = { ~0u, ~0u, 0, 0x1ff, 0x1ff, 0 };
static const struct flock some_lock = { .l_type = F_WRLCK };
static const int some_group;
/* As the kernel has it: flags, line discipline, control characters, speeds. */
static const struct {
	uint32_t flags[4];
	unsigned char line, characters[19];
	uint32_t speeds[2];
} some_modes = { { 0, 0, 0xbf, 0 }, 0, { 3 }, { 38400, 38400 } };
static const struct winsize some_size = { 24, 80, 0, 0 };

#define V(number) { VALUE, number, 0 }
#define R(object) { READS, sizeof(object), &(object) }
#define LIMIT(object) { READS_LIMIT, sizeof(object), &(object) }
#define TEXT(text) { READS, sizeof(text), text }
#define W(type) { WRITES, sizeof(type), 0 }
#define B(object) { BOTH, sizeof(object), &(object) }

static const struct call calls[] = {
	{ "getpid", SYS_getpid, "A2", { { 0 } } },
	{ "gettid", SYS_gettid, "A2", { { 0 } } },
	{ "getppid", SYS_getppid, "A2", { { 0 } } },
	{ "getuid", SYS_getuid, "A2", { { 0 } } },
	{ "geteuid", SYS_geteuid, "A2", { { 0 } } },
	{ "getgid", SYS_getgid, "A2", { { 0 } } },
	{ "getegid", SYS_getegid, "A2", { { 0 } } },
	{ "sched_yield", SYS_sched_yield, "A2", { { 0 } } },
	{ "brk", SYS_brk, "A2", { V(0) } },
	{ "mmap", SYS_mmap, "A2", { V(0), V(16384), V(3), V(0x22), V(-1), V(0) } },
	{ "munmap", SYS_munmap, "A2", { V(1l << 46), V(16384) } },
	{ "mprotect", SYS_mprotect, "A2", { V(1l << 46), V(16384), V(1) } },
	{ "madvise", SYS_madvise, "A2", { V(1l << 46), V(16384), V(4) } },
	{ "unknown", 4095, "A2", { V(1), V(2), V(3), V(4), V(5), V(6) } },
	{ "write", SYS_write, "A2", { V(1), R(some_text), V(17) } },
	{ "writev", SYS_writev, "A2", { V(1), R(some_pieces), V(2) } },
	{ "read", SYS_read, "A2", { V(0), { WRITES, 64, 0 }, V(64) } },
	{ "readv", SYS_readv, "A2", { V(0), R(some_pieces), V(2) } },
	{ "uname", SYS_uname, "A2", { W(struct utsname) } },
	{ "clock_gettime", SYS_clock_gettime, "A2", { V(CLOCK_MONOTONIC), W(struct timespec) } },
	{ "clock_getres", SYS_clock_getres, "A2", { V(CLOCK_MONOTONIC), W(struct timespec) } },
	{ "gettimeofday", SYS_gettimeofday, "A2", { W(struct timeval), W(struct timezone) } },
	{ "nanosleep", SYS_nanosleep, "A2", { R(short_time), W(struct timespec) } },
	{ "clock_nanosleep", SYS_clock_nanosleep, "A2", { V(CLOCK_MONOTONIC), V(0), R(short_time), W(struct timespec) } },
	{ "getrandom", SYS_getrandom, "A2", { { WRITES, 64, 0 }, V(64), V(0) } },
	{ "futex_wake", SYS_futex, "A2", { B(some_word), V(FUTEX_WAKE_PRIVATE), V(1) } },
	{ "futex_wake_shared", SYS_futex, "A2", { B(some_word), V(FUTEX_WAKE), V(1) } },
	{ "futex_wait", SYS_futex, "A2", { B(some_word), V(FUTEX_WAIT_PRIVATE), V(5), LIMIT(short_time) } },
	{ "futex_wait_other", SYS_futex, "A2", { B(some_word), V(FUTEX_WAIT_PRIVATE), V(6), R(short_time) } },
	{ "futex_requeue", SYS_futex, "A2", { B(some_word), V(FUTEX_CMP_REQUEUE_PRIVATE), V(1), V(1), B(some_word), V(5) } },
	{ "set_tid_address", SYS_set_tid_address, "A2", { V(0) } },
	{ "set_robust_list", SYS_set_robust_list, "A2", { V(0), V(24) } },
	{ "get_robust_list", SYS_get_robust_list, "A2", { V(0), W(uint64_t), W(uint64_t) } },
	{ "mremap", SYS_mremap, "A2", { V(1l << 46), V(16384), V(16384), V(0), V(0) } },
	{ "msync", SYS_msync, "A2", { V(1l << 46), V(16384), V(4) } },
	{ "membarrier", SYS_membarrier, "A2", { V(0), V(0), V(0) } },
	{ "rt_sigprocmask", SYS_rt_sigprocmask, "A2", { V(SIG_BLOCK), R(some_mask), W(uint64_t), V(8) } },
	{ "rt_sigaction", SYS_rt_sigaction, "A2", { V(SIGUSR1), R(some_action), W(struct kernel_action), V(8) } },
	{ "prlimit64", SYS_prlimit64, "A2", { V(0), V(RLIMIT_MEMLOCK), R(some_limit), W(struct rlimit64_) } },
	{ "getcpu", SYS_getcpu, "A2", { W(uint32_t), W(uint32_t), V(0) } },
	{ "sched_getaffinity", SYS_sched_getaffinity, "A2", { V(0), V(8), W(uint64_t) } },
	{ "kill_none", SYS_kill, "A3", { V(0), V(0) } },
	{ "umask", SYS_umask, "A2", { V(022) } },
	{ "sigaltstack", SYS_sigaltstack, "A4", { R(no_stack), W(stack_t) } },
	{ "rt_sigpending", SYS_rt_sigpending, "A4", { W(uint64_t), V(8) } },
	{ "rt_sigtimedwait", SYS_rt_sigtimedwait, "A4", { R(some_mask), W(siginfo_t), LIMIT(no_time), V(8) } },
	{ "rt_sigqueueinfo", SYS_rt_sigqueueinfo, "A4", { V(0), V(0), { READS, sizeof(siginfo_t), 0 } } },
	{ "setitimer", SYS_setitimer, "A4", { V(ITIMER_REAL), R(no_timer), W(struct itimerval) } },
	{ "getitimer", SYS_getitimer, "A4", { V(ITIMER_REAL), W(struct itimerval) } },
	{ "sysinfo", SYS_sysinfo, "A2", { { WRITES, 112, 0 } } },
	{ "times", SYS_times, "A2", { W(struct tms) } },
	{ "getrusage", SYS_getrusage, "A2", { V(RUSAGE_SELF), W(struct rusage) } },
	{ "prctl_set_name", SYS_prctl, "A2", { V(PR_SET_NAME), TEXT("a name") } },
	{ "prctl_get_name", SYS_prctl, "A2", { V(PR_GET_NAME), { WRITES, 16, 0 } } },
	{ "getresuid", SYS_getresuid, "A2", { W(uint32_t), W(uint32_t), W(uint32_t) } },
	{ "getresgid", SYS_getresgid, "A2", { W(uint32_t), W(uint32_t), W(uint32_t) } },
	{ "getgroups", SYS_getgroups, "A2", { V(0), W(uint32_t) } },
	{ "openat", SYS_openat, "A3", { V(AT_FDCWD), TEXT("/no/such/file"), V(O_RDONLY) } },
	{ "close", SYS_close, "A3", { V(99) } },
	{ "dup", SYS_dup, "A3", { V(99) } },
	{ "dup3", SYS_dup3, "A3", { V(1), V(50), V(0) } },
	{ "fcntl", SYS_fcntl, "A3", { V(1), V(F_GETFD) } },
	{ "ioctl", SYS_ioctl, "A3", { V(SOME_FILE), V(0x5413), W(uint64_t) } },
	{ "lseek", SYS_lseek, "A3", { V(SOME_FILE), V(0), V(0) } },
	{ "pread64", SYS_pread64, "A3", { V(SOME_FILE), { WRITES, 64, 0 }, V(64), V(0) } },
	{ "pwrite64", SYS_pwrite64, "A3", { V(SOME_FILE), R(some_text), V(64), V(0) } },
	{ "preadv", SYS_preadv, "A3", { V(SOME_FILE), R(some_pieces), V(2), V(0) } },
	{ "pwritev", SYS_pwritev, "A3", { V(SOME_FILE), R(some_pieces), V(2), V(0) } },
	{ "read_pipe", SYS_read, "A3", { V(PIPE_IN), { WRITES, 16, 0 }, V(16) } },
	{ "write_pipe", SYS_write, "A3", { V(PIPE_OUT), R(some_text), V(64) } },
	{ "sendfile", SYS_sendfile, "A3", { V(PIPE_OUT), V(SOME_FILE), B(some_offset), V(8) } },
	{ "ftruncate", SYS_ftruncate, "A3", { V(SOME_FILE), V(4096) } },
	{ "fsync", SYS_fsync, "A3", { V(SOME_FILE) } },
	{ "fstat", SYS_fstat, "A3", { V(SOME_FILE), W(struct stat) } },
	{ "newfstatat", SYS_newfstatat, "A3", { V(AT_FDCWD), TEXT("/tmp"), W(struct stat), V(0) } },
	{ "statx", SYS_statx, "A3", { V(AT_FDCWD), TEXT("/tmp"), V(0), V(0xfff), { WRITES, 256, 0 } } },
	{ "statfs", SYS_statfs, "A3", { TEXT("/tmp"), W(struct statfs) } },
	{ "fstatfs", SYS_fstatfs, "A3", { V(SOME_FILE), W(struct statfs) } },
	{ "getdents64", SYS_getdents64, "A3", { V(SOME_FOLDER), { WRITES, 1024, 0 }, V(1024) } },
	{ "getcwd", SYS_getcwd, "A3", { { WRITES, 64, 0 }, V(64) } },
	{ "chdir", SYS_chdir, "A3", { TEXT("/") } },
	{ "faccessat", SYS_faccessat, "A3", { V(AT_FDCWD), TEXT("/tmp"), V(0) } },
	{ "faccessat2", SYS_faccessat2, "A3", { V(AT_FDCWD), TEXT("/tmp"), V(0), V(0) } },
	{ "readlinkat", SYS_readlinkat, "A3", { V(AT_FDCWD), TEXT("/tmp/link"), { WRITES, 8, 0 }, V(8) } },
	{ "mkdirat", SYS_mkdirat, "A3", { V(AT_FDCWD), TEXT("/tmp/file"), V(0755) } },
	{ "unlinkat", SYS_unlinkat, "A3", { V(AT_FDCWD), TEXT("/tmp/none"), V(0) } },
	{ "symlinkat", SYS_symlinkat, "A3", { TEXT("to"), V(AT_FDCWD), TEXT("/tmp/file") } },
	{ "linkat", SYS_linkat, "A3", { V(AT_FDCWD), TEXT("/tmp/file"), V(AT_FDCWD), TEXT("/tmp/link"), V(0) } },
	{ "renameat2", SYS_renameat2, "A3", { V(AT_FDCWD), TEXT("/tmp/none"), V(AT_FDCWD), TEXT("/tmp/other"), V(0) } },
	{ "fchmodat", SYS_fchmodat, "A3", { V(AT_FDCWD), TEXT("/tmp/file"), V(0644) } },
	{ "fchownat", SYS_fchownat, "A3", { V(AT_FDCWD), TEXT("/tmp/file"), V(0), V(0), V(0) } },
	{ "utimensat", SYS_utimensat, "A3", { V(AT_FDCWD), TEXT("/tmp/file"), R(no_timeval), V(0) } },
	{ "truncate", SYS_truncate, "A3", { TEXT("/tmp/file"), V(4096) } },
	{ "mknodat", SYS_mknodat, "A3", { V(AT_FDCWD), TEXT("/tmp/file"), V(S_IFIFO | 0600), V(0) } },
	{ "pipe2", SYS_pipe2, "A3", { { WRITES, 8, 0 }, V(0) } },
	{ "ppoll", SYS_ppoll, "A3", { B(some_poll), V(1), R(no_time), R(some_mask), V(8) } },
	{ "pselect6", SYS_pselect6, "A3", { V(2), V(0), B(output_set), V(0), R(no_time), V(0) } },
	{ "wait4", SYS_wait4, "A3", { V(-1), W(int), V(WNOHANG), W(struct rusage) } },
	{ "waitid", SYS_waitid, "A3", { V(P_ALL), V(0), W(siginfo_t), V(WNOHANG | WEXITED), W(struct rusage) } },
	{ "fchdir", SYS_fchdir, "A3", { V(SOME_FOLDER) } },
	{ "fchmod", SYS_fchmod, "A3", { V(SOME_FILE), V(0644) } },
	{ "fchown", SYS_fchown, "A3", { V(SOME_FILE), V(0), V(0) } },
	{ "fdatasync", SYS_fdatasync, "A3", { V(SOME_FILE) } },
	{ "sync", SYS_sync, "A3", { { 0 } } },
	{ "syncfs", SYS_syncfs, "A3", { V(SOME_FILE) } },
	{ "fallocate", SYS_fallocate, "A3", { V(SOME_FILE), V(0), V(0), V(4096) } },
	{ "flock", SYS_flock, "A3", { V(SOME_FILE), V(1) } },
	{ "fcntl_getlk", SYS_fcntl, "A3", { V(SOME_FILE), V(F_GETLK), B(some_lock) } },
	{ "fadvise64", SYS_fadvise64, "A3", { V(SOME_FILE), V(0), V(0), V(0) } },
	{ "close_range", SYS_close_range, "A3", { V(200), V(210), V(0) } },
	{ "signalfd4", SYS_signalfd4, "A4", { V(-1), R(some_mask), V(8), V(0) } },
	{ "eventfd2", SYS_eventfd2, "A3", { V(0), V(0) } },
	{ "copy_file_range", SYS_copy_file_range, "A3", { V(SOME_FILE), B(some_offset), V(SOME_FILE), B(later_offset), V(8), V(0) } },
	{ "fchmodat2", SYS_fchmodat2, "A3", { V(AT_FDCWD), TEXT("/tmp/file"), V(0644), V(0) } },
	{ "capget", SYS_capget, "A3", { B(some_capabilities), { WRITES, 24, 0 } } },
	{ "capset", SYS_capset, "A3", { B(some_capabilities), R(all_capabilities) } },
	{ "personality", SYS_personality, "A3", { V(0xffffffff) } },
	{ "setregid", SYS_setregid, "A3", { V(-1), V(0) } },
	{ "setgid", SYS_setgid, "A3", { V(0) } },
	{ "setreuid", SYS_setreuid, "A3", { V(-1), V(0) } },
	{ "setuid", SYS_setuid, "A3", { V(0) } },
	{ "setresuid", SYS_setresuid, "A3", { V(-1), V(0), V(-1) } },
	{ "setresgid", SYS_setresgid, "A3", { V(-1), V(0), V(-1) } },
	{ "setfsuid", SYS_setfsuid, "A3", { V(0) } },
	{ "setfsgid", SYS_setfsgid, "A3", { V(0) } },
	{ "setpgid", SYS_setpgid, "A3", { V(0), V(0) } },
	{ "getpgid", SYS_getpgid, "A3", { V(0) } },
	{ "getsid", SYS_getsid, "A3", { V(0) } },
	{ "setsid", SYS_setsid, "A3", { { 0 } } },
	{ "setgroups", SYS_setgroups, "A3", { V(1), R(some_group) } },
	{ "getpriority", SYS_getpriority, "A3", { V(0), V(0) } },
	{ "setpriority", SYS_setpriority, "A3", { V(0), V(0), V(0) } },
	{ "sched_setaffinity", SYS_sched_setaffinity, "A3", { V(0), V(8), R(some_mask) } },
	{ "sched_getscheduler", SYS_sched_getscheduler, "A3", { V(0) } },
	{ "sched_setscheduler", SYS_sched_setscheduler, "A3", { V(0), V(0), R(some_policy) } },
	{ "sched_setparam", SYS_sched_setparam, "A3", { V(0), R(some_policy) } },
	{ "sched_getparam", SYS_sched_getparam, "A3", { V(0), W(int) } },
	{ "sched_get_priority_max", SYS_sched_get_priority_max, "A3", { V(0) } },
	{ "sched_get_priority_min", SYS_sched_get_priority_min, "A3", { V(0) } },
	{ "sched_rr_get_interval", SYS_sched_rr_get_interval, "A3", { V(0), W(struct timespec) } },
	{ "readahead", SYS_readahead, "A3", { V(SOME_FILE), V(0), V(16) } },
	{ "tkill", SYS_tkill, "A4", { V(0x3ffffff), V(0) } },
	{ "tgkill", SYS_tgkill, "A4", { V(1), V(0x3ffffff), V(0) } },
	{ "rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo, "A4", { V(1), V(0x3ffffff), V(0), { READS, sizeof(siginfo_t), 0 } } },
	{ "restart_syscall", SYS_restart_syscall, "A4", { { 0 } } },
	{ "tcgets", SYS_ioctl, "A4", { V(TERMINAL), V(0x5401), { WRITES, 36, 0 } } },
	{ "tcsets", SYS_ioctl, "A4", { V(TERMINAL), V(0x5402), R(some_modes) } },
	{ "tcsetsw", SYS_ioctl, "A4", { V(TERMINAL), V(0x5403), R(some_modes) } },
	{ "tcgets2", SYS_ioctl, "A4", { V(TERMINAL), V(0x802c542a), { WRITES, 44, 0 } } },
	{ "tcsets2", SYS_ioctl, "A4", { V(TERMINAL), V(0x402c542b), R(some_modes) } },
	{ "tiocgwinsz", SYS_ioctl, "A4", { V(TERMINAL), V(0x5413), W(struct winsize) } },
	{ "tiocswinsz", SYS_ioctl, "A4", { V(TERMINAL), V(0x5414), R(some_size) } },
	{ "tiocgpgrp", SYS_ioctl, "A4", { V(TERMINAL_MASTER), V(0x540f), W(int) } },
	{ "fionread", SYS_ioctl, "A4", { V(TERMINAL), V(0x541b), W(int) } },
	{ "tiocoutq", SYS_ioctl, "A4", { V(TERMINAL), V(0x5411), W(int) } },
	{ "tiocgptn", SYS_ioctl, "A4", { V(TERMINAL_MASTER), V(0x80045430), W(int) } },
	{ "tiocsptlck", SYS_ioctl, "A4", { V(TERMINAL_MASTER), V(0x40045431), R(some_word) } },
	{ "read_terminal", SYS_read, "A4", { V(TERMINAL), { WRITES, 16, 0 }, V(16) } },
	{ "write_terminal", SYS_write, "A4", { V(TERMINAL), R(some_text), V(16) } },
	{ "execve", SYS_execve, "A3", { TEXT("/no/such/file"), V(0), V(0) } },
};

enum { CALLS = sizeof calls / sizeof *calls };

static int opened[6] = { -1, -1, -1, -1, -1, -1 };

/* Opens what the arguments SOME_FILE and so on stand for, and makes the files that paths name. */
static inline void open_files(void)
{
	opened[SOME_FILE - SOME_FILE] = open("/tmp/file", O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (opened[0] < 0)
		return;
	(void)!ftruncate(opened[0], 100);
	(void)!symlink("where", "/tmp/link");
	(void)!mkdir("/tmp/folder", 0755);
	opened[SOME_FOLDER - SOME_FILE] = open("/tmp/folder", O_RDONLY | O_DIRECTORY);
	(void)!pipe2(opened + 2, O_NONBLOCK);
	(void)!write(opened[3], some_text, sizeof some_text);
	(void)!write(opened[3], some_text, sizeof some_text);
	/* Where there is no terminal yet, its calls are not tried either. */
	int number, unlocked = 0;
	opened[5] = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK);
	if (ioctl(opened[5], TIOCGPTN, &number) || ioctl(opened[5], TIOCSPTLCK, &unlocked))
		return;
	char path[32];
	snprintf(path, sizeof path, "/dev/pts/%d", number);
	opened[4] = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK);
	for (int line = 0; line < 100; line++)
		(void)!write(opened[5], "a line\n", 7);
}

static inline long value_of(const struct argument *argument)
{
	int is_file = argument->use == VALUE && argument->value >= SOME_FILE && argument->value <= TERMINAL_MASTER;
	return is_file ? opened[argument->value - SOME_FILE] : argument->value;
}
