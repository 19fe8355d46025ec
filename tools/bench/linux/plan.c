/* SPDX-License-Identifier: MIT */
/*
 * plan.c - the events of a bench on Linux: plan and passes.
 *
 * If the PMU cannot run all events at once, each run counts one group of them (a pass), so that
 * none is multiplexed.
 */
#include "tools/bench/bench.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/try_open.h"

static bool group_needs_pmu(const struct pmc_plan *plan, unsigned group)
{
	for (unsigned i = plan->first[group]; i < plan->first[group + 1]; i++)
		if (pmc_event_needs_pmu(&plan->events[i].event))
			return true;
	return false;
}

/* The pass of a group: groups without hardware events are in each. */
static unsigned pass_of(const struct pmc_plan *plan, unsigned group)
{
	unsigned pass = 0;

	if (!group_needs_pmu(plan, group))
		return BENCH_EVERY_PASS;
	for (unsigned g = 0; g < group; g++)
		pass += group_needs_pmu(plan, g);
	return pass;
}

const char *const bench_remark;

const char *bench_agent_events(struct bench *bench, size_t r)
{
	(void)r;
	return bench->events ? bench->events : pmc_events_default;
}

unsigned bench_pass_of(const struct bench *bench, const struct pmc_planned *event)
{
	return pass_of(&bench->plan, event->group);
}

int bench_make_plan(struct bench *bench, const struct pmc_events *events)
{
	if (pmc_plan_make(events, tool_perf_open, &bench->arena, &bench->plan))
		return tool_fail(EXIT_FAIL, "out of memory");
	for (unsigned g = 0; g < bench->plan.groups; g++)
		bench->passes += group_needs_pmu(&bench->plan, g);
	bench->passes += bench->passes == 0;
	return 0;
}

void bench_why(const struct bench *bench, const struct pmc_planned *event, char *text, size_t cap)
{
	(void)bench;
	pmc_plan_why(event, event->error, text, cap);
}
