/* SPDX-License-Identifier: MIT */
/* run_plan.c - `pmctl run -n`: what each thread would open, and what cannot be opened here. */
#include "agent/core/event.h"
#include "agent/core/group.h"
#include "agent/core/plan.h"
#include "agent/core/report.h"
#include "tools/pmctl.h"
#include "tools/run.h"
#include "tools/tool_probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int probe(struct pmc_attr *attr, int leader)
{
	return tool_perf_killed() ? -EPERM : pmc_group_probe(attr, leader);
}

static const char *scope_note(const struct pmc_planned *p)
{
	if (p->flags & PMC_EVENT_FELL_BACK)
		return " (user mode only: not permitted to count the kernel)";
	return p->scope == PMC_SCOPE_USER   ? " (user mode)" :
	       p->scope == PMC_SCOPE_KERNEL ? " (kernel mode)" :
					      "";
}

static void print_groups(const struct pmc_plan *plan)
{
	for (unsigned g = 0; g < plan->groups; g++) {
		unsigned counters = 0;

		for (unsigned i = plan->first[g]; i < plan->first[g + 1]; i++)
			counters += pmc_event_needs_pmu(&plan->events[i].event);
		printf("group %u: descriptors %u, PMU counters %u\n", g + 1,
		       plan->first[g + 1] - plan->first[g], counters);
		for (unsigned i = plan->first[g]; i < plan->first[g + 1]; i++)
			printf("  %s%s\n", plan->events[i].event.name,
			       scope_note(&plan->events[i]));
	}
	if (plan->opened == plan->count)
		return;
	puts("not counted here (pmctl doctor tells more):");
	for (unsigned i = plan->opened; i < plan->count; i++)
		printf("  %s: %s%s%s%s\n", plan->events[i].event.name,
		       pmc_state_name(plan->events[i].state), plan->events[i].error ? " (" : "",
		       plan->events[i].error ? strerror(plan->events[i].error) : "",
		       plan->events[i].error ? ")" : "");
}

/* `auto` as the agent decides it. */
static const char *inherit_mode(enum pmc_inherit asked, const struct pmc_plan *plan)
{
	if (plan->opened == 0)
		return "off: nothing to inherit";
	switch (asked == PMC_INHERIT_AUTO ?
			(plan->hardware && !pmc_plan_fits_twice(plan, probe) ? PMC_INHERIT_CLOCK :
									       PMC_INHERIT_FULL) :
			asked) {
	case PMC_INHERIT_CLOCK:
		return "clock: unseen work is known in CPU time";
	case PMC_INHERIT_FULL:
		return "full: unseen work is known in every event";
	default:
		return "off: unseen work is not known";
	}
}

int run_print_plan(struct run *run)
{
	const char *text = run->config.events ? run->config.events : pmc_events_default;
	struct pmc_arena arena = { 0 };
	struct pmc_parse_error error;
	struct pmc_events events;
	struct pmc_plan plan;
	int code = 0;

	if (pmc_events_parse(text, NULL, &arena, &events, &error) != 0) {
		code = tool_fail(EXIT_OURS, "'%s': %s", text, error.text);
		goto out;
	}
	if (pmc_plan_make(&events, probe, &arena, &plan) != 0) {
		code = tool_fail(EXIT_OURS, "out of memory");
		goto out;
	}
	if (tool_perf_killed())
		puts("a seccomp filter kills on perf_event_open: only OS accounting is left");
	print_groups(&plan);
	printf("per thread: descriptors %u, groups %u; CPU time, faults and switches besides\n",
	       plan.opened, plan.groups);
	printf("inherit %s\n", inherit_mode(run->config.inherit, &plan));
out:
	pmc_arena_free(&arena);
	return code;
}
