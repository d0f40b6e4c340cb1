/* What a program is started with: words, environment, auxiliary vector, stack. */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include "check.h"

extern char **environ;
extern const char __ehdr_start[];
void _start(void);

int main(int count, char **words)
{
	printf("%d words:", count);
	for (int i = 1; i < count; i++)
		printf(" <%s>", words[i]);
	printf("\n");
	for (char **variable = environ; *variable; variable++)
		printf("%s\n", *variable);
	CHECK(words[count] == NULL, "no zero after the words");
	CHECK(strrchr(words[0], '/') && !strcmp(strrchr(words[0], '/'), "/start"), "its name is %s", words[0]);

	const Elf64_Ehdr *header = (const void *)__ehdr_start;
	EXPECT(header->e_phnum, getauxval(AT_PHNUM));
	EXPECT(sizeof(Elf64_Phdr), getauxval(AT_PHENT));
	EXPECT((uintptr_t)__ehdr_start + header->e_phoff, getauxval(AT_PHDR));
	EXPECT((uintptr_t)_start, getauxval(AT_ENTRY));
	EXPECT(0, getauxval(AT_BASE));
	EXPECT(0, getauxval(AT_FLAGS));
	EXPECT(16384, getauxval(AT_PAGESZ));
	EXPECT(100, getauxval(AT_CLKTCK));
	EXPECT(0, getauxval(AT_SECURE));
	EXPECT(0, getauxval(AT_UID));
	EXPECT(0, getauxval(AT_EUID));
	EXPECT(0, getauxval(AT_GID));
	EXPECT(0, getauxval(AT_EGID));
	CHECK(getauxval(AT_RANDOM) != 0, "no random bytes");
	CHECK(getauxval(AT_SYSINFO_EHDR) != 0, "no vDSO");
	const char *name = (const char *)getauxval(AT_EXECFN);
	CHECK(name && !strcmp(name, words[0]), "AT_EXECFN is not the first word");
	const char *platform = (const char *)getauxval(AT_PLATFORM);
	CHECK(platform && !strcmp(platform, "loongarch"), "AT_PLATFORM");
	/* CPUCFG, LAM, UAL, FPU, LSX, LASX; LBT, in bits 10 to 12, must not be there. */
	unsigned long features = getauxval(AT_HWCAP);
	EXPECT(0x3f, features & 0x3f);
	EXPECT(0, features >> 10 & 7);
	EXPECT(0, (uintptr_t)environ % 8);
	EXPECT(0, (uintptr_t)(words - 1) % 16);
	CHECK((uintptr_t)words < 1ul << 47, "the stack lies too high");
	return done();
}
