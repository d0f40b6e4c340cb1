/* Each pointer argument of a call, bad in every way, while the others are good: one line says which of them are not
 * answered with EFAULT.
 *
 * bad-pointers NAME, of the table in calls.h */
#include "calls.h"
#include <stdlib.h>
#include <sys/mman.h>
#include "check.h"

enum { PAGE = 16384 };

/* A page that can be written, with nothing after it: two such pages make a TLB entry of which one half is empty. */
static unsigned char *half_pair, *read_only, *nothing;

static const char *name_of(long result)
{
	static char number[24];
	switch (-result) {
	case EFAULT: return "EFAULT";
	case EINVAL: return "EINVAL";
	case EBADF: return "EBADF";
	case ENOENT: return "ENOENT";
	case EAGAIN: return "EAGAIN";
	case EEXIST: return "EEXIST";
	case ENOSYS: return "ENOSYS";
	case ENOTTY: return "ENOTTY";
	case ETIMEDOUT: return "ETIMEDOUT";
	case ECHILD: return "ECHILD";
	case EPERM: return "EPERM";
	}
	/* Ids, addresses and descriptors differ from run to run. */
	snprintf(number, sizeof number, result > 4096 ? "much" : "%ld", result);
	return number;
}

static long plain_call(long number, const long a[6])
{
	long result = syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	return result == -1 ? -errno : result;
}

/* Calls with one of the pointers bad; the other objects are made anew. */
static const char *try(const struct call *call, int bad, uintptr_t pointer)
{
	static uint64_t objects[6][512];
	long arguments[6];
	for (int i = 0; i < 6; i++) {
		const struct argument *argument = &call->arguments[i];
		memset(objects[i], 0, sizeof objects[i]);
		if (argument->content)
			memcpy(objects[i], argument->content, argument->value);
		arguments[i] = argument->use == VALUE ? value_of(argument) : (long)objects[i];
	}
	arguments[bad] = pointer;
	if (call->number == SYS_getdents64)
		lseek(arguments[0], 0, SEEK_SET);
	long result = plain_call(call->number, arguments);
	return call->number == SYS_times && result > 0 ? "time" : name_of(result);
}

/* Puts the object over the end of the page, its second half beyond. */
static uintptr_t over_the_end(const struct argument *argument)
{
	unsigned char *place = half_pair + PAGE - argument->value / 2;
	memset(place, 0, argument->value / 2);
	if (argument->content)
		memcpy(place, argument->content, argument->value / 2);
	return (uintptr_t)place;
}

static uintptr_t copied_to(unsigned char *page, const struct argument *argument)
{
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
	memset(page, 0, argument->value);
	if (argument->content)
		memcpy(page, argument->content, argument->value);
	mprotect(page, PAGE, PROT_READ);
	return (uintptr_t)page;
}

static void row(const struct call *call, int bad)
{
	const struct argument *argument = &call->arguments[bad];
	const struct {
		const char *name;
		uintptr_t pointer;
	} kinds[] = {
		{ "null", 0 },
		{ "low", 8 },
		{ "limit", (1ul << 47) - 1 },
		{ "over-limit", (1ul << 47) - argument->value / 2 },
		{ "beyond", 1ul << 47 },
		{ "upper", 0xffff800000000000 },
		{ "window", 0x9000000000200000 },
		{ "wrap", -(uintptr_t)argument->value / 2 & -8ul },
		{ "last", -1ul },
		{ "hole", (uintptr_t)nothing },
		{ "pair", over_the_end(argument) },
		{ "read-only", copied_to(read_only, argument) },
	};
	printf("%s %d:", call->name, bad);
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (argument->use == READS_LIMIT && kinds[i].pointer == 0)
			continue;
		const char *said = try(call, bad, kinds[i].pointer);
		if (strcmp(said, "EFAULT"))
			printf(" %s=%s", kinds[i].name, said);
	}
	printf("\n");
}

int main(int count, char **words)
{
	half_pair = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* An even page, so that its neighbour is the other half of the same entry. */
	if ((uintptr_t)half_pair / PAGE % 2)
		half_pair += PAGE;
	nothing = half_pair + PAGE;
	read_only = half_pair + 4 * PAGE;
	munmap(nothing, PAGE);
	if (count > 2 && !strcmp(words[2], "files"))
		open_files();
	for (int i = 0; i < CALLS; i++) {
		if (count < 2 || strcmp(words[1], calls[i].name))
			continue;
		for (int bad = 0; bad < 6; bad++)
			if (calls[i].arguments[bad].use != VALUE)
				row(&calls[i], bad);
	}
	return done();
}
