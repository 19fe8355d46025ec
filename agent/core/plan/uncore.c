/* SPDX-License-Identifier: MIT */
/* uncore.c - the events of a plan that count for the whole machine, CPU by CPU. */
#include "agent/core/base/out.h"
#include "agent/core/base/number.h"
#include "agent/core/plan/plan.h"

#include <errno.h>
#include <string.h>

/* The next CPU of a list such as "0-3,8,10-11"; false at its end, or where it makes no sense. */
struct cpu_list {
	const char *at;
	unsigned next, last;
	bool inside;
};

static bool take_number(const char **at, unsigned *number)
{
	uint64_t value;

	if (!pmc_number_take(at, NULL, 10, &value) || value > 1000000)
		return false;
	*number = (unsigned)value;
	return true;
}

static bool next_cpu(struct cpu_list *list, unsigned *cpu)
{
	if (!list->inside) {
		if (*list->at == ',')
			list->at++;
		if (!take_number(&list->at, &list->next))
			return false;
		list->last = list->next;
		if (*list->at == '-') {
			list->at++;
			if (!take_number(&list->at, &list->last))
				return false;
		}
	}
	*cpu = list->next++;
	list->inside = list->next <= list->last;
	return *cpu <= list->last;
}

static const char *cpu_name(unsigned cpu, struct pmc_arena *arena)
{
	char text[16];
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	pmc_out_u64(&out, cpu);
	return pmc_arena_strndup(arena, text, out.len);
}

/* What the event is on one CPU. */
static int add(struct pmc_plan *machine, const struct pmc_planned *event, unsigned cpu,
	       struct pmc_arena *arena)
{
	struct pmc_planned *one = &machine->events[machine->count];

	*one = *event;
	one->event.core_type = cpu_name(cpu, arena);
	if (!one->event.core_type)
		return -ENOMEM;
	one->flags |= PMC_EVENT_MACHINE;
	one->group = PMC_NO_GROUP;
	one->scope = PMC_SCOPE_ALL;
	one->state = PMC_COUNTED;
	one->error = 0;
	machine->count++;
	return 0;
}

int pmc_plan_machine(const struct pmc_plan *plan, struct pmc_arena *arena, struct pmc_plan *machine,
		     int cpus[PMC_EVENTS_MAX])
{
	memset(machine, 0, sizeof(*machine));
	for (unsigned i = 0; i < plan->count; i++) {
		const struct pmc_planned *event = &plan->events[i];
		struct cpu_list list = { .at = event->event.cpus };
		unsigned before = machine->count, cpu;

		if (!pmc_event_is_machine(&event->event))
			continue;
		if (!machine->events)
			machine->events =
				pmc_arena_alloc(arena, sizeof(*machine->events) * PMC_EVENTS_MAX);
		if (!machine->events)
			return -ENOMEM;
		while (machine->count < PMC_EVENTS_MAX && next_cpu(&list, &cpu)) {
			cpus[machine->count] = (int)cpu;
			if (add(machine, event, cpu, arena) != 0)
				return -ENOMEM;
		}
		/* Some of its CPUs are not the machine. */
		if (machine->count < PMC_EVENTS_MAX || !next_cpu(&list, &cpu))
			continue;
		for (unsigned k = before; k < machine->count; k++) {
			machine->events[k].state = PMC_NOT_COUNTED;
			machine->events[k].error = PMC_REASON_MACHINE_FULL;
		}
	}
	return 0;
}
