/* SPDX-License-Identifier: MIT */
/*
 * seccomp_probe.c - finds out whether perf_event_open, ioctl and process_vm_readv may be
 * called.
 *
 * A seccomp filter may kill the process for them. So under a filter the first call is made by a
 * throwaway clone.
 */
#include "agent/base/seccomp_probe.h"
#include "agent/base/agent.h"
#include "agent/base/throwaway_clone.h"
#include "lib/count/group.h"
#include "lib/base/sys.h"
#include "agent/base/note.h"

#include <errno.h>
#include <linux/prctl.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuse(struct pmc_attr *attr, int leader)
{
	(void)attr, (void)leader;
	return -EPERM;
}

void agent_perf_try(void)
{
	struct pmc_attr attr = { .base = { .type = PERF_TYPE_SOFTWARE,
					   .config = PERF_COUNT_SW_TASK_CLOCK,
					   .disabled = 1 } };
	int fd = pmc_perf_open_self(&attr, -1);

	/* Without an event, too: the filter decides by the number of the call. */
	pmc_perf_group_disable(fd);
	if (fd >= 0)
		syscall(SYS_close, fd);
}

void agent_read_try(void)
{
	pmc_sys6(SYS_process_vm_readv, pmc_sys1(SYS_getpid, 0), NULL, 0, NULL, 0, 0);
}

static void try_once(void *arg)
{
	void (*const *call)(void) = arg;

	(*call)();
}

/* Not inlined: every thread would need that stack. */
__attribute__((noinline)) static bool survives(void (*call)(void))
{
	_Alignas(16) char stack[4096];

	return agent_throwaway_clone(try_once, &call, stack, sizeof(stack)) == 1;
}

static bool filtered(void)
{
	return pmc_sys1(SYS_prctl, PR_GET_SECCOMP) > 0;
}

/* Tells of a filter that a hook has not seen, too, until there was one: threads may have different
 * ones, and a call that one of them forbids stays forbidden. */
static _Atomic bool probed;
static _Atomic bool allowed = true;

/* Threads that get here at the same time each probe it. */
__attribute__((noinline, cold)) static void probe(void)
{
	int saved = errno;

	if (!survives(agent_perf_try) && atomic_exchange(&allowed, false))
		agent_note(NOTE_SECCOMP_KILL);
	atomic_store(&probed, true);
	errno = saved;
}

void agent_perf_forbid(void)
{
	atomic_store(&allowed, false);
}

bool agent_perf_allowed(void)
{
	if (!atomic_load(&probed) && filtered())
		probe();
	return atomic_load(&allowed);
}

static _Atomic enum { READ_UNKNOWN, READ_ALLOWED, READ_FORBIDDEN } reads;
static _Atomic bool started_free; /* of filters */

void agent_filters_at_start(void)
{
	atomic_store(&started_free, !filtered());
}

bool agent_read_allowed(void)
{
	int saved = errno;

	if (atomic_load(&reads) == READ_UNKNOWN) {
		agent_filters_at_start();
		atomic_store(&reads, atomic_load(&started_free) || survives(agent_read_try) ?
					     READ_ALLOWED :
					     READ_FORBIDDEN);
	}
	errno = saved;
	return atomic_load(&reads) == READ_ALLOWED;
}

bool agent_unseen_filter(void)
{
	return atomic_load_explicit(&started_free, memory_order_relaxed) && filtered();
}

pmc_perf_opener agent_probe(void)
{
	return agent_perf_allowed() ? pmc_perf_open_self : refuse;
}
