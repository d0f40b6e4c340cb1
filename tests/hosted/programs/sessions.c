/* Sessions, controlling terminals and foreground groups, in a pseudo-terminal of the program's own.
 *
 * sessions WHAT: a child leads a session on the terminal, and tells through its exit status; the parent is the keyboard */
#include "terminal.h"

static int told[2], go[2];
static int status;

static void note(int signal) { byte_to(told[1], signal); }

/* Becomes a session's leader, with the terminal as its own. */
static void lead(void)
{
	EXPECT(getpid(), setsid());
	open_terminal(0);
}

static void wait_for_ever(void)
{
	byte_to(told[1], 'r');
	for (;;)
		pause();
}

/* A child in a group of its own, in the foreground or not. */
static pid_t start_group(void (*body)(void), int foreground)
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		differences = 0;
		setpgid(0, 0);
		byte_from(go[0]);
		body();
		fflush(stdout);
		_exit(differences ? 99 : 0);
	}
	setpgid(child, child);
	if (foreground)
		EXPECT(0, tcsetpgrp(terminal, child));
	byte_to(go[1], 'g');
	return child;
}

static void is_stopped(pid_t child, int signal)
{
	EXPECT(child, waitpid(child, &status, WUNTRACED));
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == signal, "status %#x, not a stop by %d", status, signal);
}

static void run_leader(void (*body)(void))
{
	open_master();
	EXPECT(0, end_of(child_that(body)));
}

static void own_terminal(void)
{
	int session = -1, group = -1;
	FAILS(ENXIO, open("/dev/tty", O_RDWR));
	EXPECT(getpid(), setsid());
	FAILS(EPERM, setsid());
	FAILS(ENXIO, open("/dev/tty", O_RDWR));
	open_terminal(O_NOCTTY);
	FAILS(ENXIO, open("/dev/tty", O_RDWR));
	FAILS(ENOTTY, ioctl(terminal, TIOCGPGRP, &group));
	FAILS(ENOTTY, ioctl(terminal, TIOCGSID, &session));
	EXPECT(0, ioctl(terminal, TIOCSCTTY, 0));
	EXPECT(0, ioctl(terminal, TIOCSCTTY, 0));
	int own = open("/dev/tty", O_RDWR);
	CHECK(own >= 0, "/dev/tty: %s", strerror(errno));
	EXPECT(0, ioctl(own, TIOCGSID, &session));
	EXPECT(getpid(), session);
	EXPECT(0, ioctl(own, TIOCGPGRP, &group));
	EXPECT(getpid(), group);
	EXPECT(0, ioctl(master, TIOCGPGRP, &group));
	EXPECT(getpid(), group);
	EXPECT(3, write(own, "own", 3));
	show_screen();
	/* It has one already. */
	int second = open("/dev/ptmx", O_RDWR | O_NOCTTY), unlocked = 0, number;
	EXPECT(0, ioctl(second, TIOCSPTLCK, &unlocked));
	EXPECT(0, ioctl(second, TIOCGPTN, &number));
	char path[32];
	snprintf(path, sizeof path, "/dev/pts/%d", number);
	int other = open(path, O_RDWR);
	FAILS(EPERM, ioctl(other, TIOCSCTTY, 0));
	FAILS(ENOTTY, ioctl(other, TIOCGPGRP, &group));
	/* Given up. */
	handle(SIGHUP, note, 0, 0);
	handle(SIGCONT, note, 0, 0);
	EXPECT(0, ioctl(own, TIOCNOTTY, 0));
	FAILS(ENXIO, open("/dev/tty", O_RDWR));
	int one = byte_from(told[0]), two = byte_from(told[0]);
	printf("signals %d %d\n", one, two);
	FAILS(ENOTTY, ioctl(terminal, TIOCGPGRP, &group));
}

static void owning(void) { run_leader(own_terminal); }

static void try_to_take(void)
{
	lead();
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		/* Not a leader. */
		FAILS(EPERM, ioctl(terminal, TIOCSCTTY, 0));
		EXPECT(0, setsid() < 0);
		FAILS(EPERM, ioctl(terminal, TIOCSCTTY, 0));
		/* Stolen by one who may. */
		EXPECT(0, ioctl(terminal, TIOCSCTTY, 1));
		_exit(differences ? 99 : 0);
	}
	EXPECT(0, end_of(child));
	int session;
	FAILS(ENOTTY, ioctl(terminal, TIOCGSID, &session));
}

static void taking(void) { run_leader(try_to_take); }

static void take_foreground(void)
{
	handle(SIGTTOU, note, 0, 0);
	FAILS(EINTR, tcsetpgrp(terminal, getpid()));
	EXPECT(SIGTTOU, byte_from(told[0]));
	change_mask(SIG_BLOCK, SET(SIGTTOU));
	EXPECT(0, tcsetpgrp(terminal, getpid()));
	EXPECT(getpid(), tcgetpgrp(terminal));
}

static void set_groups(void)
{
	lead();
	int group = getpid();
	FAILS(EINVAL, tcsetpgrp(terminal, -1));
	FAILS(ESRCH, tcsetpgrp(terminal, 0x3ffffff));
	FAILS(EPERM, tcsetpgrp(terminal, getppid()));
	FAILS(EFAULT, ioctl(terminal, TIOCSPGRP, 8));
	pid_t child = start_group(wait_for_ever, 1);
	EXPECT('r', byte_from(told[0]));
	EXPECT(child, tcgetpgrp(terminal));
	/* Now this one is in the background, and in a group that nobody could bring back: it is told so. */
	FAILS(ENOTTY, tcsetpgrp(terminal, group));
	handle(SIGTTOU, IGNORED, 0, 0);
	EXPECT(0, tcsetpgrp(terminal, group));
	EXPECT(group, tcgetpgrp(terminal));
	/* Another group is signalled. */
	EXPECT(0, end_of(start_group(take_foreground, 0)));
	FAILS(EPERM, setpgid(0, 0));
	FAILS(ESRCH, setpgid(getppid(), 0));
	FAILS(EINVAL, setpgid(child, -1));
	FAILS(EPERM, setpgid(child, 0x3ffffff));
	EXPECT(0, setpgid(child, group));
	EXPECT(0, kill(child, SIGKILL));
	EXPECT(1000 + SIGKILL, end_of(child));
}

static void setting_groups(void) { run_leader(set_groups); }

/* The keys, each at a foreground group of two; the leader is not concerned. */
static void press_keys(void)
{
	lead();
	struct { const char *key; int signal; int stops; } keys[] = {
		{ "\003", SIGINT, 0 }, { "\034", SIGQUIT, 0 }, { "\032", SIGTSTP, 1 },
	};
	for (int i = 0; i < 3; i++) {
		pid_t child = start_group(wait_for_ever, 1);
		EXPECT('r', byte_from(told[0]));
		TYPE("lost");
		type_bytes(keys[i].key, 1);
		if (keys[i].stops) {
			is_stopped(child, keys[i].signal);
			EXPECT(0, kill(child, SIGCONT));
			EXPECT(0, kill(child, SIGKILL));
			EXPECT(1000 + SIGKILL, end_of(child));
		} else {
			EXPECT(1000 + keys[i].signal, end_of(child));
		}
		handle(SIGTTOU, IGNORED, 0, 0);
		EXPECT(0, tcsetpgrp(terminal, getpid()));
		handle(SIGTTOU, NO_HANDLER, 0, 0);
		/* What was typed before is gone. */
		TYPE("line\n");
		read_once(100);
	}
	/* Without ISIG they are bytes; with NOFLSH what was typed stays. */
	struct modes modes = modes_now(), kept = modes;
	modes.local &= ~ISIG;
	set_modes(&modes);
	TYPE("a\003\034\032\n");
	read_once(100);
	modes = kept;
	modes.local |= NOFLSH;
	set_modes(&modes);
	handle(SIGINT, note, 0, 0);
	TYPE("kept\003 too\n");
	EXPECT(SIGINT, byte_from(told[0]));
	wait_until_readable();
	read_once(100);
	/* Other keys. */
	modes.characters[VINTR] = 'x';
	modes.characters[VQUIT] = 0;
	set_modes(&modes);
	TYPE("a\034\003x\n");
	EXPECT(SIGINT, byte_from(told[0]));
	wait_until_readable();
	read_once(100);
}

static void keys(void) { run_leader(press_keys); }

static void read_terminal(void)
{
	char byte;
	byte_to(told[1], 'r');
	EXPECT(1, read(terminal, &byte, 1));
	EXPECT('x', byte);
}

static void read_ignoring(void)
{
	char byte;
	handle(SIGTTIN, IGNORED, 0, 0);
	FAILS(EIO, read(terminal, &byte, 1));
	handle(SIGTTIN, NO_HANDLER, 0, 0);
	change_mask(SIG_BLOCK, SET(SIGTTIN));
	FAILS(EIO, read(terminal, &byte, 1));
	change_mask(SIG_UNBLOCK, SET(SIGTTIN));
	handle(SIGTTIN, note, 0, 0);
	FAILS(EINTR, read(terminal, &byte, 1));
	EXPECT(SIGTTIN, byte_from(told[0]));
}

static void read_in_background(void)
{
	lead();
	pid_t child = start_group(read_terminal, 0);
	EXPECT('r', byte_from(told[0]));
	is_stopped(child, SIGTTIN);
	/* It tries again in the foreground. */
	EXPECT(0, tcsetpgrp(terminal, child));
	TYPE("x\n");
	EXPECT(0, kill(-child, SIGCONT));
	EXPECT(0, end_of(child));
	handle(SIGTTOU, IGNORED, 0, 0);
	EXPECT(0, tcsetpgrp(terminal, getpid()));
	EXPECT(0, end_of(start_group(read_ignoring, 0)));
}

static void background_read(void) { run_leader(read_in_background); }

static void write_terminal(void) { EXPECT(5, write(terminal, "wrote", 5)); }

static void write_ignoring(void)
{
	handle(SIGTTOU, IGNORED, 0, 0);
	write_terminal();
	handle(SIGTTOU, NO_HANDLER, 0, 0);
	change_mask(SIG_BLOCK, SET(SIGTTOU));
	write_terminal();
}

static void change_modes(void)
{
	struct modes modes = modes_now();
	set_modes(&modes);
	EXPECT(0, ioctl(terminal, TCFLSH, TCIFLUSH));
}

static void set_size(void)
{
	struct winsize size = { 1, 2, 3, 4 };
	EXPECT(0, ioctl(terminal, TIOCSWINSZ, &size));
	EXPECT(0, ioctl(terminal, TIOCGWINSZ, &size));
}

static void stops_and_goes_on(void (*body)(void))
{
	pid_t child = start_group(body, 0);
	is_stopped(child, SIGTTOU);
	EXPECT(0, tcsetpgrp(terminal, child));
	EXPECT(0, kill(-child, SIGCONT));
	EXPECT(0, end_of(child));
	handle(SIGTTOU, IGNORED, 0, 0);
	EXPECT(0, tcsetpgrp(terminal, getpid()));
	handle(SIGTTOU, NO_HANDLER, 0, 0);
}

static void write_in_background(void)
{
	lead();
	EXPECT(0, end_of(start_group(write_terminal, 0)));
	struct modes modes = modes_now();
	modes.local |= TOSTOP;
	set_modes(&modes);
	stops_and_goes_on(write_terminal);
	EXPECT(0, end_of(start_group(write_ignoring, 0)));
	stops_and_goes_on(change_modes);
	EXPECT(0, end_of(start_group(set_size, 0)));
	show_screen();
}

static void background_write(void) { run_leader(write_in_background); }

static void resize(void)
{
	lead();
	struct winsize size = { 30, 90, 0, 0 };
	handle(SIGWINCH, note, 0, 0);
	EXPECT(0, ioctl(master, TIOCSWINSZ, &size));
	EXPECT(SIGWINCH, byte_from(told[0]));
	/* The same size again says nothing. */
	EXPECT(0, ioctl(master, TIOCSWINSZ, &size));
	size.ws_col = 91;
	EXPECT(0, ioctl(terminal, TIOCSWINSZ, &size));
	EXPECT(SIGWINCH, byte_from(told[0]));
	EXPECT(0, pending_now());
}

static void sizes(void) { run_leader(resize); }

static void be_hung_up(void)
{
	uint64_t but_continue = SET(SIGCONT);
	handle(SIGHUP, note, 0, 0);
	change_mask(SIG_BLOCK, SET(SIGHUP) | SET(SIGCONT));
	byte_to(told[1], 'r');
	FAILS(EINTR, syscall(SYS_rt_sigsuspend, &but_continue, 8));
	printf("pending %#lx\n", (unsigned long)pending_now());
	FAILS(ENXIO, open("/dev/tty", O_RDWR));
	EXPECT(7, write(terminal, "written", 7));
	fflush(stdout);
	byte_to(told[1], differences ? 'b' : 'o');
}

static void leave(void)
{
	lead();
	start_group(be_hung_up, 1);
	EXPECT('r', byte_from(told[0]));
}

/* The leader ends: the foreground group is hung up, and the terminal is nobody's. */
static void leader_ends(void)
{
	run_leader(leave);
	EXPECT(SIGHUP, byte_from(told[0]));
	EXPECT('o', byte_from(told[0]));
	char bytes[8];
	EXPECT(7, read(master, bytes, 7));
}

static void keyboard_and_all(void)
{
	/* The keyboard's only descriptor is the parent's. */
	int own = master;
	char path[32];
	name_of_terminal(path);
	setsid();
	terminal = open(path, O_RDWR);
	close(own);
	handle(SIGHUP, note, 0, 0);
	byte_to(told[1], 'r');
	char byte;
	/* The end, or an error: Linux says the one or the other as the keyboard goes before or within the read. */
	ssize_t length = read(terminal, &byte, 1);
	CHECK(length == 0 || (length < 0 && errno == EIO), "read %zd, %s", length, strerror(errno));
	FAILS(EIO, write(terminal, &byte, 1));
	EXPECT(SIGHUP, byte_from(told[0]));
	errno = 0;
	int again = open("/dev/tty", O_RDWR);
	printf("/dev/tty %s\n", again >= 0 ? "opens" : strerror(errno));
}

/* The keyboard goes: the session's leader is told. */
static void keyboard_goes(void)
{
	open_master();
	pid_t child = child_that(keyboard_and_all);
	EXPECT('r', byte_from(told[0]));
	EXPECT(0, close(master));
	EXPECT(0, end_of(child));
}

static void orphan_reads(void)
{
	pid_t parent = getppid();
	char byte;
	byte_to(told[1], 'r');
	while (getppid() == parent)
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	/* Nobody could bring it to the foreground again. */
	FAILS(EIO, read(terminal, &byte, 1));
	byte_to(told[1], differences ? 'b' : 'o');
}

static void make_orphan(void)
{
	start_group(orphan_reads, 0);
	EXPECT('r', byte_from(told[0]));
}

static void with_orphan(void)
{
	lead();
	EXPECT(0, end_of(child_that(make_orphan)));
	EXPECT('o', byte_from(told[0]));
}

static void orphans(void) { run_leader(with_orphan); }

int main(int count, char **words)
{
	static const struct part parts[] = {
		{ "owning", owning }, { "taking", taking }, { "setting-groups", setting_groups }, { "keys", keys },
		{ "background-read", background_read }, { "background-write", background_write }, { "sizes", sizes },
		{ "leader-ends", leader_ends }, { "keyboard-goes", keyboard_goes }, { "orphans", orphans },
		{ NULL, NULL },
	};
	EXPECT(0, pipe(told));
	EXPECT(0, pipe(go));
	return count > 1 ? run_part(parts, words) : 2;
}
