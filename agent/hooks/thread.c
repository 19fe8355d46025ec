/* SPDX-License-Identifier: MIT */
/*
 * thread.c - starts counting in new threads, and follows their names. Overrides: pthread_create
 * thrd_create dlclose pthread_setname_np prctl pthread_key_create tss_create.
 *
 * The creator reserves a slot and puts the start routine in it; the new thread opens its groups and
 * then calls the routine. No allocation, no lock that the host could hold. glibc's thrd_create does
 * not call the public pthread_create, so both are overridden.
 */
#include "agent/hooks/hooks.h"

#include <dlfcn.h>
#include <stdarg.h>

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

/* The first thread that has it, and of all: the caller's groups do not count what this takes. */
static uint64_t add_routine(const void *routine)
{
	struct slot *self = agent_self;
	uint64_t site;

	if (self)
		agent_thread_stop(self);
	agent_fds_reserve();
	site = agent_start_routine_add(routine);
	/* Before a thread can run Go code. */
	if (agent_is_go_code(routine)) {
		agent_signal_go_code();
		agent_without_main();
	}
	if (self)
		agent_thread_go_on(self);
	return site;
}

static struct slot *prepare(const void *routine, const void *caller)
{
	int saved = errno;
	struct slot *slot;

	if (!agent.measured || !agent_active_unless_vfork())
		return NULL;
	slot = agent_thread_reserve();
	if (slot) {
		slot->start_site = agent_start_routine(routine);
		if (!slot->start_site)
			slot->start_site = add_routine(routine);
		agent_sample_creation(slot, caller);
		agent_thread_reserve_groups(slot);
	}
	errno = saved;
	return slot;
}

AGENT_API int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			     void *arg)
{
	struct slot *slot = prepare((const void *)(uintptr_t)start, __builtin_return_address(0));
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
	struct slot *slot = prepare((const void *)(uintptr_t)start, __builtin_return_address(0));
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
	if (result == 0 && agent_active()) {
		agent_start_routines_forget();
		agent_sample_closed();
	}
	return result;
}

/* ---- names ---------------------------------------------------------------------------------*/

/* A thread that ends reads its name from the kernel only if the program names threads at all. glibc
 * names the calling thread by a direct system call, so prctl is overridden too; syscall() is in
 * seccomp.c. Names written to /proc/.../comm are not seen. */
AGENT_API int prctl(int option, ...);

static void set_name(struct slot *slot, const char *name)
{
	/* The kernel reads no 16th byte, which may be none of the program's. */
	const size_t len = strnlen(name, sizeof(slot->name) - 1);

	/* The last byte stays NUL: a concurrent reader sees the old name, the new one or a mix, but
	 * never an unterminated one. */
	memcpy(slot->name, name, len);
	slot->name[len] = '\0';
}

void agent_name_given(const char *name)
{
	atomic_store(&agent.named_threads, true);
	if (agent_self)
		set_name(agent_self, name);
}

/* A thread whose tid is not in its slot yet reads its name after that, see agent_thread_begin(). */
static void name_other(pthread_t thread, const char *name)
{
	clockid_t clock; /* has the tid: see PMC_CLOCK_OF_THREAD */

	atomic_store(&agent.named_threads, true);
	if (!agent_active() || pthread_getcpuclockid(thread, &clock) != 0)
		return;
	for (uint32_t i = 0; i < atomic_load(&agent_registry.high); i++) {
		struct slot *slot = registry_slot(&agent_registry, i);

		if (slot->tid != (uint32_t) ~(clock >> 3) || !registry_pin(slot))
			continue;
		/* Not of a thread that has the slot since. */
		if (slot->tid == (uint32_t) ~(clock >> 3))
			set_name(slot, name);
		registry_unpin(&agent_registry, slot);
	}
}

AGENT_API int pthread_setname_np(pthread_t thread, const char *name)
{
	int result = REAL(pthread_setname_np)(thread, name), saved = errno;

	if (result == 0 && pthread_equal(thread, pthread_self()))
		agent_name_given(name);
	else if (result == 0)
		name_other(thread, name);
	errno = saved;
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
	return (int)agent_filtering_call(SYS_prctl, call, real_prctl);
}

/* ---- destructors of thread-specific data ---------------------------------------------------*/

/* To count those destructors the agent's own repeats to the last round, and in each round libc goes
 * through all keys in every thread; without others one round is enough. A destructor whose key was
 * made past the hooks (RTLD_DEEPBIND) is counted only as far as it runs before the agent's.
 * glibc's tss_create does not call the public pthread_key_create, so both are overridden. */
AGENT_API int pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
	if (destructor)
		atomic_store(&agent.key_destructors, true);
	return REAL(pthread_key_create)(key, destructor);
}

AGENT_API int tss_create(tss_t *key, tss_dtor_t destructor)
{
	if (destructor)
		atomic_store(&agent.key_destructors, true);
	return REAL(tss_create)(key, destructor);
}
