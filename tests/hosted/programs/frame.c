/* The frame that a handler gets: where siginfo, context and records lie, and what is in them.
 *
 * frame none|fp|lsx|lasx: the frame while nothing more of the vector unit has been used */
#include "signals.h"
#include <stddef.h>

extern uint64_t entry_registers[32];
extern char framed_syscall[], framed_after[];
void enter_handler(void);
long call_framed(long process, long thread, long signal);
void live_none(void), live_fp(void), live_lsx(void), live_lasx(void);

struct record {
	uint32_t magic, size;
	uint64_t padding;
};

static volatile int count;
static char area[65536] __attribute__((aligned(64)));

/* All of it is copied before anything is printed: printing uses the unit itself. */
static unsigned char copied[8192] __attribute__((aligned(64)));
static uint64_t entered[32];
static uintptr_t frame_place;

void handler(int signal, siginfo_t *info, ucontext_t *context)
{
	(void)signal, (void)context;
	if (count++ == 0) {
		frame_place = (uintptr_t)info;
		memcpy(entered, entry_registers, sizeof entered);
		for (unsigned i = 0; i < 1700; i++)
			copied[i] = ((volatile unsigned char *)info)[i];
	}
}

static void tell_records(const ucontext_t *context)
{
	const struct record *record = (const void *)context->uc_mcontext.__extcontext;
	for (;;) {
		printf("record at %td: %#x, %u\n", (const unsigned char *)record - copied, record->magic, record->size);
		if (record->magic == 0 || record->size == 0)
			break;
		record = (const void *)((const char *)record + record->size);
	}
	printf("ends at %td\n", (const unsigned char *)(record + 1) - copied);
}

static void tell(uintptr_t top, int on_stack)
{
	const siginfo_t *info = (const void *)copied;
	const ucontext_t *context = (const void *)(copied + 128);
	const mcontext_t *machine = &context->uc_mcontext;
	EXPECT(entered[3], frame_place);
	EXPECT(entered[5], frame_place);
	EXPECT(entered[6], frame_place + 128);
	EXPECT(0, frame_place % 16);
	EXPECT(SIGUSR1, entered[4]);
	const uint32_t *code = (const void *)entered[1];
	printf("returns to %#x %#x\n", code[0], code[1]);
	EXPECT((uintptr_t)__builtin_thread_pointer(), entered[2]);
	EXPECT(0x1111111111111100 + 21, entered[21]);
	EXPECT(0x1111111111111100 + 23, entered[23]);
	printf("%s frame takes %ld bytes\n", on_stack ? "alternate" : "ordinary", (long)(top - frame_place));
	printf("signo %d errno %d code %d\n", info->si_signo, info->si_errno, info->si_code);
	EXPECT(getpid(), info->si_pid);
	printf("uc_flags %lu uc_link %p stack %s flags %d size %zu\n", context->uc_flags, (void *)context->uc_link,
	       context->uc_stack.ss_sp ? "there" : "none", context->uc_stack.ss_flags, context->uc_stack.ss_size);
	EXPECT(SET(SIGTERM), *(const uint64_t *)&context->uc_sigmask);
	EXPECT(304, offsetof(ucontext_t, uc_mcontext) + 128);
	EXPECT((uintptr_t)framed_after, machine->__pc);
	printf("flags %#x, r0 %#lx\n", machine->__flags, machine->__gregs[0]);
	EXPECT(0, machine->__gregs[4]);
	for (int n = 5; n <= 11; n++)
		if (n > 6)
			EXPECT(n == 11 ? 131 : 0x700 + n - 4, machine->__gregs[n]);
	EXPECT(SIGUSR1, machine->__gregs[6]);
	for (int n = 21; n <= 31; n++)
		if (n != 22)
			EXPECT(0x1111111111111100 + n, machine->__gregs[n]);
	tell_records(context);
}

static void once(void (*use)(void), int on_stack)
{
	count = 0;
	uintptr_t top = on_stack ? (uintptr_t)area + sizeof area : 0;
	use();
	EXPECT(0, call_framed(getpid(), syscall(SYS_gettid), SIGUSR1));
	EXPECT(1, count);
	const ucontext_t *context = (const void *)(copied + 128);
	tell(on_stack ? top : context->uc_mcontext.__gregs[3], on_stack);
}

int main(int words_count, char **words)
{
	static const struct {
		const char *name;
		void (*use)(void);
	} widths[] = { { "none", live_none }, { "fp", live_fp }, { "lsx", live_lsx }, { "lasx", live_lasx } };
	handle(SIGUSR1, enter_handler, SA_SIGINFO, 0);
	change_mask(SIG_SETMASK, SET(SIGTERM));
	for (int i = 0; words_count > 1 && i < 4; i++)
		if (!strcmp(words[1], widths[i].name)) {
			once(widths[i].use, 0);
			EXPECT(0, sigaltstack(&(stack_t){ area, 0, sizeof area }, NULL));
			handle(SIGUSR1, enter_handler, SA_SIGINFO | SA_ONSTACK, 0);
			once(widths[i].use, 1);
			return done();
		}
	return 2;
}
