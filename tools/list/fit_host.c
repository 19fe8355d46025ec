/* SPDX-License-Identifier: MIT */
/* fit_host.c - pmctl list --fit for this machine, by probing its PMU; see plan/pmu_probe.h. */
#include "lib/plan/plan.h"
#include "lib/plan/pmu_probe.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/try_open.h"
#include "tools/list/list.h"

#include <stdlib.h>
#include <string.h>

struct candidate {
	const struct pmc_planned *planned;
	uint64_t bit; /* of the fit's event */
};

/* The PMU of an event: events of different PMUs do not compete, and cannot be in one group. */
static uint32_t pmu_of(const struct pmc_event *event)
{
	if (!pmc_event_needs_pmu(event))
		return PERF_TYPE_SOFTWARE;
	return event->type == PERF_TYPE_HARDWARE || event->type == PERF_TYPE_HW_CACHE ?
		       PERF_TYPE_RAW :
		       event->type;
}

/* Whether the events count at the same time: 1, 0, or -errno if that cannot be determined. */
static int together(const struct candidate *list, unsigned n, uint64_t events)
{
	int result = 1;

	while (events && result > 0) {
		const struct pmc_event *group[PMC_EVENTS_MAX];
		enum pmc_scope scopes[PMC_EVENTS_MAX];
		unsigned size = 0;

		for (unsigned i = 0; i < n; i++) {
			const struct pmc_event *event = &list[i].planned->event;

			if (!(events & list[i].bit) || (size && pmu_of(event) != pmu_of(group[0])))
				continue;
			group[size] = event;
			scopes[size++] = list[i].planned->scope;
			events &= ~list[i].bit;
		}
		result = pmc_probe_together(tool_perf_open, group, scopes, size);
	}
	return result;
}

/* Puts each event into the first pass that has room for it. */
static int pack(struct list_fit *fit, const struct candidate *list, unsigned n)
{
	uint64_t passes[PMC_EVENTS_MAX + 1] = { 0 };

	for (unsigned i = 0; i < n; i++) {
		struct list_fit_event *event = &fit->events[__builtin_ctzll(list[i].bit)];
		int fits = 0;

		for (event->pass = 0; event->pass <= fit->passes; event->pass++) {
			fits = together(list, n, passes[event->pass] | list[i].bit);
			if (fits)
				break;
		}
		if (fits < 0)
			return fits;
		if (!fits) {
			event->reason = "opens, but other users of the PMU hold the counters";
			fit->clash |= fit->clash ? 0 : list[i].bit;
			continue;
		}
		passes[event->pass] |= list[i].bit;
		if (event->pass == fit->passes)
			fit->passes++;
	}
	return 0;
}

/* Removes events from the clash as long as the rest still do not fit together. */
static int find_clash(struct list_fit *fit, const struct candidate *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fit->clash |= list[i].bit;
	for (unsigned i = n; i-- > 0;) {
		uint64_t fewer = fit->clash & ~list[i].bit;
		int fits = fewer ? together(list, n, fewer) : 1;

		if (fits < 0)
			return fits;
		if (!fits)
			fit->clash = fewer;
	}
	return 0;
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
	return list_refusal(list, planned);
}

static int solve(struct list_fit *fit, const struct pmc_plan *plan)
{
	const struct pmc_planned *order[PMC_EVENTS_MAX];
	struct candidate candidates[PMC_EVENTS_MAX];
	unsigned n = 0;
	int error;

	fit->n = plan->count;
	for (unsigned i = 0; i < fit->n; i++)
		order[i] = &plan->events[i];
	/* The result must not depend on the order of the arguments. */
	qsort(order, fit->n, sizeof(*order), by_name);
	for (unsigned i = 0; i < fit->n; i++) {
		list_fit_name(fit, i, order[i]->event.name);
		fit->events[i].counter = -1;
		if (order[i]->group != PMC_NO_GROUP) {
			candidates[n++] = (struct candidate){ order[i], UINT64_C(1) << i };
			continue;
		}
		fit->clash |= fit->clash ? 0 : UINT64_C(1) << i;
		fit->events[i].reason = refusal(&fit->list, order[i]);
		if (pmu_of(&order[i]->event) == PERF_TYPE_RAW && !fit->list.core_pmu)
			fit->remark = "This machine has no hardware PMU; see pmctl doctor.";
	}
	error = pack(fit, candidates, n);
	if (!error && !fit->clash && fit->passes > 1)
		error = find_clash(fit, candidates, n);
	/* Without counter masks another split cannot be ruled out. */
	fit->lower_bound = fit->passes < 2 ? fit->passes : 2;
	return error;
}

int list_fit_host(struct list_fit *fit, const char *text)
{
	struct pmc_arena *arena = &fit->list.arena;
	struct pmc_parse_error error;
	struct pmc_events events;
	struct pmc_plan plan;
	int failed;

	list_init(&fit->list);
	if (pmc_events_parse(text, NULL, arena, &events, &error))
		return tool_fail(error.code == PMC_PARSE_NO_MEMORY ? EXIT_FAIL : EXIT_USAGE,
				 "'%s': %s", text, error.text);
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
