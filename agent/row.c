/* SPDX-License-Identifier: MIT */
/* row.c - reads a thread's clocks and groups and frames them as a row. Async-signal-safe. */
#include "agent/agent.h"
#include "agent/core/clock.h"
#include "agent/core/group.h"
#include "agent/thread.h"

#include <string.h>

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void fill_accounting(struct pmc_thread_fixed *row, const struct slot *slot, bool own)
{
	/* What an earlier image of this process reported is not reported again. */
	static const struct agent_reported nothing;
	const struct agent_reported *before =
		(slot->flags & PMC_THREAD_MAIN) ? &agent.reported : &nothing;
	struct pmc_usage usage;

	if (!pmc_thread_cpu_ns(own ? 0 : (int)slot->tid, &row->cpu_ns))
		row->flags |= PMC_THREAD_NO_CPU;
	row->cpu_ns = less(row->cpu_ns, before->thread_cpu_ns);
	/* rusage speaks only of the calling thread. */
	if (!own) {
		row->flags |= PMC_THREAD_NO_RUSAGE;
		return;
	}
	pmc_usage_thread(&usage);
	row->minor_faults = less(usage.minor_faults, before->thread.minor_faults);
	row->major_faults = less(usage.major_faults, before->thread.major_faults);
	row->voluntary_switches = less(usage.voluntary_switches, before->thread.voluntary_switches);
	row->involuntary_switches =
		less(usage.involuntary_switches, before->thread.involuntary_switches);
}

void agent_row(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot, bool own,
	       enum pmc_thread_state state)
{
	const struct pmc_plan *plan = &agent.plan;
	const int *fds = slot_fds(&agent_registry, slot);
	const uint64_t *ids = slot_ids(slot);
	struct pmc_thread_fixed row = {
		.seq = slot->seq,
		.tid = slot->tid,
		.state = (uint8_t)state,
		.flags = (uint8_t)slot->flags,
		.n_groups = (uint16_t)plan->groups,
		.start_ns = slot->start_ns,
		.created_by = slot->created_by,
		.eventset = plan->hash,
		.start_site = slot->site,
		.reason = slot->reason,
	};
	struct pmc_reading readings[PMC_EVENTS_MAX];
	uint64_t values[PMC_EVENTS_MAX];

	/* The groups first: what follows is our own work. */
	for (unsigned g = 0; g < plan->groups; g++) {
		unsigned first = plan->first[g], n = plan->first[g + 1] - first;

		if (fds[first] >= 0) {
			pmc_group_read(fds[first], ids[g], n, &readings[g], values + first);
			if (readings[g].error && !row.reason)
				row.reason = readings[g].error;
		} else {
			readings[g] = (struct pmc_reading){ .error = slot->reason };
		}
	}
	/* Closing costs CPU time that the row should have: it is done before the clock is read. */
	if (own && state != PMC_THREAD_LIVE)
		registry_close_fds(&agent_registry, slot);
	fill_accounting(&row, slot, own);
	row.time_ns = pmc_now_ns();
	row.end_ns = state == PMC_THREAD_LIVE ? 0 : row.time_ns;
	memcpy(row.name, slot->name, sizeof(row.name));

	pmc_frame_begin(buf, PMC_FRAME_THREAD, agent.identity, snapshot, &row, sizeof(row));
	for (unsigned g = 0; g < plan->groups; g++) {
		pmc_frame_bytes(buf, &readings[g], sizeof(readings[g]));
		pmc_frame_bytes(buf, values + plan->first[g], readings[g].n * sizeof(*values));
	}
	pmc_frame_end(buf);
}
