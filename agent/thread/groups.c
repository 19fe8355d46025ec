/* SPDX-License-Identifier: MIT */
/* groups.c - opens and switches the groups that this process holds. */
#include "agent/base/fdspace.h"
#include "agent/base/seccomp_probe.h"
#include "agent/thread/thread.h"

#include <errno.h>

int agent_groups_open(const struct pmc_plan *plan, unsigned from, unsigned to,
		      struct pmc_perf_target target, int *fds, uint64_t *ids)
{
	int error = 0;

	target.move_to = agent_fds_window_open();
	/* In the window: no seccomp filter for all threads is installed meanwhile. */
	if (!agent_perf_allowed()) {
		agent_fds_window_close();
		return AGENT_NOT_ALLOWED;
	}
	for (unsigned g = from; g < to; g++) {
		int failed = pmc_plan_open_group(plan, g, &target, fds + plan->first[g], &ids[g]);

		error = error ? error : failed;
	}
	/* In the window: no fork meanwhile, whose child must close the marked copies. */
	agent_fds_mark(fds + plan->first[from], plan->first[to] - plan->first[from]);
	agent_fds_window_close();
	return error;
}

void agent_groups_disable(const struct snapshot_groups *groups)
{
	for (unsigned g = 0; g < groups->groups; g++)
		if (groups->fds[groups->first[g]] >= 0)
			pmc_perf_group_disable(groups->fds[groups->first[g]]);
}
