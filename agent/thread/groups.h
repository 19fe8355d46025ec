/* SPDX-License-Identifier: MIT */
/* groups.h - open, switch and read groups: of a thread, inherit groups, uncore events. */
#ifndef PMC_AGENT_THREAD_GROUPS_H
#define PMC_AGENT_THREAD_GROUPS_H

#include "agent/base/agent.h"
#include "agent/core/count/group.h"
#include "agent/core/dump/frame.h"
#include "agent/core/live/registry.h"

/* The error of agent_groups_open if seccomp does not permit perf_event_open: no errno. */
#define AGENT_NOT_ALLOWED 1

/* Open groups in the memory of their owner. */
struct agent_groups {
	unsigned groups;
	const uint16_t *first; /* group g is fds[first[g] .. first[g+1]) */
	const int *fds;
	const uint64_t *ids; /* of the leaders, by group */
	const uint64_t *base;
};

/* What the readings of a frame showed. */
struct agent_groups_seen {
	uint64_t enabled_ns;	  /* raw time enabled of a group; 0: none could be read */
	uint64_t waited_ns;	  /* the longest raw time enabled of a group that has not run */
	uint64_t first_waited_ns; /* that of the first group */
};

struct agent_groups agent_groups_of(struct slot *slot);
struct agent_groups agent_groups_of_total(const struct pmc_control_totals *totals);

/* Opens groups from <= g < to of a plan in one window and marks their descriptors, which the caller
 * has taken from the agent's share. fds and ids are those of group 0. A group that fails is left
 * out; returns 0 or the first error. */
int agent_groups_open(const struct pmc_plan *plan, unsigned from, unsigned to,
		      enum pmc_group_kind kind, int pid, int cpu, int *fds, uint64_t *ids);

static inline void agent_groups_enable(const struct agent_groups *groups)
{
	for (unsigned g = 0; g < groups->groups; g++)
		if (groups->fds[groups->first[g]] >= 0)
			pmc_group_enable(groups->fds[groups->first[g]]);
}

void agent_groups_disable(const struct agent_groups *groups);

/* Appends the readings, less their bases, to the frame being built. The space behind it, of
 * AGENT_LINE bytes and the words of a group, is scratch. *reason: why descriptors are -1; the first
 * error is stored there if it was 0. Async-signal-safe. */
struct agent_groups_seen agent_groups_frame(struct pmc_frame_buf *buf,
					    const struct agent_groups *groups, uint32_t *reason);

#endif
