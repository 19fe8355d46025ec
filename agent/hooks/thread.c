/* SPDX-License-Identifier: MIT */
/*
 * thread.c - starts counting in new threads. Overrides: pthread_create thrd_create dlclose.
 *
 * The creator reserves a slot and puts the start routine in it; the new thread opens its groups and
 * then calls the routine. No allocation, no lock that the host could hold. glibc's thrd_create does
 * not call the public pthread_create, so both are overridden.
 */
#include "agent/base/real.h"
#include "agent/base/agent.h"
#include "agent/base/fdspace.h"
#include "agent/base/fork_guard.h"
#include "agent/thread/thread.h"

#include <dlfcn.h>

static void *run_posix(void *arg)
{
	struct slot *slot = arg;
	void *(*start)(void *) = slot->start.posix;
	void *start_arg = slot->arg;

	agent_thread_begin(slot);
	return start(start_arg);
}

static int run_c11(void *arg)
{
	struct slot *slot = arg;
	int (*start)(void *) = slot->start.c11;
	void *start_arg = slot->arg;

	agent_thread_begin(slot);
	return start(start_arg);
}

static struct slot *prepare(const void *routine)
{
	int saved = errno;
	struct slot *slot;

	if (!agent.measured || !agent_active_unless_vfork())
		return NULL;
	agent_fds_reserve();
	slot = agent_thread_reserve();
	if (slot) {
		slot->start_site = agent_start_routine(routine);
		agent_thread_reserve_groups(slot);
	}
	errno = saved;
	return slot;
}

AGENT_API int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			     void *arg)
{
	struct slot *slot = prepare((const void *)(uintptr_t)start);
	int result;

	if (!slot)
		return REAL(pthread_create)(thread, attr, start, arg);
	slot->start.posix = start;
	slot->arg = arg;
	result = REAL(pthread_create)(thread, attr, run_posix, slot);
	if (result != 0)
		registry_release(&agent_registry, slot);
	return result;
}

AGENT_API int thrd_create(thrd_t *thread, thrd_start_t start, void *arg)
{
	struct slot *slot = prepare((const void *)(uintptr_t)start);
	int result;

	if (!slot)
		return REAL(thrd_create)(thread, start, arg);
	slot->start.c11 = start;
	slot->arg = arg;
	result = REAL(thrd_create)(thread, run_c11, slot);
	if (result != thrd_success)
		registry_release(&agent_registry, slot);
	return result;
}

AGENT_API int dlclose(void *handle)
{
	int result = REAL(dlclose)(handle);

	/* The next module may be loaded at the same addresses. */
	if (result == 0 && agent_active())
		agent_start_routines_forget();
	return result;
}
