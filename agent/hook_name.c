/* SPDX-License-Identifier: MIT */
/*
 * hook_name.c - a thread's name as it changes. Overrides: pthread_setname_np prctl
 * seccomp_load.
 *
 * prctl and libseccomp's seccomp_load also put filters on the program, and those may forbid what we
 * do.
 *
 * Only snapshots of other threads need this: a thread that ends asks the kernel for its own
 * name. glibc names the calling thread by a system call of its own, so both are here.
 */
#include "agent/hooks.h"
#include "agent/probe.h"
#include "agent/thread.h"

#include <dlfcn.h>
#include <linux/prctl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

AGENT_API int prctl(int option, ...);
AGENT_API int seccomp_load(const void *context);

static void rename_slot(struct slot *slot, const char *name)
{
	/* 15 bytes and a NUL that is never overwritten: a reader sees old, new or a mix, never
	 * an open end. */
	memcpy(slot->name, name, strnlen(name, sizeof(slot->name) - 1) + 1);
	slot->name[sizeof(slot->name) - 1] = '\0';
}

AGENT_API int pthread_setname_np(pthread_t thread, const char *name)
{
	int result = REAL(pthread_setname_np)(thread, name);

	if (result == 0 && agent_self && pthread_equal(thread, pthread_self()))
		rename_slot(agent_self, name);
	return result;
}

AGENT_API int prctl(int option, ...)
{
	unsigned long arg[4];
	va_list args;
	long result;

	va_start(args, option);
	for (unsigned i = 0; i < 4; i++)
		arg[i] = va_arg(args, unsigned long);
	va_end(args);
	if (option == PR_SET_SECCOMP && arg[0] != 0 && agent_where() == AGENT_HERE)
		agent_before_filter(arg);
	result = syscall(SYS_prctl, option, arg[0], arg[1], arg[2], arg[3]);
	if (result == 0 && option == PR_SET_NAME && agent_self)
		rename_slot(agent_self, (const char *)arg[0]);
	/* A second filter does not show in the mode: what was allowed is asked again. */
	if (result == 0 && option == PR_SET_SECCOMP)
		agent_perf_filtered();
	return (int)result;
}

AGENT_API int seccomp_load(const void *context)
{
	int (*real)(const void *);
	int result;

	*(void **)(void *)&real = dlsym(RTLD_NEXT, "seccomp_load");
	if (!real)
		return -ENOSYS;
	result = real(context);
	agent_perf_filtered();
	return result;
}
