/* SPDX-License-Identifier: MIT */
/* require.c - pmctl doctor --require: whether a given event can be counted, and if not why. */
#include "lib/plan/plan.h"
#include "tools/cli/try_open.h"
#include "tools/doctor/facts.h"
#include "tools/list/list.h"

#include <stdlib.h>

int doctor_plan(const struct pmc_events *events, struct pmc_arena *arena, struct pmc_plan *plan)
{
	return pmc_plan_make(events, tool_perf_open, arena, plan);
}

void doctor_judge(const struct doctor_facts *facts, const struct pmc_planned *planned,
		  struct pmc_arena *arena, struct doctor_finding *to)
{
	struct pmc_here here = facts->here;
	struct list list = { .arena = *arena, .here = &here };
	const struct pmc_event *event = &planned->event;
	const enum pmc_scope scope = planned->scope;
	const bool machine = pmc_event_is_uncore(event);
	struct list_answer answer;

	/* The plan knows, too, which events are in each other's way. */
	if (planned->group == PMC_NO_GROUP && planned->error >= PMC_REASON_ADOPTED && !machine &&
	    !pmc_event_is_of_os(event))
		answer = list_refusal(&list, planned);
	else
		answer = list_try(&list, event, machine ? atoi(event->cpus) : -1);
	*arena = list.arena;
	if (!answer.available) {
		doctor_say(to, DOCTOR_BLOCKS, "%s: not countable (%s)", event->name, answer.reason);
		if (answer.fix)
			doctor_fix_words(to, "%s", answer.fix);
	} else if (pmc_event_needs_pmu(event) && !machine &&
		   (facts->cycles_run == PMC_NO ||
		    pmc_probe_together(tool_perf_open, &event, &scope, 1) != 1)) {
		doctor_say(to, DOCTOR_BLOCKS, "%s: opens but is not scheduled or stays at 0",
			   event->name);
		doctor_fix_words(to, "see the checks 'cycles' and 'counters'");
	} else {
		doctor_say(to, DOCTOR_OK, "%s: counted%s%s", event->name,
			   machine	 ? " for the whole machine" :
			   answer.reason ? " " :
					   "",
			   !machine && answer.reason ? answer.reason : "");
	}
}
