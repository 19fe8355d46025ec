/* SPDX-License-Identifier: MIT */
/* groups.c - opens, switches and reads the groups that this process holds. */
#include "agent/base/fdspace.h"
#include "agent/base/seccomp_probe.h"
#include "lib/dump/build.h"
#include "agent/thread/thread.h"

#include <errno.h>

struct agent_groups agent_groups_of(struct slot *slot)
{
	return (struct agent_groups){
		.groups = agent.plan.groups,
		.first = pmc_agent_control.first,
		.fds = set_fds(&agent_registry, slot->data),
		.ids = set_ids(slot->data),
		.base = set_base(&agent_registry, slot->data),
	};
}

struct agent_groups agent_groups_of_total(const struct pmc_control_totals *totals)
{
	return (struct agent_groups){
		.groups = totals->groups,
		.first = totals->first,
		.fds = totals->fds,
		.ids = totals->ids,
		.base = totals->base,
	};
}

int agent_groups_open(const struct pmc_plan *plan, unsigned from, unsigned to,
		      enum pmc_perf_group_kind kind, int pid, int cpu, int *fds, uint64_t *ids)
{
	int error = 0, move_to = agent_fds_window_open();

	/* In the window: no seccomp filter for all threads is installed meanwhile. */
	if (!agent_perf_allowed()) {
		agent_fds_window_close();
		return AGENT_NOT_ALLOWED;
	}
	for (unsigned g = from; g < to; g++) {
		int failed = pmc_plan_open_group(plan, g, kind, pid, cpu, move_to,
						 fds + plan->first[g], &ids[g]);

		error = error ? error : failed;
	}
	/* In the window: no fork meanwhile, whose child must close the marked copies. */
	agent_fds_mark(fds + plan->first[from], plan->first[to] - plan->first[from]);
	agent_fds_window_close();
	return error;
}

void agent_groups_disable(const struct agent_groups *groups)
{
	for (unsigned g = 0; g < groups->groups; g++)
		if (groups->fds[groups->first[g]] >= 0)
			pmc_perf_group_disable(groups->fds[groups->first[g]]);
}

static uint32_t put_group(struct pmc_frame_buf *buf, const struct agent_groups *groups, unsigned g,
			  uint32_t reason, struct agent_groups_seen *seen)
{
	unsigned first = groups->first[g], n = groups->first[g + 1] - first;
	/* Aligned to a cache line: the kernel's copy to an unaligned address costs 0.1 us more. */
	uint64_t *words = (uint64_t *)(((uintptr_t)buf->data + buf->cap -
					PMC_PERF_GROUP_WORDS(n) * sizeof(*words)) &
				       ~(uintptr_t)(AGENT_LINE - 1));
	const uint64_t *base_times = groups->base + 2 * g;
	const uint64_t *base = groups->base + 2 * groups->groups + first;
	struct pmc_reading reading = { .error = reason ? reason : EBADF };
	uint64_t *values;

	if (groups->fds[first] >= 0)
		pmc_perf_group_read(groups->fds[first], groups->ids[g], n, &reading, words);
	if (reading.n) {
		seen->enabled_ns = reading.enabled_ns;
		if (!reading.running_ns && reading.enabled_ns > seen->waited_ns)
			seen->waited_ns = reading.enabled_ns;
		reading.enabled_ns = set_less(reading.enabled_ns, base_times[0]);
		reading.running_ns = set_less(reading.running_ns, base_times[1]);
	}
	values = pmc_put_reading(buf, &reading, NULL);
	for (unsigned i = 0; values && i < reading.n; i++)
		values[i] = set_less(words[i], base[i]);
	return reading.error;
}

struct agent_groups_seen agent_groups_frame(struct pmc_frame_buf *buf,
					    const struct agent_groups *groups, uint32_t *reason)
{
	struct agent_groups_seen seen = { 0 };

	for (unsigned g = 0; g < groups->groups; g++) {
		uint32_t error = put_group(buf, groups, g, *reason, &seen);

		*reason = *reason ? *reason : error;
		if (g == 0)
			seen.first_waited_ns = seen.waited_ns;
	}
	return seen;
}
