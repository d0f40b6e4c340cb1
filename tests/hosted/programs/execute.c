/* execve: what goes over and what does not, interpreters, and files that are no program.
 *
 * execute WHAT; `execute --tell` is what the others execute. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "check.h"

static const char *own_path;
static char *plain_environment[] = { "A=1", "B=two words", NULL };

/* What the executed program sees. */
static int tell(int count, char **words)
{
	extern char **environ;
	printf("%d words:", count);
	for (int i = 0; i < count; i++)
		printf(" <%s>", strrchr(words[i], '/') ? strrchr(words[i], '/') + 1 : words[i]);
	printf("\n");
	for (char **variable = environ; *variable; variable++)
		printf("%s\n", *variable);
	printf("open:");
	for (int i = 3; i < 60; i++)
		if (fcntl(i, F_GETFD) >= 0)
			printf(" %d", i);
	sigset_t blocked;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	struct sigaction action;
	sigaction(SIGUSR1, NULL, &action);
	printf("; blocked: %d; ignored: %d", sigismember(&blocked, SIGUSR2), action.sa_handler == SIG_IGN);
	sigaction(SIGHUP, NULL, &action);
	printf("; handler: %d\n", action.sa_handler != SIG_DFL);
	return 5;
}

static int status_of(pid_t child)
{
	int status = -1;
	EXPECT(child, waitpid(child, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Executes in a child; returns its status, or 1000 and a signal; a refused call is its error, negative. */
static int run(const char *path, char **words, char **environment)
{
	int told[2], error = 0;
	EXPECT(0, pipe2(told, O_CLOEXEC));
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		execve(path, words, environment);
		error = errno;
		_exit(write(told[1], &error, sizeof error) < 0);
	}
	close(told[1]);
	ssize_t length = read(told[0], &error, sizeof error);
	close(told[0]);
	int status = status_of(child);
	return length == sizeof error ? -error : status;
}

static void handler(int signal) { (void)signal; }

static void plain(void)
{
	int kept = open("/dev/null", O_RDONLY), closed = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK(kept == 3 && closed == 4, "descriptors %d and %d", kept, closed);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGHUP, handler);
	sigset_t blocked;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	EXPECT(5, run(own_path, (char *[]){ "execute", "--tell", "", "a b", NULL }, plain_environment));
	EXPECT(5, run("/proc/self/exe", (char *[]){ "again", "--tell", NULL }, (char *[]){ NULL }));
}

static void make(const char *path, const void *content, size_t size, int mode)
{
	int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0755);
	EXPECT(size, write(file, content, size));
	EXPECT(0, fchmod(file, mode));
	EXPECT(0, close(file));
}

static void script(const char *path, const char *first, int mode)
{
	char text[4200];
	int length = snprintf(text, sizeof text, "%s", first);
	make(path, text, length, mode);
}

static void scripts(void)
{
	char *words[] = { "named", "x", "y z", NULL }, line[4200];
	snprintf(line, sizeof line, "#!%s --tell\nrest\n", own_path);
	script("/tmp/plain", line, 0755);
	EXPECT(5, run("/tmp/plain", words, plain_environment));
	snprintf(line, sizeof line, "#! \t %s   --tell  two words \t\n", own_path);
	script("/tmp/spaced", line, 0755);
	EXPECT(5, run("/tmp/spaced", words, plain_environment));
	script("/tmp/second", "#!/tmp/plain more\n", 0755);
	EXPECT(5, run("/tmp/second", words, plain_environment));
	EXPECT(0, symlink("plain", "/tmp/linked"));
	EXPECT(5, run("/tmp/linked", words, plain_environment));
	script("/tmp/nobody", "#!/no/such/interpreter\n", 0755);
	EXPECT(-ENOENT, run("/tmp/nobody", words, plain_environment));
	script("/tmp/empty-line", "#!\n", 0755);
	EXPECT(-ENOEXEC, run("/tmp/empty-line", words, plain_environment));
	script("/tmp/itself", "#!/tmp/itself\n", 0755);
	EXPECT(-ELOOP, run("/tmp/itself", words, plain_environment));
	script("/tmp/text", "no script\n", 0755);
	EXPECT(-ENOEXEC, run("/tmp/text", words, plain_environment));
	script("/tmp/mode", line, 0644);
	EXPECT(-EACCES, run("/tmp/mode", words, plain_environment));
}

static char *program;
static size_t program_size;

static void read_program(void)
{
	struct stat facts;
	int file = open(own_path, O_RDONLY);
	EXPECT(0, fstat(file, &facts));
	program_size = facts.st_size;
	program = malloc(program_size);
	EXPECT(program_size, read(file, program, program_size));
	EXPECT(0, close(file));
}

static int run_changed(size_t size)
{
	make("/tmp/changed", program, size, 0755);
	return run("/tmp/changed", (char *[]){ "changed", "--tell", NULL }, (char *[]){ NULL });
}

/* Files that begin like a program. The ones that die do so after the point of no return. */
static void refused(void)
{
	char *words[] = { "x", NULL };
	EXPECT(-ENOENT, run("/no/such/file", words, plain_environment));
	EXPECT(-ENOENT, run("", words, plain_environment));
	EXPECT(-EACCES, run("/tmp", words, plain_environment));
	EXPECT(-ENOTDIR, run("/dev/null/x", words, plain_environment));
	EXPECT(-EACCES, run("/dev/null", words, plain_environment));
	EXPECT(-EFAULT, run((char *)8, words, plain_environment));
	EXPECT(-EFAULT, run(own_path, (char **)8, plain_environment));
	EXPECT(-EFAULT, run(own_path, (char *[]){ (char *)8, NULL }, plain_environment));
	read_program();
	Elf64_Ehdr *header = (void *)program, good = *header;
	EXPECT(5, run_changed(program_size));
	EXPECT(-ENOEXEC, run_changed(0));
	EXPECT(-ENOEXEC, run_changed(3));
	EXPECT(-ENOEXEC, run_changed(40));
	header->e_machine = EM_X86_64;
	EXPECT(-ENOEXEC, run_changed(program_size));
	*header = good;
	header->e_type = ET_REL;
	EXPECT(-ENOEXEC, run_changed(program_size));
	*header = good;
	header->e_phentsize = 55;
	EXPECT(-ENOEXEC, run_changed(program_size));
	*header = good;
	header->e_phnum = 0;
	EXPECT(-ENOEXEC, run_changed(program_size));
	*header = good;
	header->e_phoff = 1l << 40;
	int status = run_changed(program_size);
	CHECK(status < 0, "headers beyond the file: %d", status);
	*header = good;
	Elf64_Phdr *segments = (void *)(program + header->e_phoff);
	for (int i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type != PT_LOAD)
			continue;
		Elf64_Phdr kept = segments[i];
		segments[i].p_memsz = 1l << 47;
		status = run_changed(program_size);
		CHECK(status < 0 || status > 1000, "segment %d is huge: %d", i, status);
		segments[i] = kept;
		segments[i].p_memsz = segments[i].p_filesz - 1;
		status = run_changed(program_size);
		CHECK(status < 0 || status > 1000, "segment %d has more in the file: %d", i, status);
		segments[i] = kept;
		segments[i].p_vaddr = 0x9000000000000000 | (kept.p_vaddr & 0xffff);
		status = run_changed(program_size);
		CHECK(status < 0 || status > 1000, "segment %d lies in the kernel: %d", i, status);
		segments[i] = kept;
	}
	*header = good;
	header->e_entry = 0;
	status = run_changed(program_size);
	CHECK(status == 1000 + SIGSEGV, "an entry at 0: %d", status);
	*header = good;
	status = run_changed(16384);
	CHECK(status < 0 || status > 1000, "its first page: %d", status);
}

/* Arguments: much, too much, none. */
static void sizes(void)
{
	enum { WORDS = 1000, LENGTH = 100 };
	static char *words[WORDS + 3], block[WORDS][LENGTH + 1];
	words[0] = "execute";
	words[1] = "--count";
	for (int i = 0; i < WORDS; i++) {
		memset(block[i], 'a' + i % 26, LENGTH);
		words[2 + i] = block[i];
	}
	EXPECT(6, run(own_path, words, plain_environment));
	/* One word may take 32 pages. */
	static char huge[600000];
	memset(huge, 'x', 32 * 16384 - 1);
	EXPECT(6, run(own_path, (char *[]){ "execute", "--count", huge, NULL }, plain_environment));
	memset(huge, 'x', 32 * 16384);
	EXPECT(-E2BIG, run(own_path, (char *[]){ "execute", "--count", huge, NULL }, plain_environment));
	static char *many[100];
	for (int i = 0; i < 99; i++)
		many[i] = huge;
	huge[131071] = 0;
	/* And all of them three quarters of 8 MiB, or a quarter of the stack's limit. */
	EXPECT(-E2BIG, run(own_path, many, plain_environment));
	/* Without any word a program gets an empty one. */
	EXPECT(7, run(own_path, (char *[]){ NULL }, (char *[]){ NULL }));
}

int main(int count, char **words)
{
	static const struct part parts[] = {
		{ "plain", plain }, { "scripts", scripts }, { "refused", refused }, { "sizes", sizes }, { NULL, NULL },
	};
	own_path = (const char *)getauxval(AT_EXECFN);
	if (count == 1 && words[0][0] == 0)
		return 7;
	for (int i = 1; i < count; i++)
		if (!strncmp(words[i], "--tell", 6))
			return tell(count, words);
	if (count > 2 && !strcmp(words[1], "--count"))
		return 6;
	return count > 1 ? run_part(parts, words) : 2;
}
