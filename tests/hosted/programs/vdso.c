/* The vDSO: an ELF image with the symbols that C libraries look for, and they work. */
#define _GNU_SOURCE
#include <elf.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include "check.h"

static const char *base;

static const void *at(uint64_t address)
{
	return base + address;
}

/* Finds a symbol as the C libraries do: by the dynamic section's tables, all addresses relative to the image. */
static uintptr_t find(const char *name)
{
	const Elf64_Ehdr *header = at(0);
	const Elf64_Phdr *segments = at(header->e_phoff);
	const Elf64_Dyn *dynamic = NULL;
	for (int i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_DYNAMIC)
			dynamic = at(segments[i].p_offset);
	const Elf64_Sym *symbols = NULL;
	const char *strings = NULL;
	const uint32_t *hash = NULL, *gnu_hash = NULL;
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_SYMTAB)
			symbols = at(dynamic->d_un.d_ptr);
		if (dynamic->d_tag == DT_STRTAB)
			strings = at(dynamic->d_un.d_ptr);
		if (dynamic->d_tag == DT_HASH)
			hash = at(dynamic->d_un.d_ptr);
		if (dynamic->d_tag == DT_GNU_HASH)
			gnu_hash = at(dynamic->d_un.d_ptr);
	}
	CHECK(symbols && strings && (hash || gnu_hash), "the tables are not there");
	for (unsigned i = 1; symbols && strings && i < (hash ? hash[1] : 16u); i++)
		if (symbols[i].st_shndx && !strcmp(strings + symbols[i].st_name, name))
			return (uintptr_t)at(symbols[i].st_value);
	return 0;
}

int main(void)
{
	base = (const char *)getauxval(AT_SYSINFO_EHDR);
	if (!base || memcmp(base, ELFMAG, SELFMAG)) {
		printf("there is none\n");
		return 1;
	}
	const Elf64_Ehdr *header = at(0);
	EXPECT(ET_DYN, header->e_type);
	EXPECT(258, header->e_machine);
	CHECK(find("__vdso_rt_sigreturn"), "no way back from signal handlers");
	int (*gettime)(clockid_t, struct timespec *) = (void *)find("__vdso_clock_gettime");
	if (gettime) {
		struct timespec first, second;
		EXPECT(0, syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &first));
		EXPECT(0, gettime(CLOCK_MONOTONIC, &second));
		CHECK(second.tv_sec > first.tv_sec || (second.tv_sec == first.tv_sec && second.tv_nsec >= first.tv_nsec),
		      "its clock is behind");
		EXPECT(-EINVAL, gettime(99, &first));
	}
	int (*getcpu)(unsigned *, unsigned *, void *) = (void *)find("__vdso_getcpu");
	if (getcpu) {
		unsigned cpu = 99, node = 99;
		EXPECT(0, getcpu(&cpu, &node, NULL));
		EXPECT(0, cpu);
		EXPECT(0, node);
	}
	return done();
}
