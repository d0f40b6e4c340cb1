/* A forked child goes on with its parent's floating-point registers (Linux loses the upper parts of vectors, which no
 * function keeps for its caller), and a thread begins with nothing of anybody else's.
 *
 * vectors-fork WHAT */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "check.h"
#include "vectors.h"

static struct vector_state pattern, seen, of_child;

#define CALL_CLOBBERS "$t0", "$t1", "$t2", "$t3", "$t4", "$t5", "$t6", "$t7", "$t8", "memory"

/* Forks with the pattern in the registers: nothing comes between the loads, the call, and the child's stores. */
static long fork_with_pattern(enum width width)
{
	hold_vectors[width](&pattern, &seen, 1, PAUSE_NONE);
	register long a0 __asm__("$a0") = SIGCHLD, a1 __asm__("$a1") = 0, a2 __asm__("$a2") = 0;
	register long a3 __asm__("$a3") = 0, a4 __asm__("$a4") = 0, a7 __asm__("$a7") = SYS_clone;
	__asm__ volatile("syscall 0" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a7) : CALL_CLOBBERS);
	if (a0 == 0)
		store_vectors[width](&of_child);
	return a0;
}

static void forked(enum width width)
{
	make_pattern(&pattern, 4242 + width);
	fflush(stdout);
	long child = fork_with_pattern(width);
	if (child == 0) {
		/* `hold` gives back its caller's f24 to f31 and control; all else is the pattern. */
		int step = 1 << width, wrong = 0;
		for (int word = 0; word < 24 * step; word++) {
			uint64_t value = of_child.registers[word];
			int nothing = word % step && (value == 0 || value == ~0ul);
			wrong += value != pattern.registers[word] && !nothing;
		}
		for (int i = 0; i < 8; i++)
			wrong += of_child.conditions[i] != pattern.conditions[i];
		_exit(wrong > 255 ? 255 : wrong);
	}
	int status;
	EXPECT(child, waitpid(child, &status, 0));
	EXPECT(0, status);
	/* And the parent still has its own. */
	EXPECT(0, hold_vectors[width](&pattern, &seen, 3, PAUSE_GETPID));
}

static void fork_fp(void) { forked(WIDTH_FP); }
static void fork_lsx(void) { forked(WIDTH_LSX); }
static void fork_lasx(void) { forked(WIDTH_LASX); }

static _Alignas(16) char stack[65536];
static atomic_int ended;

static void thread_body(void)
{
	store_lasx(&of_child);
	ended = 1;
	syscall(SYS_exit, 0);
}

static void thread(void)
{
	enum { FLAGS = 0x50f00 /* VM, FS, FILES, SIGHAND, THREAD, SYSVSEM */ };
	make_pattern(&pattern, 99);
	hold_lasx(&pattern, &seen, 1, PAUSE_NONE);
	register long a0 __asm__("$a0") = FLAGS, a1 __asm__("$a1") = (long)(stack + sizeof stack);
	register long a2 __asm__("$a2") = 0, a3 __asm__("$a3") = 0, a4 __asm__("$a4") = 0, a7 __asm__("$a7") = SYS_clone;
	__asm__ volatile("syscall 0\n"
			 "bnez $a0, 1f\n"
			 "jirl $ra, %[body], 0\n"
			 "1:"
			 : "+r"(a0)
			 : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a7), [body] "r"(thread_body)
			 : CALL_CLOBBERS);
	while (!ended)
		sched_yield();
	/* The parent's, zeros, or what an unused unit has on Linux: nothing else may be there. */
	for (int word = 0; word < 24 * 4; word++) {
		uint64_t value = of_child.registers[word];
		CHECK(value == pattern.registers[word] || value == 0 || value == ~0ul, "word %d is %#lx", word, value);
	}
}

int main(int count, char **words)
{
	static const struct part parts[] = {
		{ "fp", fork_fp }, { "lsx", fork_lsx }, { "lasx", fork_lasx }, { "thread", thread }, { NULL, NULL },
	};
	return count > 1 ? run_part(parts, words) : 2;
}
