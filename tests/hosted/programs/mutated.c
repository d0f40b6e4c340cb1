/* Frames that are changed at random between a handler and rt_sigreturn, each in a child: whatever becomes of that, nobody
 * else notices.
 *
 * mutated SEED CHILDREN */
#include "forged.h"
#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/resource.h>

void arrived(void);

static uint64_t state;
static uint64_t any(void)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return state * 0x2545f4914f6cdd1d;
}
static uint64_t below(uint64_t bound) { return (any() >> 16) % bound; }

/* Where frames are moved to: pages with a hole behind them. */
static unsigned char *room;
enum { ROOM = 65536 };

static uint64_t interesting(void)
{
	const uint64_t values[] = {
		0, 1, 4, 8, 15, -1ul, -8ul, 0x7fffffff, 0x80000000, 0xffffffff, (1ul << 47) - 8, 1ul << 47, 1ul << 63,
		0x9000000000200000, 0xffff800000000000, 0xffff801000000000, (uintptr_t)room, (uintptr_t)room + ROOM - 8,
		(uintptr_t)room + ROOM, (uintptr_t)&room, (uintptr_t)alternate,
	};
	uint64_t which = below(sizeof values / sizeof *values + 4);
	return which < sizeof values / sizeof *values ? values[which] : any() >> below(64);
}

static uint64_t *word_of(unsigned char *frame, uint64_t place) { return (uint64_t *)(frame + place / 8 * 8); }

/* Of heads and flags more often than chance has it. */
static uint64_t any_place(void)
{
	static const int places[] = { 128, 144, 152, 160, 168, 304, 328, 568, 576, 576 + LASX_SIZE };
	return below(2) ? (uint64_t)places[below(10)] + below(8) : below(FRAME);
}

static void change_head(unsigned char *frame)
{
	static const uint32_t magics[] = { 0, FPU, LSX, LASX, 0x42540001, 0x46505502, 0x53580002 };
	static const uint32_t sizes[] = { 0, 8, 16, 56, 288, 304, 544, 1040, LASX_SIZE, LASX_SIZE + 16, 0xfffffff0, 0xffffffff };
	struct record *record = (void *)(frame + FIXED + 16 * below((FRAME - FIXED) / 16));
	if (below(2))
		record = (void *)(frame + FIXED);
	record->magic = magics[below(7)];
	record->size = sizes[below(12)];
}

static void change_once(unsigned char *frame)
{
	switch (below(5)) {
	case 0: frame[any_place()] = any(); break;
	case 1: *word_of(frame, any_place()) = interesting(); break;
	case 2: frame[any_place()] ^= 1 << below(8); break;
	case 3: change_head(frame); break;
	case 4: *word_of(frame, any_place()) = *word_of(frame, any_place()); break;
	}
}

/* QEMU never comes back from a jump to most pages of the upper half (see fault.c): there is a jump to others instead. */
static void turn_from_host(unsigned long *target)
{
	static const uint64_t elsewhere[] = { 0x9000000000200000, 1ul << 63, ~3ul };
	if (*target >> 47)
		*target = elsewhere[below(3)];
}

/* Translation's mode bit stays: where the machine has no such unit Linux 7.2 dies of it. */
static void keep_mode(unsigned char *frame, int set)
{
	static uint32_t before[3];
	static const int places[3] = { 16 + 264, 16 + 520, 16 + 1032 };
	for (int i = 0; i < 3; i++) {
		uint32_t *control = (uint32_t *)(frame + FIXED + places[i]);
		if (set)
			*control = (*control & ~64u) | (before[i] & 64);
		else
			before[i] = *control;
	}
}

static void mutate(int signal, siginfo_t *info, ucontext_t *context)
{
	(void)signal;
	unsigned char *frame = (unsigned char *)info;
	keep_mode(frame, 0);
	for (uint64_t changes = 1 + below(4); changes; changes--)
		change_once(frame);
	keep_mode(frame, 1);
	turn_from_host(&context->uc_mcontext.__pc);
	turn_from_host((unsigned long *)&context->uc_mcontext.__gregs[1]);
	if (below(8) == 0) {
		/* All of it elsewhere: at any place, or so that a part lies in the hole. */
		uint64_t at = below(2) ? below(ROOM - FRAME) : ROOM - FRAME + below(FRAME);
		memcpy(room + at, frame, at + FRAME > ROOM ? ROOM - at : FRAME);
		return_at(room + at);
	}
}

static void in_child_mutated(void)
{
	if (below(2))
		EXPECT(0, sigaltstack(&(stack_t){ alternate, 0, sizeof alternate }, NULL));
	handle(SIGUSR1, mutate, SA_SIGINFO | (below(2) ? SA_ONSTACK : 0) | (below(2) ? SA_NODEFER : 0), 0);
	raise_held(getpid(), SIGUSR1);
}

/* Registers that are the program's own, which it then finds in them. */
static uint64_t given[32], found[32];

void seen(void)
{
	for (int i = 1; i < 32; i++)
		if (found[i] != given[i])
			_exit(99);
	_exit(0);
}

static void give(int signal, siginfo_t *info, ucontext_t *context)
{
	(void)signal, (void)info;
	for (int i = 1; i < 32; i++)
		context->uc_mcontext.__gregs[i] = given[i] = i == 21 ? (uint64_t)(uintptr_t)found : below(2) ? any() : interesting();
	context->uc_mcontext.__gregs[0] = any();
	context->uc_mcontext.__pc = (uintptr_t)arrived;
}

static void in_child_given(void)
{
	handle(SIGUSR1, give, SA_SIGINFO, 0);
	raise_held(getpid(), SIGUSR1);
	_exit(98);
}

/* What a changed program may do to others is not asked here: it is nobody, and alone. */
static void be_nobody(void)
{
	const struct rlimit none = { 0, 0 };
	int nowhere = open("/dev/null", O_RDWR);
	for (int descriptor = 0; descriptor < 3; descriptor++)
		dup2(nowhere, descriptor);
	if (setrlimit(RLIMIT_NPROC, &none) || setrlimit(RLIMIT_FSIZE, &none) || setgroups(0, NULL) || setgid(65534) || setuid(65534))
		_exit(97);
}

static volatile pid_t running;
static void too_long(int signal)
{
	(void)signal;
	if (running > 0)
		kill(running, SIGKILL);
}

static uint64_t seed;
static int run_child(uint64_t number, void (*body)(void))
{
	pid_t child = fork();
	if (child == 0) {
		state = (seed + number) * 0x9e3779b97f4a7c15 | 1;
		be_nobody();
		body();
		_exit(0);
	}
	CHECK(child > 0, "child %lu: fork: %s", (unsigned long)number, strerror(errno));
	running = child;
	tick(300000);
	int end = end_of(child);
	running = 0;
	tick(0);
	return end;
}

static volatile sig_atomic_t handled;
static void note(int signal) { handled = signal; }

static uint64_t sum_of(const unsigned char *bytes, int length)
{
	uint64_t sum = 0;
	for (int i = 0; i < length; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}

int main(int count, char **words)
{
	static unsigned char block[65536];
	uint64_t normal = 0, faulted = 0, others = 0;
	if (count != 3)
		return 2;
	seed = strtoul(words[1], NULL, 10) << 32;
	uint64_t children = strtoul(words[2], NULL, 10);
	room = mmap(NULL, ROOM + 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(0, munmap(room + ROOM, 16384));
	state = 1;
	for (unsigned i = 0; i < sizeof block; i++)
		block[i] = any();
	uint64_t sum = sum_of(block, sizeof block);
	int lowest = open("/dev/null", O_RDONLY);
	close(lowest);
	handle(SIGALRM, too_long, 0, 0);
	handle(SIGUSR2, note, 0, 0);
	change_mask(SIG_BLOCK, SET(SIGHUP));
	for (uint64_t child = 0; child < children; child++) {
		if (child % 4 == 3) {
			int end = run_child(child, in_child_given);
			CHECK(end == 0, "seed %s child %lu: not the registers that were given: %d", words[1], (unsigned long)child, end);
			continue;
		}
		int end = run_child(child, in_child_mutated);
		CHECK(end >= 0, "seed %s child %lu: %d", words[1], (unsigned long)child, end);
		*(end == 0 ? &normal : end == 1000 + SIGSEGV ? &faulted : &others) += 1;
	}
	/* Some changes come to nothing and some are refused, or this asks nothing. */
	CHECK(normal > children / 20 && faulted > children / 20, "%lu ended by themselves, %lu by SIGSEGV, %lu otherwise",
	      (unsigned long)normal, (unsigned long)faulted, (unsigned long)others);
	EXPECT(SET(SIGHUP), mask_now());
	EXPECT(0, pending_now());
	send_self(SIGUSR2);
	EXPECT(SIGUSR2, handled);
	CHECK(sum_of(block, sizeof block) == sum, "the parent's memory has changed");
	EXPECT(lowest, open("/dev/null", O_RDONLY));
	FAILS(ECHILD, waitpid(-1, NULL, 0));
	return done();
}
