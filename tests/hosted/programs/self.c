/* A program reads its own file, maps it, and finds what it knows of itself. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "check.h"

enum { PAGE = 16384 };

static const char known[] = "a text that stands in this file once, or nearly";
static char changed[64] = "as it was";

int main(void)
{
	const char *name = (const char *)getauxval(AT_EXECFN);
	int file = open(name, O_RDONLY);
	CHECK(file >= 3, "open: %s", strerror(errno));
	struct stat facts;
	EXPECT(0, fstat(file, &facts));
	CHECK(S_ISREG(facts.st_mode) && facts.st_mode & 0100, "mode %o", facts.st_mode);
	Elf64_Ehdr header;
	EXPECT(sizeof header, read(file, &header, sizeof header));
	EXPECT(0, memcmp(header.e_ident, ELFMAG, SELFMAG));
	EXPECT(sizeof header, lseek(file, 0, SEEK_CUR));
	EXPECT(facts.st_size, lseek(file, 0, SEEK_END));
	EXPECT(0, read(file, &header, sizeof header));
	FAILS(EINVAL, lseek(file, -1, SEEK_SET));
	FAILS(EINVAL, lseek(file, 0, 99));
	EXPECT(4, pread(file, &header, 4, facts.st_size - 4));
	EXPECT(0, pread(file, &header, 4, facts.st_size + 100));
	FAILS(EBADF, write(file, "x", 1));
	char *mapped = mmap(NULL, facts.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	CHECK(mapped != MAP_FAILED, "mmap: %s", strerror(errno));
	char *found = memmem(mapped, facts.st_size, known, sizeof known);
	CHECK(found != NULL, "the text is not in the file");
	/* A private mapping: what is written there does not come to the file, nor to the running program. */
	memset(found, 'x', 5);
	EXPECT(0, memcmp(known, "a text", 6));
	char again[sizeof known];
	EXPECT(sizeof again, pread(file, again, sizeof again, found - mapped));
	EXPECT(0, memcmp(known, again, sizeof again));
	strcpy(changed, "changed");
	char *fresh = mmap(NULL, facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	CHECK(memmem(fresh, facts.st_size, "as it was", 10) != NULL, "the program's data is the file's");
	/* Beyond the end of the file the last page is zero. */
	EXPECT(0, fresh[facts.st_size | (PAGE - 1)]);
	EXPECT(0, close(file));
	EXPECT(0, memcmp(fresh, ELFMAG, SELFMAG));
	FAILS(ENOENT, open("/no/such/file", O_RDONLY));
	FAILS(ENOTDIR, open("/hosted/self/below", O_RDONLY));
	FAILS(EISDIR, open("/hosted", O_RDWR));
	FAILS(ENOENT, open("", O_RDONLY));
	return done();
}
