/* SPDX-License-Identifier: MIT */
/*
 * inherit_groups.c - the inherit groups and uncore events of the job's first process.
 *
 * The thread group counts all threads of the process, those without a row too; the exec group
 * counts descendants from their exec on. Opened while single-threaded: a group must be complete
 * before a thread inherits it.
 */
#include "agent/thread/thread.h"

static int open_all(struct pmc_control_totals *totals, const struct pmc_plan *what,
		    enum pmc_perf_group_kind kind)
{
	const struct pmc_perf_target target = { .kind = kind, .cpu = -1 };
	int error;

	memset(totals->fds, -1, sizeof(totals->fds));
	if (!agent_fds_take(what->opened))
		return -EMFILE;
	error = agent_groups_open(what, 0, what->groups, target, totals->fds, totals->ids);
	if (error) {
		agent_fds_close(totals->fds, what->opened);
		return error;
	}
	totals->groups = what->groups;
	totals->flags = kind == PMC_PERF_GROUP_PLAIN ? PMC_TOTAL_WITH_FORKS : 0;
	totals->eventset = what->hash;
	for (unsigned g = 0; g <= what->groups; g++)
		totals->first[g] = (uint16_t)what->first[g];
	return 0;
}

/* ---- uncore events: on the CPUs of the PMU's cpumask ----------------------------------------*/

/* Opens an event as the next group of the plan. */
static int open_one(struct pmc_plan *plan, const struct pmc_planned *event, int cpu)
{
	struct pmc_control_totals *totals = &pmc_agent_control.uncore;
	const struct pmc_perf_target target = { .pid = -1, .cpu = cpu };
	unsigned g = plan->groups;
	int error;

	if (!agent_fds_take(1))
		return -EMFILE;
	plan->events[g] = *event;
	plan->events[g].group = (uint16_t)g;
	plan->first[g] = g;
	plan->first[g + 1] = g + 1;
	pmc_perf_group_attr(&event->event, event->scope, true, &plan->attrs[g]);
	error = agent_groups_open(plan, g, g + 1, target, totals->fds, totals->ids);
	if (error) {
		agent_fds_close(&totals->fds[g], 1);
		return error == AGENT_NOT_ALLOWED ? -EPERM : error;
	}
	totals->first[g + 1] = (uint16_t)(g + 1);
	totals->groups = plan->opened = plan->groups = plan->readings = g + 1;
	return 0;
}

static void open_uncore(void)
{
	struct pmc_control_totals *totals = &pmc_agent_control.uncore;
	struct pmc_plan *plan = &agent.uncore_plan, made;
	int cpus[PMC_EVENTS_MAX];
	bool refused = false;

	if (pmc_plan_uncore(&agent.plan, &agent.arena, &made, cpus) != 0 || made.count == 0)
		return;
	memset(totals->fds, -1, sizeof(totals->fds));
	plan->events = pmc_arena_alloc(&agent.arena, sizeof(*plan->events) * (made.count + 1));
	plan->attrs = pmc_arena_alloc(&agent.arena, sizeof(*plan->attrs) * (made.count + 1));
	if (!plan->events || !plan->attrs)
		return;
	for (unsigned i = 0; i < made.count; i++) {
		struct pmc_planned *event = &made.events[i];

		if (event->state == PMC_COUNTED)
			event->error = -open_one(plan, event, cpus[i]);
		if (event->state == PMC_COUNTED && event->error)
			event->state = (uint8_t)pmc_plan_refusal(event->error);
		refused |= event->state == PMC_NOT_PERMITTED;
	}
	plan->count = plan->groups;
	for (unsigned i = 0; i < made.count; i++)
		if (made.events[i].state != PMC_COUNTED)
			plan->events[plan->count++] = made.events[i];
	if (pmc_plan_seal(plan, &agent.arena) != 0)
		return;
	totals->eventset = plan->hash;
	if (refused && agent_permitted(AGENT_PERF))
		agent_note(NOTE_UNCORE_REFUSED);
	pmc_agent_control.uncore_frame = (uint64_t)(uintptr_t)plan->frame;
	pmc_agent_control.uncore_bytes = plan->frame_bytes;
}

/* ---- inherit groups ------------------------------------------------------------------------*/

/* Whether accounted events are counted by perf events too: accounts are of processes with an agent,
 * and of children that have ended. */
static bool needs_twins(void)
{
	return agent.plan.readings > agent.plan.groups &&
	       (agent.config.inherit == PMC_INHERIT_FULL || !agent.config.follow);
}

/* The events of inherit groups, NULL: none. Without PMC_INHERIT=full no tracepoints: they would
 * count the agent's own calls, some twenty a thread. */
static const struct pmc_plan *full_plan(void)
{
	const bool twins = needs_twins(), full = agent.config.inherit == PMC_INHERIT_FULL;
	struct pmc_plan *plan = &agent.inherit_plan;
	struct pmc_events events = { 0 };

	if (!twins && (full || !agent.plan.traces))
		return &agent.plan;
	events.list = pmc_arena_alloc(&agent.arena, (agent.plan.count + 1) * sizeof(*events.list));
	for (unsigned i = 0; events.list && i < agent.plan.count; i++) {
		struct pmc_event *event = &events.list[events.count];

		*event = agent.plan.events[i].event;
		events.count +=
			event->accounted ? twins : full || event->type != PERF_TYPE_TRACEPOINT;
		event->accounted = false;
	}
	return pmc_plan_make(&events, agent_probe(), &agent.arena, plan) == 0 && plan->groups ?
		       plan :
		       NULL;
}

static enum pmc_inherit resolve(enum pmc_inherit asked)
{
	if (asked != PMC_INHERIT_AUTO)
		return asked;
	if (agent.plan.opened == 0)
		return needs_twins() ? PMC_INHERIT_FULL : PMC_INHERIT_OFF;
	/* Inherited copies use PMU counters beside the own groups. */
	if (!agent.plan.hardware || pmc_plan_fits_twice(&agent.plan, agent_probe()))
		return PMC_INHERIT_FULL;
	return PMC_INHERIT_CLOCK;
}

static const struct pmc_plan *choose(void)
{
	agent.inherit =
		agent_permitted(AGENT_PERF) ? resolve(agent.config.inherit) : PMC_INHERIT_OFF;
	if (agent.inherit == PMC_INHERIT_FULL && agent.plan.opened == 0 && !needs_twins())
		agent.inherit = PMC_INHERIT_CLOCK;
	if (agent.inherit == PMC_INHERIT_FULL) {
		const struct pmc_plan *plan = full_plan();

		agent.inherit = plan ? PMC_INHERIT_FULL : PMC_INHERIT_OFF;
		return plan;
	}
	if (agent.inherit == PMC_INHERIT_CLOCK &&
	    pmc_plan_clock(&agent.arena, &agent.inherit_plan) == 0)
		return &agent.inherit_plan;
	return NULL;
}

static void open_inherit(const struct pmc_plan *plan)
{
	struct pmc_control_totals *threads = &pmc_agent_control.threads;
	struct pmc_control_totals *execs = &pmc_agent_control.execs;
	const struct pmc_plan *exec_plan;
	int error;

	/* Without agents in descendants their counters are not used twice. */
	exec_plan = !agent.config.follow && agent.plan.opened &&
				    !(agent.inherit == PMC_INHERIT_FULL && needs_twins()) ?
			    &agent.plan :
			    plan;
	error = open_all(threads, plan, PMC_PERF_GROUP_THREADS);
	if (error == -EINVAL) {
		error = open_all(threads, plan, PMC_PERF_GROUP_PLAIN);
		if (!error)
			agent_note(NOTE_INHERIT_FORKS);
	}
	/* The exec group starts at an exec even if counting is off: none with PMC_START=off. */
	if (!error && pmc_agent_control.counting)
		error = open_all(execs, exec_plan, PMC_PERF_GROUP_EXEC);
	if (error)
		agent_note(NOTE_INHERIT_OPEN);
}

void agent_inherit_open(void)
{
	const struct pmc_plan *plan;

	open_uncore();
	plan = choose();
	if (plan)
		open_inherit(plan);
	pmc_agent_control.inherit_frame = (uint64_t)(uintptr_t)agent.inherit_plan.frame;
	pmc_agent_control.inherit_bytes = agent.inherit_plan.frame_bytes;
	if (pmc_agent_control.counting)
		agent_inherit_enable();
}

/* Without, the pages of the totals are left alone: touching one costs a page fault. */
static bool has_inherit(void)
{
	return agent.inherit != PMC_INHERIT_OFF;
}

static void enable(const struct pmc_control_totals *totals)
{
	const struct snapshot_groups groups = snapshot_groups_of_total(totals);

	agent_groups_switch(&groups, PERF_EVENT_IOC_ENABLE);
}

void agent_inherit_enable(void)
{
	if (has_inherit())
		enable(&pmc_agent_control.threads);
	if (agent.uncore_plan.groups)
		enable(&pmc_agent_control.uncore);
}

int *agent_inherit_find(int fd)
{
	struct pmc_control_totals *all[] = { &pmc_agent_control.threads, &pmc_agent_control.execs,
					     &pmc_agent_control.uncore };

	for (unsigned t = 0; t < 3; t++)
		for (unsigned i = 0; i < all[t]->first[all[t]->groups]; i++)
			if (all[t]->fds[i] == fd)
				return &all[t]->fds[i];
	return NULL;
}

void agent_inherit_frames(struct pmc_frame_buf *buf, uint64_t snapshot)
{
	const struct reader reader = agent_reader(snapshot);

	if (agent.uncore_plan.hash) {
		snapshot_total(&reader, buf, &pmc_agent_control.uncore, PMC_TOTAL_UNCORE);
		pmc_plan_frame(&agent.uncore_plan, buf);
	}
	if (has_inherit()) {
		snapshot_total(&reader, buf, &pmc_agent_control.threads, PMC_TOTAL_THREADS);
		snapshot_total(&reader, buf, &pmc_agent_control.execs, PMC_TOTAL_EXEC);
	}
	if (agent.inherit_plan.hash)
		pmc_plan_frame(&agent.inherit_plan, buf);
}

void agent_inherit_forked(void)
{
	/* The descriptors are closed with all others of the parent. */
	if (agent.uncore_plan.groups || agent.uncore_plan.hash) {
		pmc_agent_control.uncore.groups = 0;
		pmc_agent_control.uncore.eventset = 0;
	}
	agent.uncore_plan.groups = 0;
	agent.uncore_plan.hash = 0;
	if (has_inherit()) {
		pmc_agent_control.threads.groups = 0;
		pmc_agent_control.execs.groups = 0;
	}
	agent.inherit_plan.hash = 0;
	agent.inherit = PMC_INHERIT_OFF;
}
