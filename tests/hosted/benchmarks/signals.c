/* What signals cost: sent, handled and returned from, each between the counter's marks.
 *
 * `signals LABEL=SAMPLES...`, in the order of src/figures.rs: it has no C library, whose functions use the vector unit,
 * so that the first figures are those of a program that never did. */
#include "../programs/bare.h"
#include "figures.h"

enum { CLONE = 220, GETPID = 172, GETTID = 178, KILL = 129, TKILL = 130, TGKILL = 131, SIGACTION = 134, SIGPROCMASK = 135,
       SIGSUSPEND = 133, WAIT4 = 260 };
enum { SIGTRAP = 5, SIGKILL = 9, SIGUSR1 = 10, SIGSEGV = 11, SIGCHLD = 17, SA_SIGINFO = 4 };

void on_signal(int), skip_instruction(int), use_none(void), use_fp(void), use_lsx(void), use_lasx(void);
void do_break(void), do_load(void);
extern volatile u64 handled;

static long process, thread;

static void handle(int signal, void (*handler)(int), u64 flags)
{
	struct { void (*handler)(int); u64 flags, mask; } action = { handler, flags, 0 };
	if (call6(SIGACTION, signal, (long)&action, 0, 8, 0, 0))
		leave(3);
}

static void must_be_handled(u64 times)
{
	if (handled != times)
		leave(4);
	handled = 0;
}

/* tgkill, handler and return; the unit is used before each, so that it is live at the width. */
static void sent(const char *label, long samples, void (*use)(void))
{
	handle(SIGUSR1, on_signal, 0);
	for (long i = 0; i < samples + WARM; i++) {
		use();
		marked_call(i < WARM ? 0 : word_of(label), TGKILL, process, thread, SIGUSR1, 0, 0);
	}
	must_be_handled(samples + WARM);
}

static void run_tgkill(const char *label, long samples) { sent(label, samples, use_none); }
static void run_tgfp(const char *label, long samples) { sent(label, samples, use_fp); }
static void run_tglsx(const char *label, long samples) { sent(label, samples, use_lsx); }
static void run_tglasx(const char *label, long samples) { sent(label, samples, use_lasx); }

/* As musl's raise: everything is held off while it asks for its thread and sends. */
static void run_raise(const char *label, long samples)
{
	u64 all = ~0ul, old = 0;
	handle(SIGUSR1, on_signal, 0);
	for (long i = 0; i < samples + WARM; i++) {
		if (i >= WARM)
			MARK(word_of(label), 1);
		call6(SIGPROCMASK, 0, (long)&all, (long)&old, 8, 0, 0);
		long own = call6(GETTID, 0, 0, 0, 0, 0, 0);
		call6(TKILL, own, SIGUSR1, 0, 0, 0, 0);
		call6(SIGPROCMASK, 2, (long)&old, 0, 8, 0, 0);
		STOP();
	}
	must_be_handled(samples + WARM);
}

static void faulting(const char *label, long samples, int signal, void (*fault)(void))
{
	handle(signal, skip_instruction, SA_SIGINFO);
	for (long i = 0; i < samples + WARM; i++) {
		if (i >= WARM)
			MARK(word_of(label), 1);
		fault();
		STOP();
	}
	must_be_handled(samples + WARM);
}

static void run_sigbrk(const char *label, long samples) { faulting(label, samples, SIGTRAP, do_break); }
static void run_sigsegv(const char *label, long samples) { faulting(label, samples, SIGSEGV, do_load); }

/* Two processes, each woken by the other's signal; one round there and back. */
static void run_sigpp(const char *label, long samples)
{
	u64 held = 1ul << (SIGUSR1 - 1), open = 0;
	handle(SIGUSR1, on_signal, 0);
	call6(SIGPROCMASK, 0, (long)&held, 0, 8, 0, 0);
	long child = call6(CLONE, SIGCHLD, 0, 0, 0, 0, 0);
	while (child == 0) {
		call6(SIGSUSPEND, (long)&open, 8, 0, 0, 0, 0);
		call6(KILL, process, SIGUSR1, 0, 0, 0, 0);
	}
	for (long i = 0; i < samples + WARM; i++) {
		if (i >= WARM)
			MARK(word_of(label), 1);
		call6(KILL, child, SIGUSR1, 0, 0, 0, 0);
		call6(SIGSUSPEND, (long)&open, 8, 0, 0, 0, 0);
		STOP();
	}
	must_be_handled(samples + WARM);
	call6(KILL, child, SIGKILL, 0, 0, 0, 0);
	call6(WAIT4, child, 0, 0, 0, 0, 0);
	call6(SIGPROCMASK, 1, (long)&held, 0, 8, 0, 0);
}

static const struct {
	const char *label;
	void (*run)(const char *label, long samples);
} figures[] = {
#define FIGURE(name) { #name, run_##name }
	FIGURE(tgkill), FIGURE(raise), FIGURE(sigbrk), FIGURE(sigsegv), FIGURE(sigpp), FIGURE(tgfp), FIGURE(tglsx),
	FIGURE(tglasx),
};

/* Runs the figure of one word, `LABEL=SAMPLES`. */
static int run_word(char *word)
{
	char *number = word;
	while (*number && *number != '=')
		number++;
	if (!*number)
		return 0;
	*number++ = 0;
	long samples = 0;
	while (*number >= '0' && *number <= '9')
		samples = samples * 10 + *number++ - '0';
	for (u64 n = 0; n < sizeof(figures) / sizeof(figures[0]); n++) {
		const char *label = figures[n].label, *asked = word;
		while (*label && *label == *asked)
			label++, asked++;
		if (*label == *asked) {
			figures[n].run(word, samples);
			return 1;
		}
	}
	return 0;
}

__attribute__((noreturn)) void first(u64 *stack)
{
	process = call6(GETPID, 0, 0, 0, 0, 0, 0);
	thread = call6(GETTID, 0, 0, 0, 0, 0, 0);
	for (u64 i = 1; i < stack[0]; i++)
		if (!run_word((char *)stack[1 + i]))
			leave(2);
	leave(0);
}
