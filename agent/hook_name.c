/* SPDX-License-Identifier: MIT */
/*
 * hook_name.c - a thread's name as it changes. Overrides: pthread_setname_np prctl.
 *
 * Only snapshots of other threads need this: a thread that ends asks the kernel for its own
 * name. glibc names the calling thread by a system call of its own, so both are here.
 */
#include "agent/hooks.h"
#include "agent/hook_seccomp.h"
#include "agent/thread.h"

#include <linux/prctl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

AGENT_API int prctl(int option, ...);

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
	long call[6] = { option };
	va_list args;
	long result;

	va_start(args, option);
	for (unsigned i = 1; i < 5; i++)
		call[i] = va_arg(args, long);
	va_end(args);
	result = agent_filtering_call(SYS_prctl, call);
	if (result == 0 && option == PR_SET_NAME && agent_self)
		rename_slot(agent_self, (const char *)call[1]);
	return (int)result;
}
