/* SPDX-License-Identifier: MIT */
/*
 * key.c - whether the host has destructors of thread-specific data. Overrides:
 * pthread_key_create tss_create.
 *
 * Each round of destructors that ours is in has libc go through all keys, in every thread: without
 * others one round will do. Of a destructor whose key was made past us (RTLD_DEEPBIND) only what it
 * does before ours is counted. glibc's tss_create never calls the public pthread_key_create, so
 * both are here.
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
