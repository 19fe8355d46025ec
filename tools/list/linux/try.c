/* SPDX-License-Identifier: MIT */
/*
 * try.c - whether an event opens here for this user, and if not why; which events count at once, by
 * probing the PMU (lib/plan/pack.c).
 */
#include "lib/base/advice.h"
#include "lib/base/proc.h"
#include "lib/dump/words.h"
#include "tools/cli/flags.h"
#include "tools/cli/try_open.h"
#include "tools/list/list.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one event ------------------------------------------------------------------------------ */

static struct list_answer refusal(struct list *list, const struct pmc_tried *tried, int error)
{
	struct pmc_advice advice;

	if (!list->here) {
		list->here = pmc_arena_alloc(&list->arena, sizeof(*list->here));
		pmc_here_read(list->here, NULL);
	}
	pmc_advise(error, tried, list->here, &advice);
	return (struct list_answer){ .reason = pmc_arena_strdup(&list->arena, advice.means),
				     .fix = pmc_arena_strdup(&list->arena, advice.todo) };
}

struct list_answer list_refusal(struct list *list, const struct pmc_planned *planned)
{
	struct pmc_attr attr;
	const struct pmc_tried tried = pmc_plan_tried(planned, &attr);

	if (planned->error >= PMC_REASON_ADOPTED)
		return (struct list_answer){ .reason = pmc_reason_text((uint32_t)planned->error),
					     .fix = "change the list of events" };
	return refusal(list, &tried, planned->error);
}

/* On one CPU, as uncore events are counted. */
static struct list_answer try_cpu(struct list *list, const struct pmc_event *event, int cpu)
{
	const struct perf_event_attr attr = { .type = event->type };
	const struct pmc_tried tried = { .attr = &attr, .placed = true, .pid = -1, .cpu = cpu };
	int error = tool_event_try(event, PMC_SCOPE_ALL, cpu);

	return error ? refusal(list, &tried, error) : (struct list_answer){ .available = true };
}

static struct list_answer try_os(const struct pmc_event *event)
{
	uint64_t ns;
	bool known = event->config != PMC_OS_RUN_DELAY || pmc_run_delay(0, &ns);

	return (struct list_answer){ known, known ? NULL : "/proc/thread-self/schedstat has none",
				     NULL };
}

struct list_answer list_try(struct list *list, const struct pmc_event *event, int cpu)
{
	struct pmc_planned planned = { .event = *event };
	int fd;

	if (pmc_event_is_of_os(event))
		return try_os(event);
	if (tool_perf_killed())
		return (struct list_answer){ false, TOOL_KILLED_TEXT, "see the check 'seccomp'" };
	if (cpu >= 0)
		return try_cpu(list, event, cpu);
	fd = pmc_plan_try(tool_perf_open, &planned);
	if (fd < 0)
		return list_refusal(list, &planned);
	close(fd);
	return (struct list_answer){
		true, planned.flags & PMC_EVENT_FELL_BACK ? "in user mode only" : NULL, NULL
	};
}

/* ---- several events ------------------------------------------------------------------------- */

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

static const char *fit_refusal(struct list *list, const struct pmc_planned *planned)
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
		fit->events[i].reason = fit_refusal(&fit->list, order[i]);
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

void list_machine(struct list *list)
{
	list_sysfs(list);
	list_pfm(list);
	list_tracepoints(list);
}
