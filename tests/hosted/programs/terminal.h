/* Pseudo-terminals, as the kernel has them. The program is at both sides: the master's is the keyboard and the screen. */
#pragma once
#include "signals.h"
#include <ctype.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>

/* TCGETS2's struct. */
struct modes {
	uint32_t input, output, control, local;
	unsigned char line, characters[19];
	uint32_t input_speed, output_speed;
};
enum { GET_MODES = 0x802c542a, SET_MODES = 0x402c542b, SET_MODES_DRAINED = 0x402c542c, SET_MODES_FLUSHED = 0x402c542d };

static int master = -1, terminal = -1;

static inline void name_of_terminal(char path[32])
{
	int number = -1;
	EXPECT(0, ioctl(master, TIOCGPTN, &number));
	snprintf(path, 32, "/dev/pts/%d", number);
}

/* Opens the keyboard's side, and unlocks the other one. */
static inline void open_master(void)
{
	int unlocked = 0;
	master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	CHECK(master >= 0, "/dev/ptmx: %s", strerror(errno));
	EXPECT(0, ioctl(master, TIOCSPTLCK, &unlocked));
}

static inline void open_terminal(int flags)
{
	char path[32];
	name_of_terminal(path);
	terminal = open(path, O_RDWR | flags);
	CHECK(terminal >= 0, "%s: %s", path, strerror(errno));
}

static inline void open_both(void)
{
	open_master();
	open_terminal(O_NOCTTY);
}

static inline struct modes modes_now(void)
{
	struct modes modes = { 0 };
	EXPECT(0, ioctl(terminal, GET_MODES, &modes));
	return modes;
}

static inline void set_modes(const struct modes *modes)
{
	EXPECT(0, ioctl(terminal, SET_MODES, modes));
}

static inline void type_bytes(const char *bytes, size_t length)
{
	EXPECT(length, write(master, bytes, length));
}

#define TYPE(text) type_bytes(text, sizeof(text) - 1)

static inline void show(const char *what, const char *bytes, ssize_t length)
{
	printf("%s", what);
	if (length < 0)
		printf(" error %d", errno);
	for (ssize_t i = 0; i < length; i++) {
		unsigned char byte = bytes[i];
		if (byte == '\n')
			printf("\\n");
		else if (byte == '\\')
			printf("\\\\");
		else if (isprint(byte))
			printf("%c", byte);
		else
			printf("\\x%02x", byte);
	}
	printf("|\n");
}

/* Reads once as the program. */
static inline ssize_t read_once(size_t most)
{
	static char bytes[8192];
	ssize_t length = read(terminal, bytes, most);
	show("read|", bytes, length);
	return length;
}

/* Shows what is on the screen: the program writes a mark, and everything before it has come when it comes. */
static inline void show_screen(void)
{
	static char bytes[8192];
	size_t length = 0;
	struct modes kept = modes_now(), plain = kept;
	plain.output &= ~OPOST;
	set_modes(&plain);
	EXPECT(1, write(terminal, "\376", 1));
	while (length < sizeof bytes && read(master, bytes + length, 1) == 1 && bytes[length] != (char)0xfe)
		length++;
	set_modes(&kept);
	show("screen|", bytes, length);
}

/* What the program has typed ahead has arrived when this many bytes can be read, or a whole line. */
static inline void wait_until_readable(void)
{
	struct pollfd wait = { terminal, POLLIN, 0 };
	EXPECT(1, poll(&wait, 1, 10000));
}

static inline short poll_now(int descriptor, short events)
{
	struct pollfd wait = { descriptor, events, 0 };
	poll(&wait, 1, 0);
	return wait.revents;
}

static inline void show_modes(const struct modes *modes)
{
	printf("input %#o output %#o control %#o local %#o line %d speeds %u %u\ncharacters", modes->input, modes->output,
	       modes->control, modes->local, modes->line, modes->input_speed, modes->output_speed);
	for (int i = 0; i < 19; i++)
		printf(" %d", modes->characters[i]);
	printf("\n");
}
