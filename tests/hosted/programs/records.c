/* The frame's records while exactly one width of the vector unit is in use: there is no C library here that would use
 * a wider one. What a handler changes there is in the registers afterwards.
 *
 * records none|fp|lsx|lasx */
#include "bare.h"

enum { KILL = 129, GETPID = 172, GETTID = 178, SIGACTION = 134, SIGUSR1 = 10, SA_SIGINFO = 4 };

/* Where the machine's context lies in the context, its flags, and its first record. */
enum { MACHINE = 176, FLAGS = MACHINE + 264, RECORDS = MACHINE + 272 };

void enter_handler(int);
long call_framed(long process, long thread, long signal);
void live_none(void), live_fp(void), live_lsx(void), live_lasx(void);

__asm__(".globl _start\n_start:\n move $a0, $sp\n bstrins.d $sp, $zero, 3, 0\n b first\n");

struct record {
	unsigned magic, size;
	u64 padding, data[];
};

static unsigned found_flags;
static struct { unsigned magic, size; } found[4];
static int records, changes;

void handler(int signal, void *info, unsigned char *context)
{
	(void)signal, (void)info;
	found_flags = *(unsigned *)(context + FLAGS);
	records = 0;
	for (struct record *record = (void *)(context + RECORDS); records < 4;) {
		found[records].magic = record->magic;
		found[records].size = record->size;
		records++;
		if (record->magic == 0)
			break;
		u64 *control = (u64 *)((char *)record + (record->magic == 0x46505501   ? 16 + 264
							 : record->magic == 0x53580001 ? 16 + 520
										      : 16 + 1032));
		if (changes) {
			record->data[0] = 0x1234;
			*(unsigned *)control = 0x200;
		}
		record = (void *)((char *)record + record->size);
	}
}

static void tell(const char *what)
{
	say(what);
	say(": flags ");
	say_hex(found_flags);
	for (int i = 0; i < records; i++) {
		say(", record ");
		say_hex(found[i].magic);
		say(" ");
		say_number(found[i].size);
	}
	say("\n");
}

__attribute__((noreturn)) void first(u64 *stack)
{
	const char *word = stack[0] > 1 ? (const char *)stack[2] : "none";
	void (*live)(void) = word[0] == 'n' ? live_none : word[0] == 'f' ? live_fp : word[1] == 's' ? live_lsx : live_lasx;
	struct { void (*handler)(int); u64 flags, mask; } action = { enter_handler, SA_SIGINFO, 0 };
	long process = call6(GETPID, 0, 0, 0, 0, 0, 0), thread = call6(GETTID, 0, 0, 0, 0, 0, 0);
	call6(SIGACTION, SIGUSR1, (long)&action, 0, 8, 0, 0);
	live();
	call_framed(process, thread, SIGUSR1);
	tell(word);
	if (live == live_none)
		leave(0);
	u64 value = 0, control = 0;
	changes = 1;
	call_framed(process, thread, SIGUSR1);
	__asm__ volatile("movfr2gr.d %0, $f0\n movfcsr2gr %1, $fcsr0\n bstrpick.d %1, %1, 31, 0" : "=r"(value), "=r"(control));
	say("register ");
	say_hex(value);
	say(" control ");
	say_hex(control);
	say("\n");
	tell("again");
	leave(0);
}
