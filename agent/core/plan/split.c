/* SPDX-License-Identifier: MIT */
/* split.c - a plan in smaller groups, for a PMU that somebody else took counters of. */
#include "agent/core/plan/plan.h"
#include "agent/core/plan/pmu_probe.h"

#include <errno.h>
#include <string.h>

bool pmc_plan_is_splittable(const struct pmc_plan *plan, unsigned g)
{
	const struct pmc_planned *first = &plan->events[plan->first[g]];
	unsigned n = plan->first[g + 1] - plan->first[g], counters = 0;

	if (first->event.brace != PMC_NO_BRACE || first->event.pinned)
		return false;
	for (unsigned i = 0; i < n; i++)
		counters += pmc_event_needs_pmu(&first[i].event);
	return counters > 1;
}

/* The order of n events in which each has the first that forms a ratio with it at its side. In a
 * frame of its own, as all that is not under the sealing: stack is short in signal handlers. */
__attribute__((noinline)) static void pair_up(const struct pmc_planned *events, unsigned first,
					      unsigned n, uint16_t *from)
{
	uint64_t placed = 0;
	unsigned at = first;

	_Static_assert(PMC_EVENTS_MAX <= 64, "a bit for each event");
	for (unsigned i = first; i < first + n; i++) {
		if (placed >> i & 1)
			continue;
		from[at++] = (uint16_t)i;
		for (unsigned k = i + 1; k < first + n; k++) {
			if (placed >> k & 1 || !pmc_fit_ratio(&events[i].event, &events[k].event))
				continue;
			placed |= 1ull << k;
			from[at++] = (uint16_t)k;
			break;
		}
	}
}

/* The middle, unless that would part a pair. */
static unsigned cut_of(const struct pmc_planned *events, unsigned n)
{
	unsigned cut = (n + 1) / 2;

	if (cut + 1 < n && pmc_fit_ratio(&events[cut - 1].event, &events[cut].event))
		cut++;
	return cut;
}

__attribute__((noinline)) static int divide(const struct pmc_plan *plan, struct pmc_arena *arena,
					    struct pmc_plan *split, uint16_t *from)
{
	unsigned groups = 0;

	*split = *plan;
	split->events = pmc_arena_alloc(arena, sizeof(*split->events) * (plan->count + 1));
	if (!split->events)
		return -ENOMEM;
	memcpy(split->events, plan->events, sizeof(*split->events) * plan->count);
	for (unsigned i = 0; i < plan->opened; i++)
		from[i] = (uint16_t)i;
	for (unsigned g = 0; g < plan->groups; g++) {
		unsigned first = plan->first[g], n = plan->first[g + 1] - first;

		split->first[groups++] = first;
		if (!pmc_plan_is_splittable(plan, g))
			continue;
		pair_up(plan->events, first, n, from);
		for (unsigned i = first; i < first + n; i++)
			split->events[i] = plan->events[from[i]];
		split->first[groups++] = first + cut_of(&split->events[first], n);
	}
	split->first[groups] = plan->opened;
	if (groups == plan->groups)
		split->count = split->opened = split->groups = 0;
	else
		split->groups = groups;
	for (unsigned g = 0; g < split->groups; g++)
		for (unsigned i = split->first[g]; i < split->first[g + 1]; i++)
			split->events[i].group = (uint16_t)g;
	return 0;
}

int pmc_plan_split(const struct pmc_plan *plan, struct pmc_arena *arena, struct pmc_plan *split,
		   uint16_t from[PMC_EVENTS_MAX])
{
	int error = divide(plan, arena, split, from);

	return error ? error : pmc_plan_seal(split, arena);
}
