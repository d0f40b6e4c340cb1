/* Who and where a program is: ids that do not change, uname. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/utsname.h>
#include "check.h"

int main(void)
{
	long process = syscall(SYS_getpid);
	CHECK(process > 0, "process %ld", process);
	for (int i = 0; i < 1000; i++)
		EXPECT(process, syscall(SYS_getpid));
	EXPECT(process, syscall(SYS_gettid));
	int word;
	EXPECT(process, syscall(SYS_set_tid_address, &word));
	EXPECT(0, syscall(SYS_getuid));
	EXPECT(0, syscall(SYS_geteuid));
	EXPECT(0, syscall(SYS_getgid));
	EXPECT(0, syscall(SYS_getegid));
	EXPECT(0, syscall(SYS_sched_yield));
	struct utsname name;
	EXPECT(0, uname(&name));
	CHECK(!strcmp(name.sysname, "Linux"), "system %s", name.sysname);
	CHECK(!strcmp(name.machine, "loongarch64"), "machine %s", name.machine);
	int major = 0, minor = 0;
	CHECK(sscanf(name.release, "%d.%d", &major, &minor) == 2 && major >= 6, "release %s", name.release);
	CHECK(name.version[0] && name.nodename[0] && name.domainname[0], "an empty name");
	return done();
}
