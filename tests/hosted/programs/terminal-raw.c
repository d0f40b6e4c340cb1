/* A pseudo-terminal without the line discipline's help: raw reads, flow, flushing, what can be set, and its end.
 *
 * terminal-raw WHAT */
#include "terminal.h"

static void raw(struct modes *modes, int least, int tenths)
{
	*modes = modes_now();
	modes->input = modes->output = 0;
	modes->local = 0;
	modes->characters[VMIN] = least;
	modes->characters[VTIME] = tenths;
	set_modes(modes);
}

static long long now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

static pid_t typist;

static void type_slowly(void)
{
	static const char text[] = "abcdef";
	for (int i = 0; i < 6; i++) {
		(void)!write(master, text + i, 1);
		nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
	}
}

static void raw_reads(void)
{
	struct modes modes;
	open_both();
	raw(&modes, 1, 0);
	TYPE("a\003\004\177\r\n\0b");
	struct pollfd wait = { terminal, POLLIN, 0 };
	EXPECT(1, poll(&wait, 1, 10000));
	int there = 0;
	while (there < 8 && !ioctl(terminal, FIONREAD, &there))
		sched_yield();
	EXPECT(3, read_once(3));
	EXPECT(5, read_once(100));
	show_screen();
	raw(&modes, 0, 0);
	EXPECT(0, read_once(100));
	/* A limit for the first byte. */
	raw(&modes, 0, 1);
	long long before = now_ms();
	EXPECT(0, read_once(100));
	CHECK(now_ms() - before >= 90, "after %lld ms", now_ms() - before);
	/* No less than so many, however slowly they come. */
	raw(&modes, 6, 0);
	typist = child_that(type_slowly);
	EXPECT(6, read_once(100));
	EXPECT(0, end_of(typist));
	/* Fewer are enough if no more are asked for. */
	TYPE("xy");
	EXPECT(2, read_once(2));
	/* A limit between bytes, from the first one. */
	raw(&modes, 6, 1);
	TYPE("x");
	EXPECT(1, read_once(100));
}

static void not_waiting(void)
{
	struct modes modes;
	open_both();
	EXPECT(0, fcntl(terminal, F_SETFL, O_RDWR | O_NONBLOCK));
	FAILS(EAGAIN, read(terminal, &modes, 1));
	TYPE("half");
	FAILS(EAGAIN, read(terminal, &modes, 1));
	EXPECT(0, poll_now(terminal, POLLIN));
	/* What was typed before the change can be read after it. */
	raw(&modes, 1, 0);
	wait_until_readable();
	read_once(100);
	EXPECT(POLLOUT, poll_now(terminal, POLLIN | POLLOUT));
	EXPECT(0, fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK));
	while (read(master, &modes, sizeof modes) > 0)
		;
	EXPECT(EAGAIN, errno);
	/* The screen is full at some time. */
	static char block[4096];
	memset(block, 'x', sizeof block);
	long total = 0;
	ssize_t length;
	while (total < 1 << 20 && (length = write(terminal, block, sizeof block)) > 0)
		total += length;
	EXPECT(EAGAIN, errno);
	CHECK(total >= 4096 && total < 1 << 20, "%ld bytes", total);
	long back = 0;
	while (back < total) {
		struct pollfd wait = { master, POLLIN, 0 };
		EXPECT(1, poll(&wait, 1, 10000));
		length = read(master, block, sizeof block);
		if (length <= 0)
			break;
		back += length;
	}
	EXPECT(total, back);
}

static void flow(void)
{
	struct modes modes;
	open_both();
	EXPECT(0, fcntl(terminal, F_SETFL, O_RDWR | O_NONBLOCK));
	TYPE("\023a\n");
	wait_until_readable();
	read_once(100);
	errno = 0;
	ssize_t length = write(terminal, "held", 4);
	printf("stopped: %zd %d\n", length, length < 0 ? errno : 0);
	TYPE("\021b\n");
	wait_until_readable();
	read_once(100);
	EXPECT(4, write(terminal, "free", 4));
	show_screen();
	EXPECT(0, ioctl(terminal, TCXONC, TCOOFF));
	errno = 0;
	length = write(terminal, "held", 4);
	printf("stopped: %zd %d\n", length, length < 0 ? errno : 0);
	EXPECT(0, ioctl(terminal, TCXONC, TCOON));
	EXPECT(4, write(terminal, "free", 4));
	show_screen();
	FAILS(EINVAL, ioctl(terminal, TCXONC, 9));
	/* Without IXON they are bytes like others. */
	modes = modes_now();
	modes.input &= ~IXON;
	set_modes(&modes);
	TYPE("\023\021\n");
	wait_until_readable();
	read_once(100);
}

static void flushing(void)
{
	struct modes modes;
	int there = -1;
	open_both();
	TYPE("line\n");
	wait_until_readable();
	EXPECT(0, ioctl(terminal, TCFLSH, TCIFLUSH));
	EXPECT(0, ioctl(terminal, FIONREAD, &there));
	EXPECT(0, there);
	EXPECT(0, poll_now(terminal, POLLIN));
	TYPE("second\n");
	wait_until_readable();
	modes = modes_now();
	EXPECT(0, ioctl(terminal, SET_MODES_DRAINED, &modes));
	EXPECT(7, read_once(100));
	TYPE("third\n");
	wait_until_readable();
	EXPECT(0, ioctl(terminal, SET_MODES_FLUSHED, &modes));
	EXPECT(0, poll_now(terminal, POLLIN));
	EXPECT(0, ioctl(terminal, TCSBRK, 1));
	FAILS(EINVAL, ioctl(terminal, TCFLSH, 3));
	EXPECT(0, ioctl(terminal, TIOCOUTQ, &there));
	TYPE("fourth\n");
	EXPECT(7, read_once(100));
}

/* What is kept of modes that are set, and what is refused. */
static void settings(void)
{
	open_both();
	struct modes modes = modes_now(), found;
	modes.input = modes.output = modes.local = 0xffffffff;
	modes.characters[VINTR] = 1;
	modes.characters[18] = 77;
	set_modes(&modes);
	found = modes_now();
	show_modes(&found);
	modes = (struct modes){ 0 };
	set_modes(&modes);
	found = modes_now();
	show_modes(&found);
	modes.control = CS7 | PARENB | CSTOPB | B9600 | CREAD;
	set_modes(&modes);
	found = modes_now();
	show_modes(&found);
	/* Any speed. */
	modes.control = CS8 | 010000;
	modes.input_speed = modes.output_speed = 12345;
	set_modes(&modes);
	found = modes_now();
	show_modes(&found);
	struct termios older;
	EXPECT(0, ioctl(terminal, TCGETS, &older));
	older.c_cflag = CS8 | B115200;
	EXPECT(0, ioctl(terminal, TCSETS, &older));
	found = modes_now();
	show_modes(&found);
	FAILS(ENOTTY, ioctl(terminal, 0x5499, 0));
	FAILS(ENOTTY, ioctl(terminal, 0, 0));
	int ends[2];
	EXPECT(0, pipe(ends));
	FAILS(ENOTTY, ioctl(ends[0], TCGETS, &older));
	FAILS(ENOTTY, ioctl(open("/dev/null", O_RDONLY), TCGETS, &older));
	FAILS(ENOTTY, ioctl(terminal, TIOCGPTN, &ends[0]));
	FAILS(EBADF, ioctl(-1, TCGETS, &older));
	FAILS(EFAULT, ioctl(terminal, TCGETS, 8));
	FAILS(EFAULT, ioctl(terminal, TCSETS, 8));
	FAILS(ESPIPE, lseek(terminal, 0, SEEK_CUR));
	int discipline = -1;
	EXPECT(0, ioctl(terminal, 0x5424 /* TIOCGETD */, &discipline));
	EXPECT(0, discipline);
}

static void sizes(void)
{
	struct winsize size = { 24, 80, 5, 6 }, found = { 0 };
	open_both();
	EXPECT(0, ioctl(terminal, TIOCSWINSZ, &size));
	EXPECT(0, ioctl(master, TIOCGWINSZ, &found));
	EXPECT(0, memcmp(&size, &found, sizeof size));
	size.ws_row = 50;
	EXPECT(0, ioctl(master, TIOCSWINSZ, &size));
	EXPECT(0, ioctl(terminal, TIOCGWINSZ, &found));
	EXPECT(50, found.ws_row);
}

static void closed(void)
{
	char byte;
	open_both();
	/* The program goes: what it wrote is still there, then there is an error. */
	EXPECT(4, write(terminal, "last", 4));
	EXPECT(0, close(terminal));
	char bytes[16];
	size_t have = 0;
	ssize_t length;
	while ((length = read(master, bytes + have, sizeof bytes - have)) > 0)
		have += length;
	show("screen|", bytes, have);
	EXPECT(EIO, errno);
	printf("poll %#x\n", poll_now(master, POLLIN | POLLOUT));
	/* Another one opens it, and it goes on. */
	open_terminal(O_NOCTTY);
	TYPE("on\n");
	EXPECT(3, read_once(100));
	/* The keyboard goes. */
	EXPECT(0, close(master));
	errno = 0;
	length = read(terminal, &byte, 1);
	printf("read %zd %d\n", length, length < 0 ? errno : 0);
	FAILS(EIO, write(terminal, "x", 1));
	errno = 0;
	int result = ioctl(terminal, TCGETS, bytes);
	printf("modes %d %d\n", result, result ? errno : 0);
	printf("poll %#x\n", poll_now(terminal, POLLIN | POLLOUT));
}

/* Both sides, one to the other: many bytes are neither lost nor mixed. */
static void echo_everything(void)
{
	char bytes[512];
	ssize_t length;
	while ((length = read(terminal, bytes, sizeof bytes)) > 0)
		for (ssize_t done = 0; done < length;) {
			ssize_t written = write(terminal, bytes + done, length - done);
			if (written < 0)
				_exit(1);
			done += written;
		}
}

static void much(void)
{
	enum { TOTAL = 100000 };
	static char sent[TOTAL], received[TOTAL];
	struct modes modes;
	open_both();
	raw(&modes, 1, 0);
	for (int i = 0; i < TOTAL; i++)
		sent[i] = 'a' + i * 7 % 26;
	pid_t child = child_that(echo_everything);
	EXPECT(0, fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK));
	for (int out = 0, in = 0; in < TOTAL;) {
		struct pollfd wait = { master, POLLIN | (out < TOTAL ? POLLOUT : 0), 0 };
		if (poll(&wait, 1, 10000) != 1)
			break;
		ssize_t length;
		if (out < TOTAL && (length = write(master, sent + out, TOTAL - out > 300 ? 300 : TOTAL - out)) > 0)
			out += length;
		if ((length = read(master, received + in, TOTAL - in)) > 0)
			in += length;
	}
	EXPECT(0, memcmp(sent, received, TOTAL));
	EXPECT(0, kill(child, SIGKILL));
	EXPECT(1000 + SIGKILL, end_of(child));
}

int main(int count, char **words)
{
	static const struct part parts[] = {
		{ "reads", raw_reads }, { "not-waiting", not_waiting }, { "flow", flow }, { "flushing", flushing },
		{ "settings", settings }, { "sizes", sizes }, { "closed", closed }, { "much", much }, { NULL, NULL },
	};
	return count > 1 ? run_part(parts, words) : 2;
}
