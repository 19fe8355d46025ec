/* SPDX-License-Identifier: MIT */
/*
 * fit_host.c - pmctl list --fit for this machine: the PMU itself is asked.
 *
 * Opening proves nothing: kernels take groups that never run. A pinned group is on the PMU as
 * soon as it is enabled, or reads 0 bytes. Nor does every counter that runs count; see
 * plan/pmu_probe.h.
 */
#include "agent/core/plan/plan.h"
#include "agent/core/plan/pmu_probe.h"
#include "tools/list/list.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/try_open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct candidate {
	const struct pmc_planned *planned;
	uint64_t bit; /* of the fit's event */
};

/* Events of different PMUs do not compete, and cannot be in one group either. */
static uint32_t home_of(const struct pmc_event *event)
{
	if (!pmc_event_needs_pmu(event))
		return PERF_TYPE_SOFTWARE;
	return event->type == PERF_TYPE_HARDWARE || event->type == PERF_TYPE_HW_CACHE ?
		       PERF_TYPE_RAW :
		       event->type;
}

static int group_fits(const struct candidate *list, unsigned n, uint64_t events)
{
	const struct pmc_event *group[PMC_EVENTS_MAX];
	enum pmc_scope scopes[PMC_EVENTS_MAX];
	unsigned size = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!(events & list[i].bit))
			continue;
		group[size] = &list[i].planned->event;
		scopes[size++] = list[i].planned->scope;
	}
	return pmc_probe_together(tool_perf_open, group, scopes, size);
}

static int together(const struct candidate *list, unsigned n, uint64_t events)
{
	int rc = 1;

	while (events && rc > 0) {
		uint32_t home = 0;
		uint64_t group = 0;

		for (unsigned i = 0; i < n; i++) {
			if (!(events & list[i].bit))
				continue;
			if (!group)
				home = home_of(&list[i].planned->event);
			if (home_of(&list[i].planned->event) == home)
				group |= list[i].bit;
		}
		rc = group_fits(list, n, group);
		events &= ~group;
	}
	return rc;
}

/* The first pass that still has room, as the PMU says; what fits in no pass opens one. */
static int pack(struct list_fit *fit, const struct candidate *list, unsigned n)
{
	uint64_t passes[PMC_EVENTS_MAX];

	for (unsigned i = 0; i < n; i++) {
		unsigned pass = 0;

		for (; pass < fit->passes; pass++) {
			int rc = together(list, n, passes[pass] | list[i].bit);

			if (rc < 0)
				return rc;
			if (rc)
				break;
		}
		if (pass == fit->passes) {
			int rc = together(list, n, list[i].bit);

			if (rc < 0)
				return rc;
			if (!rc) {
				fit->events[__builtin_ctzll(list[i].bit)].reason =
					"it opens but gets no counter: others hold them";
				fit->clash |= fit->clash ? 0 : list[i].bit;
				continue;
			}
			passes[fit->passes++] = 0;
		}
		passes[pass] |= list[i].bit;
		fit->events[__builtin_ctzll(list[i].bit)].pass = pass;
	}
	return 0;
}

#define BOUND_TRIES 4000

/* Whether no k of the n events fit together: tries all of them. 1, 0, or -errno; 0 also where
 * that would be too many. */
static int none_of_size(const struct candidate *list, unsigned n, unsigned k)
{
	unsigned pick[PMC_EVENTS_MAX], at = k;
	double tries = 1;

	for (unsigned i = 0; i < k; i++) {
		tries = tries * (n - i) / (i + 1);
		pick[i] = i;
	}
	if (tries > BOUND_TRIES)
		return 0;
	while (at) {
		uint64_t events = 0;
		int rc;

		for (unsigned i = 0; i < k; i++)
			events |= list[pick[i]].bit;
		rc = together(list, n, events);
		if (rc)
			return rc < 0 ? rc : 0;
		for (at = k; at > 0 && pick[at - 1] == n - k + at - 1;)
			at--;
		if (!at)
			break;
		pick[at - 1]++;
		for (unsigned i = at; i < k; i++)
			pick[i] = pick[i - 1] + 1;
	}
	return 1;
}

/* Without masks another split cannot be ruled out by thought. But if no pass can hold more events
 * than the fullest one does, there must be enough passes for all. */
static int find_bound(struct list_fit *fit, const struct candidate *list, unsigned n)
{
	unsigned size[PMC_EVENTS_MAX] = { 0 }, most = 0;
	int rc = 0;

	fit->lower_bound = fit->passes < 2 ? fit->passes : 2;
	for (unsigned i = 0; i < fit->n; i++)
		if (!fit->events[i].reason && ++size[fit->events[i].pass] > most)
			most = size[fit->events[i].pass];
	if (fit->passes > 2 && !fit->clash)
		rc = none_of_size(list, n, most + 1);
	if (rc > 0)
		fit->lower_bound = (n + most - 1) / most;
	return rc < 0 ? rc : 0;
}

/* Leaves out whom the clash does not need. */
static int find_clash(struct list_fit *fit, const struct candidate *list, unsigned n)
{
	uint64_t clash = 0;

	for (unsigned i = 0; i < n; i++)
		clash |= list[i].bit;
	for (unsigned i = n; i-- > 0;) {
		uint64_t fewer = clash & ~list[i].bit;
		int rc = fewer ? together(list, n, fewer) : 1;

		if (rc < 0)
			return rc;
		if (!rc)
			clash = fewer;
	}
	fit->clash = clash;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct pmc_planned *const *x = a, *const *y = b;
	int order = strcmp((*x)->event.name, (*y)->event.name);

	return order ? order : (int)(*x)->event.position - (int)(*y)->event.position;
}

static void name_events(struct list_fit *fit, struct list *about, const struct pmc_planned **order)
{
	for (unsigned i = 0; i < fit->n; i++) {
		const char *name = order[i]->event.name;
		unsigned nth = 1;

		while (nth <= i && strcmp(order[i - nth]->event.name, name) == 0)
			nth++;
		fit->events[i].name = nth == 1 ? name : list_text(about, "%s#%u", name, nth);
		fit->events[i].counter = -1;
		if (order[i]->group != PMC_NO_GROUP)
			continue;
		if (!fit->clash)
			fit->clash = UINT64_C(1) << i;
		if (tool_perf_killed())
			fit->events[i].reason = "a seccomp filter kills whoever opens perf events";
		else if (list_pmu_cpu(about, order[i]->event.pmu) >= 0)
			fit->events[i].reason = "it is machine-wide, not a thread's";
		else
			fit->events[i].reason =
				list_refusal(about, order[i]->event.type, order[i]->error);
		if (home_of(&order[i]->event) == PERF_TYPE_RAW && !about->core_pmu)
			fit->remark = "This machine shows no hardware PMU; pmctl doctor tells why.";
	}
}

static int solve(struct list_fit *fit, struct list *about, const struct pmc_plan *plan)
{
	const struct pmc_planned *order[PMC_EVENTS_MAX];
	struct candidate candidates[PMC_EVENTS_MAX];
	unsigned n = 0;
	int rc;

	fit->n = plan->count;
	for (unsigned i = 0; i < fit->n; i++)
		order[i] = &plan->events[i];
	qsort(order, fit->n, sizeof(*order), by_name);
	name_events(fit, about, order);
	for (unsigned i = 0; i < fit->n; i++)
		if (!fit->events[i].reason)
			candidates[n++] = (struct candidate){ order[i], UINT64_C(1) << i };
	rc = pack(fit, candidates, n);
	if (!rc)
		rc = find_bound(fit, candidates, n);
	if (!rc && !fit->clash && fit->passes > 1)
		rc = find_clash(fit, candidates, n);
	return rc;
}

int list_fit_host(struct list_fit *fit, const char *text)
{
	struct list about = { 0 };
	struct pmc_parse_error error;
	struct pmc_events events;
	struct pmc_plan plan;
	int code = EXIT_OK, rc;

	list_init(&about);
	if (pmc_events_parse(text, NULL, &fit->arena, &events, &error))
		code = tool_fail(error.code == PMC_PARSE_NO_MEMORY ? EXIT_FAIL : EXIT_USAGE,
				 "'%s': %s", text, error.text);
	for (unsigned i = 0; !code && i < events.count; i++)
		if (events.list[i].brace != PMC_NO_BRACE && !events.list[i].sets)
			code = tool_fail(EXIT_USAGE,
					 "'%s': --fit groups the events itself; leave out the "
					 "braces",
					 text);
	if (!code && pmc_plan_make(&events, tool_perf_open, &fit->arena, &plan))
		code = tool_fail(EXIT_FAIL, "out of memory");
	if (!code) {
		rc = solve(fit, &about, &plan);
		if (rc)
			code = tool_fail(EXIT_FAIL, "cannot try the events: %s", strerror(-rc));
	}
	/* Reasons live with the answer. */
	for (unsigned i = 0; i < fit->n; i++) {
		if (fit->events[i].name)
			fit->events[i].name = pmc_arena_strdup(&fit->arena, fit->events[i].name);
		if (fit->events[i].reason)
			fit->events[i].reason =
				pmc_arena_strdup(&fit->arena, fit->events[i].reason);
	}
	list_free(&about);
	if (!code && fit->arena.failed)
		code = tool_fail(EXIT_FAIL, "out of memory");
	return code;
}
