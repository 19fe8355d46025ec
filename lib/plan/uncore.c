/* SPDX-License-Identifier: MIT */
/* uncore.c - plans events of PMUs that know no threads: one event for each of their CPUs. */
#include "lib/base/out.h"
#include "lib/base/number.h"
#include "lib/plan/plan.h"

#include <errno.h>
#include <string.h>

#define CPU_MAX 1000000u

/* Takes "5" or "0-3", and the ',' behind it, of a list of CPUs. */
static bool take_range(const char **at, uint64_t *first, uint64_t *last)
{
	if (!pmc_number_take(at, NULL, 10, first))
		return false;
	*last = *first;
	if (**at == '-') {
		++*at;
		if (!pmc_number_take(at, NULL, 10, last))
			return false;
	}
	*at += **at == ',';
	return *last <= CPU_MAX;
}

static const char *cpu_name(uint64_t cpu, struct pmc_arena *arena)
{
	char text[24];
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	pmc_out_u64(&out, cpu);
	return pmc_arena_strndup(arena, text, out.len);
}

/* Adds the event on each of its CPUs. 0, -ENOMEM or -E2BIG. */
static int add_cpus(struct pmc_plan *uncore, const struct pmc_planned *event,
		    struct pmc_arena *arena, int *cpus)
{
	const char *at = event->event.cpus;
	uint64_t cpu, last;

	while (take_range(&at, &cpu, &last)) {
		for (; cpu <= last; cpu++) {
			struct pmc_planned *one = &uncore->events[uncore->count];

			if (uncore->count == PMC_EVENTS_MAX)
				return -E2BIG;
			*one = *event;
			one->event.core_type = cpu_name(cpu, arena);
			if (!one->event.core_type)
				return -ENOMEM;
			one->flags |= PMC_EVENT_UNCORE;
			one->group = PMC_NO_GROUP;
			one->scope = PMC_SCOPE_ALL;
			one->state = PMC_COUNTED;
			one->error = 0;
			cpus[uncore->count++] = (int)cpu;
		}
	}
	return 0;
}

int pmc_plan_uncore(const struct pmc_plan *plan, struct pmc_arena *arena, struct pmc_plan *uncore,
		    int cpus[PMC_EVENTS_MAX])
{
	memset(uncore, 0, sizeof(*uncore));
	for (unsigned i = 0; i < plan->count; i++) {
		unsigned before = uncore->count;
		int error;

		if (!pmc_event_is_uncore(&plan->events[i].event))
			continue;
		if (!uncore->events)
			uncore->events =
				pmc_arena_alloc(arena, sizeof(*uncore->events) * PMC_EVENTS_MAX);
		if (!uncore->events)
			return -ENOMEM;
		error = add_cpus(uncore, &plan->events[i], arena, cpus);
		if (error == -ENOMEM)
			return error;
		/* A sum over some of its CPUs would be too small. */
		for (unsigned k = before; k < uncore->count && error; k++) {
			uncore->events[k].state = PMC_NOT_COUNTED;
			uncore->events[k].error = PMC_REASON_UNCORE_FULL;
		}
	}
	return 0;
}
