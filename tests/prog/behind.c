/* SPDX-License-Identifier: MIT */
/* behind: a library that says which of its functions are called, and adds 1 to exit statuses. */
/* prog-flags: -shared -fPIC */
#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *next(const char *name)
{
	char line[32] = "behind: ";

	strcat(strcat(line, name), "\n");
	syscall(SYS_write, 1, line, strlen(line));
	return dlsym(RTLD_NEXT, name);
}

#define LEAVES(name)                                                                               \
	void name(int status)                                                                      \
	{                                                                                          \
		((void (*)(int))next(#name))(status + 1);                                          \
		__builtin_unreachable();                                                           \
	}
LEAVES(_exit)
LEAVES(_Exit)

#define RETURNS(name)                                                                              \
	int next_##name(long, long, long, long, long) __asm__(#name);                              \
	int next_##name(long a, long b, long c, long d, long e)                                    \
	{                                                                                          \
		return ((int (*)(long, long, long, long, long))next(#name))(a, b, c, d, e);        \
	}
RETURNS(execve)
RETURNS(fexecve)
RETURNS(prctl)
