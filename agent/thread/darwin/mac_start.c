/* SPDX-License-Identifier: MIT */
/*
 * mac_start.c - start routine and creator of threads on macOS. POSIX only, so that tests run it on
 * Linux.
 *
 * The introspection hook knows neither, so pthread_create is interposed: the new thread begins in
 * mac_start_run(), with an entry of a table as its argument.
 */
#include "agent/thread/thread.h"
#include "agent/thread/mac_threads.h"

#include <pthread.h>

/* Threads that are created but do not run yet. */
enum { STARTS = 1024, SEARCH = 16 };

struct mac_start {
	_Atomic bool taken;
	void *(*routine)(void *);
	void *arg;
	uint64_t creator, site;
};

static struct mac_start starts[STARTS];

struct mac_start *mac_start_take(void *(*routine)(void *), void *arg)
{
	static _Atomic unsigned next;
	struct mac_start *start = NULL;
	int saved = errno, was;

	for (unsigned i = 0; i < SEARCH && !start; i++) {
		struct mac_start *at = &starts[atomic_fetch_add(&next, 1) % STARTS];

		if (!atomic_exchange(&at->taken, true))
			start = at;
	}
	if (!start)
		return NULL;
	start->routine = routine;
	start->arg = arg;
	start->creator = mac_thread_seq(mac_job.mac.calls->self_tid());
	/* A thread that is cancelled in the write would keep the lock of the table of routines. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	start->site = agent_start_routine((const void *)(uintptr_t)routine);
	pthread_setcancelstate(was, NULL);
	errno = saved;
	return start;
}

void mac_start_drop(struct mac_start *start)
{
	atomic_store(&start->taken, false);
}

void *mac_start_run(void *argument)
{
	struct mac_start *start = argument;
	void *(*routine)(void *) = start->routine;
	void *arg = start->arg;

	mac_thread_origin(mac_job.mac.calls->self_tid(), start->creator, start->site);
	mac_start_drop(start);
	return routine(arg);
}
