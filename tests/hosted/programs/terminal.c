/* The line discipline, through a pseudo-terminal: what is typed, what a program reads, what is on the screen.
 *
 * terminal WHAT */
#include "terminal.h"

static void fresh(void)
{
	int number, locked;
	char path[32];
	struct winsize size;
	struct stat facts;
	master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	name_of_terminal(path);
	EXPECT(0, ioctl(master, TIOCGPTLCK, &locked));
	EXPECT(1, locked);
	FAILS(EIO, open(path, O_RDWR | O_NOCTTY));
	locked = 0;
	EXPECT(0, ioctl(master, TIOCSPTLCK, &locked));
	open_terminal(O_NOCTTY);
	struct modes modes = modes_now();
	show_modes(&modes);
	struct termios older;
	EXPECT(0, ioctl(terminal, TCGETS, &older));
	EXPECT(modes.input, older.c_iflag);
	EXPECT(modes.local, older.c_lflag);
	EXPECT(modes.control, older.c_cflag);
	EXPECT(0, memcmp(modes.characters, older.c_cc, 19));
	/* The master has the same. */
	struct modes others = { 0 };
	EXPECT(0, ioctl(master, GET_MODES, &others));
	EXPECT(0, memcmp(&modes, &others, sizeof modes));
	EXPECT(0, ioctl(terminal, TIOCGWINSZ, &size));
	printf("size %d %d %d %d\n", size.ws_row, size.ws_col, size.ws_xpixel, size.ws_ypixel);
	EXPECT(0, fstat(terminal, &facts));
	CHECK(S_ISCHR(facts.st_mode), "mode %o", facts.st_mode);
	printf("mode %o device %d\n", facts.st_mode, (int)(facts.st_rdev >> 8));
	EXPECT(1, isatty(terminal));
	EXPECT(1, isatty(master));
	EXPECT(0, strcmp(path, ttyname(terminal)));
	/* Another one has another number. */
	int second = open("/dev/ptmx", O_RDWR | O_NOCTTY), other_number;
	EXPECT(0, ioctl(second, TIOCGPTN, &other_number));
	EXPECT(0, ioctl(master, TIOCGPTN, &number));
	CHECK(number != other_number, "number %d twice", number);
	int peer = ioctl(master, 0x5441 /* TIOCGPTPEER */, O_RDWR | O_NOCTTY);
	CHECK(peer >= 0, "the peer: %s", strerror(errno));
	EXPECT(0, strcmp(path, ttyname(peer)));
}

static void lines(void)
{
	open_both();
	int there = -1;
	TYPE("one\ntwo\nthree");
	EXPECT(4, read_once(100));
	EXPECT(2, read_once(2));
	EXPECT(2, read_once(100));
	TYPE("\n");
	wait_until_readable();
	EXPECT(0, ioctl(terminal, FIONREAD, &there));
	EXPECT(6, there);
	EXPECT(6, read_once(100));
	show_screen();
	/* The end of input: after something it only sends that, at the beginning of a line it is the end. */
	TYPE("part\004");
	EXPECT(4, read_once(100));
	TYPE("\004");
	EXPECT(0, read_once(100));
	TYPE("more\004\004");
	EXPECT(4, read_once(100));
	EXPECT(0, read_once(100));
	TYPE("\n\n");
	EXPECT(1, read_once(100));
	EXPECT(1, read_once(100));
	/* Other ends of a line. */
	struct modes modes = modes_now();
	modes.characters[VEOL] = ';';
	modes.characters[VEOL2] = '!';
	set_modes(&modes);
	TYPE("a;b!c\n");
	read_once(100), read_once(100), read_once(100);
	show_screen();
}

static void long_lines(void)
{
	static char text[6000], bytes[8192];
	open_both();
	struct modes modes = modes_now();
	modes.local &= ~ECHO;
	set_modes(&modes);
	memset(text, 'x', sizeof text);
	/* A line has no more than 4,095 bytes before its end. */
	for (int i = 0; i < 5; i++)
		EXPECT(1000, write(master, text, 1000));
	TYPE("\n");
	ssize_t length = read(terminal, bytes, sizeof bytes);
	printf("%zd, ends with %d\n", length, bytes[length - 1]);
	TYPE("next\n");
	read_once(100);
}

static void editing(void)
{
	open_both();
	TYPE("abc\177\177d\n");
	read_once(100);
	show_screen();
	TYPE("\177\177x\n");
	read_once(100);
	show_screen();
	TYPE("gone\025kept\n");
	read_once(100);
	show_screen();
	TYPE("two words  \027\027one, two-three\027\n");
	read_once(100);
	show_screen();
	TYPE("a\026\003b\026\177c\026\nd\n");
	read_once(100);
	show_screen();
	TYPE("again\022 and\n");
	read_once(100);
	show_screen();
	TYPE("a\tb\001c\177\177\177\177d\n");
	read_once(100);
	show_screen();
	/* Characters of several bytes, erased by the byte and by the character. */
	TYPE("h\303\244\177\n");
	read_once(100);
	show_screen();
	struct modes modes = modes_now();
	modes.input |= IUTF8;
	set_modes(&modes);
	TYPE("h\303\244\177\n");
	read_once(100);
	show_screen();
}

static void with_local(const char *name, unsigned set, unsigned clear, const char *typed)
{
	struct modes kept = modes_now(), modes = kept;
	modes.local = (modes.local | set) & ~clear;
	set_modes(&modes);
	printf("%s\n", name);
	type_bytes(typed, strlen(typed));
	read_once(100);
	show_screen();
	set_modes(&kept);
}

static void echoing(void)
{
	open_both();
	with_local("ECHO off", 0, ECHO, "secret\n");
	with_local("ECHONL", ECHONL, ECHO, "secret\n");
	with_local("ECHOE off", 0, ECHOE, "abc\177\177d\n");
	with_local("ECHOK only", 0, ECHOKE | ECHOE, "abc\025d\n");
	with_local("ECHOK off too", 0, ECHOKE | ECHOE | ECHOK, "abc\025d\n");
	with_local("ECHOCTL off", 0, ECHOCTL, "a\001\033b\n");
	with_local("ECHOCTL", 0, 0, "a\001\033b\n");
	with_local("ECHOPRT", 02000, ECHOE | ECHOKE, "abc\177\177d\n");
	with_local("IEXTEN off", 0, IEXTEN, "a\027b\026c\n");
}

static void with_input(const char *name, unsigned flags, const char *typed, size_t length)
{
	struct modes kept = modes_now(), modes = kept;
	modes.input = flags;
	set_modes(&modes);
	printf("%s\n", name);
	type_bytes(typed, length);
	read_once(100);
	show_screen();
	set_modes(&kept);
}

#define INPUT(name, flags, text) with_input(name, flags, text, sizeof(text) - 1)

static void input_flags(void)
{
	open_both();
	INPUT("ICRNL", ICRNL, "a\rb\n");
	read_once(100);
	INPUT("no ICRNL", 0, "a\rb\n");
	INPUT("INLCR", INLCR, "a\nb\004");
	INPUT("IGNCR", IGNCR, "a\rb\n");
	INPUT("IGNCR and ICRNL", IGNCR | ICRNL, "a\rb\n");
	INPUT("ISTRIP", ISTRIP, "\341\342\n");
	INPUT("IUCLC", 01000, "AbC\n");
	INPUT("PARMRK", PARMRK, "a\377b\n");
	INPUT("IGNPAR and INPCK", IGNPAR | INPCK, "a\377b\n");
	INPUT("a zero", 0, "a\0b\n");
}

static void with_output(const char *name, unsigned flags, const char *text)
{
	struct modes kept = modes_now(), modes = kept;
	modes.output = flags;
	set_modes(&modes);
	printf("%s\n", name);
	EXPECT(strlen(text), write(terminal, text, strlen(text)));
	show_screen();
	set_modes(&kept);
}

static void output_flags(void)
{
	open_both();
	with_output("none", 0, "a\nb\r\tc\n");
	with_output("OPOST", OPOST, "a\nb\r\tc\n");
	with_output("ONLCR", OPOST | ONLCR, "a\nb\r\tc\n");
	with_output("ONLCR without OPOST", ONLCR, "a\nb\r\tc\n");
	with_output("OCRNL", OPOST | OCRNL, "a\rb\n");
	with_output("ONOCR", OPOST | ONOCR, "\ra\r\rb");
	with_output("ONLRET", OPOST | ONLRET, "ab\nc\td");
	with_output("OLCUC", OPOST | 02, "aBc\n");
	with_output("tabs", OPOST | ONLCR | 014000, "a\tb\n\tc\tdefghijk\tl");
}

int main(int count, char **words)
{
	static const struct part parts[] = {
		{ "fresh", fresh }, { "lines", lines }, { "long-lines", long_lines }, { "editing", editing },
		{ "echoing", echoing }, { "input-flags", input_flags }, { "output-flags", output_flags }, { NULL, NULL },
	};
	return count > 1 ? run_part(parts, words) : 2;
}
