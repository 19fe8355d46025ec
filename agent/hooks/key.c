/* SPDX-License-Identifier: MIT */
/*
 * key.c - records whether the host has destructors of thread-specific data. Overrides:
 * pthread_key_create tss_create.
 *
 * To count those destructors the agent's own repeats to the last round, and in each round libc goes
 * through all keys in every thread; without others one round is enough. A destructor whose key was
 * made past the hooks (RTLD_DEEPBIND) is counted only as far as it runs before the agent's.
 * glibc's tss_create does not call the public pthread_key_create, so both are overridden.
 */
#include "agent/base/real.h"
#include "agent/base/agent.h"

static void note(bool destructor)
{
	if (destructor)
		atomic_store_explicit(&agent.key_destructors, true, memory_order_relaxed);
}

AGENT_API int pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
	note(destructor != NULL);
	return REAL(pthread_key_create)(key, destructor);
}

AGENT_API int tss_create(tss_t *key, tss_dtor_t destructor)
{
	note(destructor != NULL);
	return REAL(tss_create)(key, destructor);
}
