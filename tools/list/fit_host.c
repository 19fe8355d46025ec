/* SPDX-License-Identifier: MIT */
/* fit_host.c - pmctl list --fit for this machine, by probing its PMU; see plan/pack.c. */
#include "lib/plan/plan.h"
#include "tools/cli/flags.h"
#include "tools/cli/try_open.h"
#include "tools/list/list.h"

#include <stdlib.h>
#include <string.h>

/* The PMU of an event: events of different PMUs do not compete, and cannot be in one group. */
static uint32_t pmu_of(const struct pmc_event *event)
{
	if (!pmc_event_needs_pmu(event))
		return PERF_TYPE_SOFTWARE;
	return event->type == PERF_TYPE_HARDWARE || event->type == PERF_TYPE_HW_CACHE ?
		       PERF_TYPE_RAW :
		       event->type;
}

/* A list_together of planned events. */
static int together(void *arg, uint64_t events)
{
	const struct pmc_planned *const *list = arg;
	int result = 1;

	while (events && result > 0) {
		const struct pmc_event *group[PMC_EVENTS_MAX];
		enum pmc_scope scopes[PMC_EVENTS_MAX];
		unsigned size = 0;

		for (unsigned i = 0; i < PMC_EVENTS_MAX; i++) {
			if (!(events >> i & 1) ||
			    (size && pmu_of(&list[i]->event) != pmu_of(group[0])))
				continue;
			group[size] = &list[i]->event;
			scopes[size++] = list[i]->scope;
			events &= ~(UINT64_C(1) << i);
		}
		result = pmc_probe_together(tool_perf_open, group, scopes, size);
	}
	return result;
}

static int by_name(const void *a, const void *b)
{
	const struct pmc_planned *const *x = a, *const *y = b;
	int order = strcmp((*x)->event.name, (*y)->event.name);

	return order ? order : (int)(*x)->event.position - (int)(*y)->event.position;
}

static const char *refusal(struct list *list, const struct pmc_planned *planned)
{
	if (tool_perf_killed())
		return TOOL_KILLED_TEXT;
	if (pmc_event_is_uncore(&planned->event))
		return "counted for the whole machine, not for a thread";
	return list_refusal(list, planned).reason;
}

static int solve(struct list_fit *fit, const struct pmc_plan *plan)
{
	const struct pmc_planned *order[PMC_EVENTS_MAX];
	uint64_t candidates = 0;

	fit->n = plan->count;
	for (unsigned i = 0; i < fit->n; i++)
		order[i] = &plan->events[i];
	/* The result must not depend on the order of the arguments. */
	qsort(order, fit->n, sizeof(*order), by_name);
	for (unsigned i = 0; i < fit->n; i++) {
		list_fit_name(fit, i, order[i]->event.name);
		fit->events[i].counter = -1;
		if (order[i]->group != PMC_NO_GROUP) {
			candidates |= UINT64_C(1) << i;
			continue;
		}
		fit->clash |= fit->clash ? 0 : UINT64_C(1) << i;
		fit->events[i].reason = refusal(&fit->list, order[i]);
		if (pmu_of(&order[i]->event) == PERF_TYPE_RAW && !fit->list.core_pmu)
			fit->remark = "This machine has no hardware PMU; see pmctl doctor.";
	}
	return list_fit_try(fit, candidates, together, order);
}

int list_fit_host(struct list_fit *fit, const char *text)
{
	struct pmc_arena *arena = &fit->list.arena;
	struct pmc_events events;
	struct pmc_plan plan;
	int failed;

	list_init(&fit->list);
	if (tool_parse_events("--fit", text, arena, &events))
		return EXIT_USAGE;
	for (unsigned i = 0; i < events.count; i++)
		if (events.list[i].brace != PMC_NO_BRACE && !events.sets)
			return tool_fail(EXIT_USAGE,
					 "unexpected braces in '%s': --fit groups the events "
					 "itself; leave out the braces",
					 text);
	failed = pmc_plan_make(&events, tool_perf_open, arena, &plan);
	if (!failed)
		failed = solve(fit, &plan);
	return failed ? tool_fail(EXIT_FAIL, "cannot probe the PMU: %s", strerror(-failed)) :
			EXIT_OK;
}
