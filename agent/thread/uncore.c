/* SPDX-License-Identifier: MIT */
/*
 * uncore.c - uncore events: opened by the job's first process only, on the CPUs of the PMU's
 * cpumask, and read with the inherit groups.
 */
#include "agent/base/agent.h"
#include "agent/base/fdspace.h"
#include "agent/core/count/group.h"
#include "agent/base/note.h"
#include "agent/base/seccomp_probe.h"
#include "agent/thread/thread.h"

#include <errno.h>

/* Opens an event as the next group of the plan. */
static int open_one(struct pmc_plan *plan, const struct pmc_planned *event, int cpu)
{
	struct pmc_control_totals *totals = &pmc_agent_control.uncore;
	unsigned g = plan->groups;
	int error;

	if (event->state != PMC_COUNTED)
		return -event->error;
	if (!agent_fds_take(1))
		return -EMFILE;
	plan->events[g] = *event;
	plan->events[g].group = (uint16_t)g;
	plan->first[g] = g;
	plan->first[g + 1] = g + 1;
	pmc_group_attr(&event->event, event->scope, true, &plan->attrs[g]);
	error = agent_groups_open(plan, g, g + 1, PMC_GROUP_OWN, -1, cpu, totals->fds, totals->ids);
	if (error) {
		agent_fds_close(&totals->fds[g], 1);
		return error == AGENT_NOT_ALLOWED ? -EPERM : error;
	}
	totals->first[g + 1] = (uint16_t)(g + 1);
	totals->groups = plan->opened = plan->groups = g + 1;
	return 0;
}

void agent_uncore_open(void)
{
	struct pmc_control_totals *totals = &pmc_agent_control.uncore;
	struct pmc_plan *plan = &agent.uncore_plan, made;
	int cpus[PMC_EVENTS_MAX], errors[PMC_EVENTS_MAX];
	bool refused = false;

	for (unsigned i = 0; i < PMC_EVENTS_MAX; i++)
		totals->fds[i] = -1;
	if (pmc_plan_uncore(&agent.plan, &agent.arena, &made, cpus) != 0 || made.count == 0)
		return;
	plan->events = pmc_arena_alloc(&agent.arena, sizeof(*plan->events) * (made.count + 1));
	plan->attrs = pmc_arena_alloc(&agent.arena, sizeof(*plan->attrs) * (made.count + 1));
	if (!plan->events || !plan->attrs)
		return;
	for (unsigned i = 0; i < made.count; i++)
		errors[i] = -open_one(plan, &made.events[i], cpus[i]);
	plan->count = plan->groups;
	for (unsigned i = 0; i < made.count; i++) {
		struct pmc_planned *event = &made.events[i];

		if (errors[i] == 0)
			continue;
		if (event->state == PMC_COUNTED)
			event->state = (uint8_t)pmc_plan_refusal(errors[i]);
		event->error = errors[i];
		refused |= event->state == PMC_NOT_PERMITTED;
		plan->events[plan->count++] = *event;
	}
	if (pmc_plan_seal(plan, &agent.arena) != 0)
		return;
	totals->eventset = plan->hash;
	if (refused && agent_perf_allowed())
		agent_note(NOTE_UNCORE_REFUSED);
	pmc_agent_control.uncore_frame = (uint64_t)(uintptr_t)plan->frame;
	pmc_agent_control.uncore_bytes = plan->frame_bytes;
}

void agent_uncore_frames(struct pmc_frame_buf *buf, uint64_t snapshot)
{
	if (!agent.uncore_plan.hash)
		return;
	agent_total_frame(buf, &pmc_agent_control.uncore, PMC_TOTAL_UNCORE, snapshot);
	pmc_plan_frame(&agent.uncore_plan, buf);
}

void agent_uncore_forked(void)
{
	pmc_agent_control.uncore.groups = 0;
	pmc_agent_control.uncore.eventset = 0;
	agent.uncore_plan.hash = 0;
}
