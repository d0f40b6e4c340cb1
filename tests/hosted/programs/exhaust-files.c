/* Tries to use up files: names without data, long ones, pages far apart, locks. See exhaust.c.
 *
 * exhaust-files WHAT */
#include "exhaust.h"
#include <dirent.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { NAME = 255 };

/* Names without data in one directory. */
static char path[NAME + 1];

static const char *next_name(void)
{
	static int count;
	memset(path, 'x', NAME);
	path[sprintf(path, "%d", count++)] = '-';
	return path;
}

static void empty_directory(void)
{
	DIR *all = opendir(".");
	struct dirent *entry;
	long failed = 0;
	while ((entry = readdir(all)))
		if (entry->d_name[0] != '.' && unlink(entry->d_name) && rmdir(entry->d_name))
			failed++;
	closedir(all);
	EXPECT(0, failed);
}

static long make_file(void)
{
	int fd = open(next_name(), O_CREAT | O_EXCL | O_WRONLY, 0600);
	return fd < 0 ? fd : close(fd);
}

static long make_long_link(void)
{
	static char text[4096];
	memset(text, 'y', 4095);
	return symlink(text, next_name());
}

static void fill_directory(void (*body)(void))
{
	EXPECT(0, mkdir("/tmp/exhaust", 0700));
	EXPECT(0, chdir("/tmp/exhaust"));
	body();
	empty_directory();
	EXPECT(0, chdir("/"));
	EXPECT(0, rmdir("/tmp/exhaust"));
}

static void make_names(void)
{
	UNTIL_STOPPED("open", 1000, make_file());
	UNTIL_STOPPED("mkdir", 0, mkdir(next_name(), 0700));
	UNTIL_STOPPED("symlink", 0, symlink("to", next_name()));
	UNTIL_STOPPED("mknod", 0, mknod(next_name(), S_IFIFO | 0600, 0));
}

static void make_links(void)
{
	EXPECT(0, mknod("first", S_IFREG | 0600, 0));
	UNTIL_STOPPED("link", 1000, link("first", next_name()));
}

static void make_long_links(void)
{
	UNTIL_STOPPED("symlink", 1000, make_long_link());
}

static void files(void) { fill_directory(make_names); }
static void links(void) { fill_directory(make_links); }
static void symbolic_links(void) { fill_directory(make_long_links); }

/* Directories within each other. */
static long deeper(void)
{
	return mkdir(path, 0700) ?: chdir(path);
}

static void make_nest(void)
{
	next_name();
	UNTIL_STOPPED("mkdir", 1000, deeper());
	char name[4096];
	errno = 0;
	long length = syscall(SYS_getcwd, name, sizeof name);
	printf("getcwd: %ld %s\n", length, name_of(errno));
	while (chdir("..") == 0 && rmdir(path) == 0)
		;
	EXPECT(0, chdir("/tmp/exhaust"));
}

static void nested(void) { fill_directory(make_nest); }

/* Pages of a file, far apart. */
static void sparse(void)
{
	int fd = open("/tmp/exhaust", O_CREAT | O_EXCL | O_RDWR, 0600);
	off_t at = 0;
	UNTIL_STOPPED("pwrite", 1000, pwrite(fd, "x", 1, at += 1 << 20));
	EXPECT(0, ftruncate(fd, 0));
	EXPECT(1, pwrite(fd, "x", 1, 0));
	EXPECT(0, close(fd));
	EXPECT(0, unlink("/tmp/exhaust"));
}

/* Records that a file is locked by. */
static long lock_next(int fd)
{
	static off_t at;
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at += 2, .l_len = 1 };
	return fcntl(fd, F_SETLK, &lock);
}

static void lock_records(void)
{
	int fd = open("/tmp/exhaust", O_CREAT | O_RDWR, 0600);
	UNTIL_STOPPED("fcntl", 1000, lock_next(fd));
	EXPECT(0, close(fd));
	fd = open("/tmp/exhaust", O_RDWR);
	EXPECT(0, lock_next(fd));
	EXPECT(0, unlink("/tmp/exhaust"));
}

static void locks(void)
{
	in_child(lock_records);
}

static const struct part parts[] = {
	{ "files", files },
	{ "links", links },
	{ "symbolic-links", symbolic_links },
	{ "nested", nested },
	{ "sparse", sparse },
	{ "locks", locks },
	{ NULL, NULL },
};

int main(int words_count, char **words)
{
	if (words_count < 2)
		return 2;
	return run_part(parts, words);
}
