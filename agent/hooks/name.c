/* SPDX-License-Identifier: MIT */
/*
 * name.c - follows the names of threads. Overrides: pthread_setname_np prctl.
 *
 * A thread that ends reads its name from the kernel only if the program names threads at all. glibc
 * names the calling thread by a direct system call, so both are overridden; syscall() is in
 * seccomp.c. Names written to /proc/.../comm are not seen.
 */
#include "agent/base/real.h"
#include "agent/base/agent.h"
#include "agent/hooks/hooks.h"
#include "agent/thread/thread.h"

#include <linux/prctl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

AGENT_API int prctl(int option, ...);

void agent_name_given(const char *name)
{
	struct slot *slot = agent_self;

	atomic_store_explicit(&agent.named_threads, true, memory_order_relaxed);
	if (!name || !slot)
		return;
	/* The last byte stays NUL: a concurrent reader sees the old name, the new one or a mix, but
	 * never an unterminated one. */
	memcpy(slot->name, name, strnlen(name, sizeof(slot->name) - 1) + 1);
	slot->name[sizeof(slot->name) - 1] = '\0';
}

AGENT_API int pthread_setname_np(pthread_t thread, const char *name)
{
	int result = REAL(pthread_setname_np)(thread, name);

	if (result == 0)
		agent_name_given(pthread_equal(thread, pthread_self()) ? name : NULL);
	return result;
}

AGENT_API int prctl(int option, ...)
{
	long call[6] = { option };
	va_list args;

	va_start(args, option);
	for (unsigned i = 1; i < 5; i++)
		call[i] = va_arg(args, long);
	va_end(args);
	return (int)agent_filtering_call(SYS_prctl, call);
}
