/* Files and folders of a file system in memory: names, links, modes, offsets, times, listings.
 *
 * files WHAT */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include "check.h"

static struct stat facts;

static int make(const char *name, const char *content)
{
	int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
	CHECK(file >= 0, "%s: %s", name, strerror(errno));
	EXPECT(strlen(content), write(file, content, strlen(content)));
	return file;
}

static void opening(void)
{
	char bytes[20] = "";
	int file = make("/tmp/a", "hello");
	FAILS(EEXIST, open("/tmp/a", O_CREAT | O_EXCL, 0644));
	FAILS(ENOENT, open("/tmp/none/a", O_CREAT, 0644));
	FAILS(ENOTDIR, open("/tmp/a/b", O_CREAT, 0644));
	FAILS(ENOTDIR, open("/tmp/a", O_RDONLY | O_DIRECTORY));
	FAILS(EISDIR, open("/tmp", O_WRONLY));
	FAILS(EISDIR, open("/tmp", O_CREAT | O_RDWR, 0644));
	static char name[5000];
	memset(name, 'x', 4999);
	FAILS(ENAMETOOLONG, open(name, O_RDONLY));
	memcpy(name, "/tmp/", 5);
	name[5 + 256] = 0;
	FAILS(ENAMETOOLONG, open(name, O_RDONLY | O_CREAT, 0644));
	name[5 + 255] = 0;
	int longest = open(name, O_RDONLY | O_CREAT, 0644);
	CHECK(longest >= 0, "255 bytes: %s", strerror(errno));
	EXPECT(0, unlink(name));
	/* The lowest number that is free. */
	int second = open("/tmp/a", O_RDONLY);
	EXPECT(longest + 1, second);
	EXPECT(0, close(longest));
	EXPECT(longest, open("/tmp/a", O_WRONLY | O_APPEND));
	EXPECT(3, write(longest, "+++", 3));
	EXPECT(8, read(second, bytes, 20));
	CHECK(!memcmp(bytes, "hello+++", 8), "it has %s", bytes);
	FAILS(EBADF, read(longest, bytes, 1));
	FAILS(EBADF, write(second, bytes, 1));
	EXPECT(5, lseek(file, 0, SEEK_CUR));
	EXPECT(3, read(file, bytes, 20));
	/* Truncated under an open file: its offset stays. */
	EXPECT(0, close(open("/tmp/a", O_WRONLY | O_TRUNC)));
	EXPECT(0, read(file, bytes, 20));
	EXPECT(8, lseek(file, 0, SEEK_CUR));
	EXPECT(1, write(file, "x", 1));
	EXPECT(0, fstat(file, &facts));
	EXPECT(9, facts.st_size);
	EXPECT(9, pread(file, bytes, 20, 0));
	CHECK(!memcmp(bytes, "\0\0\0\0\0\0\0\0x", 9), "the hole is not zero");
	/* Removed while open: it lives on without a name. */
	EXPECT(0, unlink("/tmp/a"));
	EXPECT(1, pwrite(file, "y", 1, 3));
	EXPECT(0, fstat(file, &facts));
	EXPECT(0, facts.st_nlink);
	FAILS(ENOENT, stat("/tmp/a", &facts));
	FAILS(EBADF, close(77));
	FAILS(EFAULT, open((void *)8, O_RDONLY));
}

static void sizes(void)
{
	static char block[40000], back[40000];
	int file = make("/tmp/b", "");
	for (unsigned i = 0; i < sizeof block; i++)
		block[i] = i * 7;
	EXPECT(40000, write(file, block, 40000));
	EXPECT(40000, pread(file, back, 40000, 0));
	EXPECT(0, memcmp(block, back, 40000));
	EXPECT(100, pwrite(file, block, 100, 16384 - 50));
	EXPECT(100, pread(file, back, 100, 16384 - 50));
	EXPECT(0, memcmp(block, back, 100));
	EXPECT(0, ftruncate(file, 100));
	EXPECT(0, ftruncate(file, 50000));
	EXPECT(40000, pread(file, back, 40000, 0));
	for (int i = 100; i < 40000; i++)
		CHECK(back[i] == 0, "byte %d after growing", i);
	FAILS(EINVAL, ftruncate(file, -1));
	FAILS(EINVAL, truncate("/tmp", -1));
	FAILS(EISDIR, truncate("/tmp", 1));
	EXPECT(0, truncate("/tmp/b", 3));
	EXPECT(3, lseek(file, 0, SEEK_END));
	EXPECT(1l << 40, lseek(file, 1l << 40, SEEK_SET));
	EXPECT(0, read(file, back, 1));
	EXPECT(0, fstat(file, &facts));
	EXPECT(3, facts.st_size);
	EXPECT(0, lseek(file, 0, SEEK_SET));
	struct iovec pieces[3] = { { "ab", 2 }, { "", 0 }, { "cdef", 4 } };
	EXPECT(6, writev(file, pieces, 3));
	char one[3] = "", two[10] = "";
	struct iovec places[2] = { { one, 2 }, { two, 9 } };
	EXPECT(6, preadv(file, places, 2, 0));
	CHECK(!strcmp(one, "ab") && !strcmp(two, "cdef"), "%s %s", one, two);
	/* A shared mapping and the file are the same bytes. */
	char *mapped = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(mapped != MAP_FAILED, "mmap: %s", strerror(errno));
	mapped[1] = 'Z';
	EXPECT(1, pread(file, back, 1, 1));
	EXPECT('Z', back[0]);
	EXPECT(1, pwrite(file, "Q", 1, 2));
	EXPECT('Q', mapped[2]);
	EXPECT(0, msync(mapped, 16384, MS_SYNC));
	FAILS(EACCES, (intptr_t)mmap(NULL, 16384, PROT_WRITE, MAP_SHARED, open("/tmp/b", O_RDONLY), 0));
	FAILS(EINVAL, (intptr_t)mmap(NULL, 16384, PROT_READ, MAP_SHARED, file, 1));
	int other = make("/tmp/c", "");
	off_t offset = 1;
	EXPECT(4, sendfile(other, file, &offset, 4));
	EXPECT(5, offset);
	EXPECT(4, pread(other, back, 20, 0));
	EXPECT(0, memcmp(back, "ZQde", 4));
}

static void names(void)
{
	EXPECT(0, chdir("/tmp"));
	EXPECT(0, close(make("one", "1")));
	EXPECT(0, link("one", "two"));
	FAILS(EEXIST, link("one", "two"));
	FAILS(EPERM, link("/tmp", "folder-link"));
	EXPECT(0, stat("two", &facts));
	EXPECT(2, facts.st_nlink);
	ino_t number = facts.st_ino;
	EXPECT(0, rename("one", "two"));
	EXPECT(0, stat("one", &facts));
	EXPECT(0, rename("one", "three"));
	FAILS(ENOENT, rename("one", "three"));
	EXPECT(0, stat("three", &facts));
	EXPECT(number, facts.st_ino);
	EXPECT(0, mkdir("folder", 0755));
	FAILS(EEXIST, mkdir("folder", 0755));
	FAILS(EISDIR, rename("three", "folder"));
	FAILS(ENOTDIR, rename("folder", "three"));
	EXPECT(0, rename("three", "folder/three"));
	FAILS(ENOTEMPTY, rmdir("folder"));
	FAILS(EINVAL, rename("folder", "folder/below"));
	FAILS(EISDIR, unlink("folder"));
	FAILS(ENOTDIR, rmdir("two"));
	FAILS(EINVAL, rmdir("folder/."));
	FAILS(EEXIST, link("two", "folder/three"));
	EXPECT(0, mkdir("empty", 0700));
	EXPECT(0, rename("empty", "other"));
	FAILS(ENOTEMPTY, rename("other", "folder"));
	EXPECT(0, unlink("folder/three"));
	EXPECT(0, rename("other", "folder"));
	FAILS(ENOENT, rmdir("other"));
	EXPECT(0, renameat2(AT_FDCWD, "two", AT_FDCWD, "new", RENAME_NOREPLACE));
	EXPECT(0, close(make("two", "2")));
	FAILS(EEXIST, renameat2(AT_FDCWD, "two", AT_FDCWD, "new", RENAME_NOREPLACE));
	EXPECT(0, rmdir("folder"));
	FAILS(ENOENT, unlink("none"));
	FAILS(EBUSY, rmdir("/"));
}

static void links(void)
{
	char text[100] = "";
	EXPECT(0, chdir("/tmp"));
	EXPECT(0, mkdir("folder", 0755));
	EXPECT(0, close(make("folder/file", "content")));
	EXPECT(0, symlink("folder", "to-folder"));
	EXPECT(0, symlink("../tmp/folder/file", "to-file"));
	EXPECT(0, symlink("loop-b", "loop-a"));
	EXPECT(0, symlink("loop-a", "loop-b"));
	EXPECT(0, symlink("nowhere", "dangling"));
	FAILS(EEXIST, symlink("x", "dangling"));
	FAILS(ENOENT, symlink("", "empty"));
	EXPECT(6, readlink("to-folder", text, sizeof text));
	EXPECT(3, readlink("to-folder", text, 3));
	FAILS(EINVAL, readlink("folder", text, sizeof text));
	EXPECT(0, lstat("to-file", &facts));
	CHECK(S_ISLNK(facts.st_mode) && facts.st_size == 18, "mode %o, size %ld", facts.st_mode, (long)facts.st_size);
	EXPECT(0, stat("to-file", &facts));
	EXPECT(7, facts.st_size);
	EXPECT(0, stat("to-folder/../to-folder/./file", &facts));
	FAILS(ELOOP, stat("loop-a", &facts));
	FAILS(ENOENT, stat("dangling", &facts));
	FAILS(ELOOP, open("to-file", O_RDONLY | O_NOFOLLOW));
	FAILS(ENOTDIR, stat("to-file/", &facts));
	EXPECT(0, stat("to-folder/", &facts));
	/* Creating through a link that points nowhere makes what it points to. */
	EXPECT(0, close(make("dangling", "now")));
	EXPECT(0, stat("nowhere", &facts));
	FAILS(EEXIST, open("dangling", O_CREAT | O_EXCL, 0644));
	EXPECT(0, unlink("to-folder"));
	EXPECT(0, stat("folder", &facts));
	FAILS(ENOTDIR, rmdir("to-file"));
	EXPECT(0, chdir("folder"));
	EXPECT(0, stat("../nowhere", &facts));
	CHECK(getcwd(text, sizeof text) && !strcmp(text, "/tmp/folder"), "folder %s", text);
	EXPECT(0, rename("/tmp/folder", "/tmp/moved"));
	CHECK(getcwd(text, sizeof text) && !strcmp(text, "/tmp/moved"), "folder %s", text);
	FAILS(ERANGE, getcwd(text, 3) ? 0 : -1);
	int folder = open("/tmp", O_RDONLY | O_DIRECTORY);
	EXPECT(0, fstatat(folder, "moved/file", &facts, 0));
	EXPECT(0, fchdir(folder));
	EXPECT(0, access("moved/file", R_OK));
	FAILS(ENOTDIR, openat(open("moved/file", O_RDONLY), "x", O_RDONLY));
	FAILS(EBADF, openat(77, "x", O_RDONLY));
}

static void modes(void)
{
	EXPECT(0, chdir("/tmp"));
	umask(027);
	EXPECT(0, close(open("m", O_CREAT | O_WRONLY, 0666)));
	EXPECT(0, stat("m", &facts));
	EXPECT(S_IFREG | 0640, facts.st_mode);
	EXPECT(0, mkdir("d", 0777));
	EXPECT(0, stat("d", &facts));
	EXPECT(S_IFDIR | 0750, facts.st_mode);
	EXPECT(2, facts.st_nlink);
	EXPECT(0, mkdir("d/e", 0777));
	EXPECT(0, stat("d", &facts));
	EXPECT(3, facts.st_nlink);
	EXPECT(0, chmod("m", 04751));
	EXPECT(0, stat("m", &facts));
	EXPECT(S_IFREG | 04751, facts.st_mode);
	EXPECT(0, fchmodat(AT_FDCWD, "m", 0600, 0));
	FAILS(EACCES, access("m", X_OK));
	EXPECT(0, access("m", R_OK | W_OK));
	EXPECT(0, chown("m", 1000, 1001));
	EXPECT(0, stat("m", &facts));
	CHECK(facts.st_uid == 1000 && facts.st_gid == 1001, "owner %d:%d", facts.st_uid, facts.st_gid);
	EXPECT(0, chown("m", -1, 5));
	EXPECT(0, stat("m", &facts));
	CHECK(facts.st_uid == 1000 && facts.st_gid == 5, "owner %d:%d", facts.st_uid, facts.st_gid);
	struct timespec times[2] = { { 1000, 1 }, { 2000, 999999999 } };
	EXPECT(0, utimensat(AT_FDCWD, "m", times, 0));
	EXPECT(0, stat("m", &facts));
	CHECK(facts.st_atim.tv_sec == 1000 && facts.st_atim.tv_nsec == 1, "access time");
	CHECK(facts.st_mtim.tv_sec == 2000 && facts.st_mtim.tv_nsec == 999999999, "change time");
	times[0].tv_nsec = UTIME_OMIT;
	times[1].tv_nsec = UTIME_NOW;
	EXPECT(0, utimensat(AT_FDCWD, "m", times, 0));
	EXPECT(0, stat("m", &facts));
	CHECK(facts.st_atim.tv_sec == 1000 && facts.st_mtim.tv_sec > 1700000000, "times");
	times[1].tv_nsec = -1;
	FAILS(EINVAL, utimensat(AT_FDCWD, "m", times, 0));
	EXPECT(0, mknod("f", S_IFIFO | 0644, 0));
	EXPECT(0, stat("f", &facts));
	EXPECT(S_IFIFO | 0640, facts.st_mode);
	EXPECT(0, stat("/dev/null", &facts));
	CHECK(S_ISCHR(facts.st_mode) && facts.st_rdev == makedev(1, 3), "/dev/null");
	EXPECT(0, stat("m", &facts));
	EXPECT(0, facts.st_blksize % 4096);
	struct statfs system;
	EXPECT(0, statfs("/tmp", &system));
	EXPECT(255, system.f_namelen);
}

static int by_name(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

static void listings(void)
{
	enum { FILES = 300 };
	EXPECT(0, mkdir("/tmp/list", 0755));
	EXPECT(0, chdir("/tmp/list"));
	for (int i = 0; i < FILES; i++) {
		char name[40];
		snprintf(name, sizeof name, i % 3 ? "file-%d" : "a-longer-name-of-%d", i);
		EXPECT(0, i % 5 ? close(open(name, O_CREAT, 0644)) : mkdir(name, 0755));
	}
	DIR *folder = opendir(".");
	static char *found[FILES + 10];
	int count = 0, folders = 0;
	struct dirent *entry;
	while ((entry = readdir(folder)) && count < FILES + 10) {
		folders += entry->d_type == DT_DIR;
		found[count++] = strdup(entry->d_name);
	}
	EXPECT(FILES + 2, count);
	EXPECT(FILES / 5 + 2, folders);
	qsort(found, count, sizeof *found, by_name);
	for (int i = 1; i < count; i++)
		CHECK(strcmp(found[i - 1], found[i]), "%s comes twice", found[i]);
	EXPECT(0, strcmp(found[0], "."));
	EXPECT(0, strcmp(found[1], ".."));
	/* Removed while it is read: nothing comes that was never there, and the rest comes once. */
	rewinddir(folder);
	int removed = 0;
	while ((entry = readdir(folder)))
		if (entry->d_name[0] == 'f' && entry->d_type == DT_REG)
			removed += unlink(entry->d_name) == 0;
	rewinddir(folder);
	int left = 0;
	while ((entry = readdir(folder)))
		left++;
	EXPECT(FILES + 2, removed + left);
	closedir(folder);
	CHECK(opendir("file-none") == NULL && errno == ENOENT, "opendir: %s", strerror(errno));
}

static void descriptors(void)
{
	int file = make("/tmp/d", "0123456789"), copy = dup(file);
	char byte;
	EXPECT(file + 1, copy);
	EXPECT(2, lseek(copy, 2, SEEK_SET));
	EXPECT(1, read(file, &byte, 1));
	EXPECT('2', byte);
	EXPECT(40, dup2(file, 40));
	EXPECT(40, dup2(40, 40));
	EXPECT(41, dup3(file, 41, O_CLOEXEC));
	FAILS(EINVAL, dup3(file, file, 0));
	FAILS(EINVAL, dup3(file, 42, 1));
	FAILS(EBADF, dup2(99, 42));
	FAILS(EBADF, dup2(file, -1));
	FAILS(EBADF, dup(99));
	EXPECT(FD_CLOEXEC, fcntl(41, F_GETFD));
	EXPECT(0, fcntl(40, F_GETFD));
	EXPECT(0, fcntl(40, F_SETFD, FD_CLOEXEC));
	EXPECT(FD_CLOEXEC, fcntl(40, F_GETFD));
	EXPECT(50, fcntl(file, F_DUPFD, 50));
	EXPECT(51, fcntl(file, F_DUPFD_CLOEXEC, 50));
	FAILS(EINVAL, fcntl(file, F_DUPFD, -1));
	FAILS(EINVAL, fcntl(file, 9999));
	FAILS(EBADF, fcntl(99, F_GETFD));
	EXPECT(O_RDWR, fcntl(file, F_GETFL) & O_ACCMODE);
	EXPECT(0, fcntl(file, F_SETFL, O_APPEND | O_NONBLOCK));
	EXPECT(O_APPEND | O_NONBLOCK, fcntl(copy, F_GETFL) & (O_APPEND | O_NONBLOCK));
	EXPECT(1, write(copy, "x", 1));
	EXPECT(11, lseek(file, 0, SEEK_END));
	EXPECT(0, close(file));
	EXPECT(1, write(copy, "y", 1));
	/* The most that may be open. */
	int last = -1, opened;
	for (opened = 0; opened < 100000 && (last = open("/dev/null", O_RDONLY)) >= 0; opened++)
		;
	CHECK(last == -1 && errno == EMFILE && opened > 200, "%d opened: %s", opened, strerror(errno));
}

static void devices(void)
{
	char bytes[100];
	int null = open("/dev/null", O_RDWR), zero = open("/dev/zero", O_RDWR), full = open("/dev/full", O_RDWR);
	EXPECT(0, read(null, bytes, 100));
	EXPECT(100, write(null, bytes, 100));
	memset(bytes, 1, 100);
	EXPECT(100, read(zero, bytes, 100));
	EXPECT(0, bytes[99]);
	EXPECT(100, write(zero, bytes, 100));
	FAILS(ENOSPC, write(full, bytes, 100));
	EXPECT(100, read(full, bytes, 100));
	int random = open("/dev/urandom", O_RDONLY);
	EXPECT(100, read(random, bytes, 100));
	EXPECT(0, lseek(null, 10, SEEK_SET));
	FAILS(ENXIO, open("/dev/tty", O_RDWR));
	char *mapped = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
	CHECK(mapped != MAP_FAILED && mapped[5] == 0, "mapping zeros");
	EXPECT(0, isatty(null));
}

int main(int count, char **words)
{
	static const struct part parts[] = {
		{ "opening", opening }, { "sizes", sizes }, { "names", names }, { "links", links }, { "modes", modes },
		{ "listings", listings }, { "descriptors", descriptors }, { "devices", devices }, { NULL, NULL },
	};
	return count > 1 ? run_part(parts, words) : 2;
}
