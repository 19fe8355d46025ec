/* SPDX-License-Identifier: MIT */
/*
 * probe.c - finds out whether perf_event_open may be called at all.
 *
 * A seccomp filter may answer it by killing the process. So under a filter the first attempt is
 * made by a throwaway clone that shares nothing but memory: its death is not ours.
 */
#include "agent/probe.h"
#include "agent/apart.h"
#include "agent/core/group.h"
#include "agent/note.h"

#include <errno.h>
#include <linux/prctl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuse(struct pmc_attr *attr, int leader)
{
	(void)attr, (void)leader;
	return -EPERM;
}

static void try_once(void *arg)
{
	struct pmc_attr attr;
	struct pmc_planned clock = { .event = { .type = PERF_TYPE_SOFTWARE,
						.config = PERF_COUNT_SW_TASK_CLOCK } };

	(void)arg;
	pmc_group_attr(&clock, PMC_GROUP_OWN, true, &attr);
	int fd = pmc_group_probe(&attr, -1);

	if (fd >= 0)
		syscall(SYS_close, fd);
}

/* Its own frame: inlined, every thread would pay for that stack. */
__attribute__((noinline)) static bool survives(void)
{
	_Alignas(16) char stack[4096];

	return agent_apart(try_once, NULL, stack, sizeof(stack));
}

/* The mode that was looked at last, and what came of it. */
static _Atomic int mode_seen, allowed = 1;

bool agent_perf_allowed(void)
{
	int mode = (int)syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0);

	if (mode > 0 && atomic_exchange(&mode_seen, mode) != mode) {
		bool good = survives();

		atomic_store(&allowed, good);
		if (!good)
			agent_note(NOTE_SECCOMP_KILL);
	}
	return atomic_load(&allowed);
}

void agent_perf_filtered(void)
{
	atomic_store(&mode_seen, 0);
}

pmc_probe_open agent_probe(void)
{
	return agent_perf_allowed() ? pmc_group_probe : refuse;
}
