/* SPDX-License-Identifier: MIT */
/* plan.c - asks the kernel which events open, and packs those into groups. */
#include "agent/core/plan.h"
#include "agent/core/group.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* What an open that failed says of the event. */
static enum pmc_state state_of(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return PMC_NOT_PERMITTED;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case EBUSY:
	case EINTR:
		return PMC_NOT_COUNTED;
	default:
		return PMC_NOT_SUPPORTED;
	}
}

static int probe_one(pmc_probe_open probe, const struct pmc_planned *planned, int leader)
{
	struct pmc_attr attr;

	pmc_group_attr(planned, PMC_GROUP_OWN, leader < 0, &attr);
	return probe(&attr, leader);
}

static enum pmc_scope scope_of(const struct pmc_event *event)
{
	if (event->exclude_kernel && !event->exclude_user)
		return PMC_SCOPE_USER;
	if (event->exclude_user && !event->exclude_kernel)
		return PMC_SCOPE_KERNEL;
	return PMC_SCOPE_ALL;
}

/* Fills in what opening the event alone tells. Returns the open descriptor or -errno. */
static int try_alone(pmc_probe_open probe, struct pmc_planned *planned)
{
	struct pmc_event *event = &planned->event;
	int fd;

	planned->group = PMC_NO_GROUP;
	planned->scope = (uint8_t)scope_of(event);
	fd = probe_one(probe, planned, -1);
	/* perf_event_paranoid 2: an unprivileged user may count user mode only. */
	if ((fd == -EACCES || fd == -EPERM) && !event->asked_scope &&
	    planned->scope == PMC_SCOPE_ALL) {
		planned->scope = PMC_SCOPE_USER;
		int user = probe_one(probe, planned, -1);

		if (user >= 0) {
			planned->flags |= PMC_EVENT_FELL_BACK;
			return user;
		}
		planned->scope = PMC_SCOPE_ALL;
	}
	if (fd < 0) {
		planned->state = (uint8_t)state_of(-fd);
		planned->error = -fd;
	}
	return fd;
}

struct packing {
	int leader[PMC_EVENTS_MAX]; /* an open descriptor of each group's leader */
	int brace[PMC_EVENTS_MAX];
	unsigned groups;
	int fds[PMC_EVENTS_MAX]; /* all that is open, closed at the end */
	unsigned n_fds;
};

static void keep(struct packing *packing, int fd)
{
	packing->fds[packing->n_fds++] = fd;
}

/* The first group that takes the event as a sibling, else a new one. `alone` is its own open. */
static unsigned place(struct packing *packing, pmc_probe_open probe, struct pmc_planned *planned,
		      int alone)
{
	for (unsigned g = 0; g < packing->groups; g++) {
		if (packing->brace[g] != planned->event.brace)
			continue;
		int fd = probe_one(probe, planned, packing->leader[g]);

		if (fd < 0)
			continue;
		close(alone);
		keep(packing, fd);
		return g;
	}
	packing->leader[packing->groups] = alone;
	packing->brace[packing->groups] = planned->event.brace;
	keep(packing, alone);
	return packing->groups++;
}

bool pmc_event_needs_pmu(const struct pmc_event *event)
{
	return event->type != PERF_TYPE_SOFTWARE && event->type != PERF_TYPE_TRACEPOINT &&
	       event->type != PERF_TYPE_BREAKPOINT;
}

int pmc_plan_make(const struct pmc_events *events, pmc_probe_open probe, struct pmc_arena *arena,
		  struct pmc_plan *plan)
{
	struct packing packing = { .groups = 0 };
	struct pmc_planned *tried;
	unsigned at = 0;

	memset(plan, 0, sizeof(*plan));
	if (events->count > PMC_EVENTS_MAX)
		return -E2BIG;
	tried = pmc_arena_alloc(arena, sizeof(*tried) * (events->count + 1));
	plan->events = pmc_arena_alloc(arena, sizeof(*tried) * (events->count + 1));
	if (!tried || !plan->events)
		return -ENOMEM;
	for (unsigned i = 0; i < events->count; i++) {
		tried[i].event = events->list[i];
		int alone = try_alone(probe, &tried[i]);

		if (alone < 0)
			continue;
		tried[i].group = (uint16_t)place(&packing, probe, &tried[i], alone);
		plan->hardware |= pmc_event_needs_pmu(&tried[i].event);
	}
	for (unsigned i = 0; i < packing.n_fds; i++)
		close(packing.fds[i]);

	plan->count = events->count;
	plan->groups = packing.groups;
	for (unsigned g = 0; g < packing.groups; g++) {
		plan->first[g] = at;
		for (unsigned i = 0; i < events->count; i++)
			if (tried[i].group == g)
				plan->events[at++] = tried[i];
	}
	plan->first[packing.groups] = plan->opened = at;
	for (unsigned i = 0; i < events->count; i++)
		if (tried[i].group == PMC_NO_GROUP)
			plan->events[at++] = tried[i];
	return pmc_plan_seal(plan, arena);
}

int pmc_plan_clock(struct pmc_arena *arena, struct pmc_plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	plan->events = pmc_arena_alloc(arena, sizeof(*plan->events));
	if (!plan->events)
		return -ENOMEM;
	plan->events[0].event = (struct pmc_event){
		.name = "task-clock",
		.unit = "ns",
		.pmu = "",
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.scale = 1.0,
		.brace = PMC_NO_BRACE,
	};
	plan->count = plan->opened = plan->groups = plan->first[1] = 1;
	return pmc_plan_seal(plan, arena);
}
