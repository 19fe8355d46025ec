/* SPDX-License-Identifier: MIT */
/* require.c - pmctl doctor --require: whether given events can be counted, and if not why. */
#include "lib/base/clock.h"
#include "lib/plan/plan.h"
#include "lib/plan/pmu_probe.h"
#include "lib/dump/words.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/try_open.h"
#include "tools/doctor/facts.h"

#include <stdlib.h>

static void judge(const struct doctor_facts *facts, const struct pmc_planned *planned,
		  struct doctor_finding *to)
{
	const struct pmc_event *event = &planned->event;
	enum pmc_scope scope = planned->scope;
	bool machine = pmc_event_is_uncore(event);
	struct pmc_attr attr;
	struct pmc_tried tried = pmc_plan_tried(planned, &attr);
	int error = planned->error;
	struct pmc_advice advice;
	char name[24];

	if (machine) {
		tried.placed = true;
		tried.pid = -1;
		error = tool_event_try(event, PMC_SCOPE_ALL, atoi(event->cpus));
	} else if (pmc_event_is_of_os(event)) {
		/* No part of a kernel with a /proc lacks user-time and system-time. */
		uint64_t ns;

		if (event->config != PMC_OS_RUN_DELAY || pmc_run_delay(0, &ns))
			error = 0;
	} else if (planned->group != PMC_NO_GROUP) {
		error = 0;
		if (pmc_event_needs_pmu(event) &&
		    (facts->cycles_run == PMC_NO ||
		     pmc_probe_together(tool_perf_open, &event, &scope, 1) != 1)) {
			doctor_say(to, DOCTOR_BLOCKS,
				   "%s: opens but is not scheduled or stays at 0", event->name);
			doctor_fix_words(to, "see the checks 'cycles' and 'counters'");
			return;
		}
	}
	if (error >= PMC_REASON_ADOPTED) {
		doctor_say(to, DOCTOR_BLOCKS, "%s: not countable (%s)", event->name,
			   pmc_reason_text((uint32_t)error));
		doctor_fix_words(to, "change the list of events");
	} else if (error) {
		pmc_advise(error, &tried, &facts->here, &advice);
		doctor_say(to, DOCTOR_BLOCKS, "%s: not countable (%s: %s)", event->name,
			   pmc_error_name(error, name), advice.means);
		doctor_fix_words(to, "%s", advice.todo);
	} else if (machine) {
		doctor_say(to, DOCTOR_OK, "%s: counted for the whole machine", event->name);
	} else if (scope == PMC_SCOPE_USER && !event->exclude_kernel) {
		doctor_say(to, DOCTOR_OK, "%s: counted in user mode only", event->name);
	} else {
		doctor_say(to, DOCTOR_OK, "%s: counted", event->name);
	}
}

int doctor_require(const struct doctor_facts *facts, const char *text, bool *counted,
		   struct doctor_finding *finding)
{
	struct pmc_arena arena = { 0 };
	struct pmc_parse_error error;
	struct pmc_events events;
	struct pmc_plan plan;
	int code = EXIT_OK;

	if (pmc_events_parse(text, NULL, &arena, &events, &error))
		code = tool_fail(error.code == PMC_PARSE_NO_MEMORY ? EXIT_FAIL : EXIT_USAGE,
				 "--require '%s': %s", text, error.text);
	else if (pmc_plan_make(&events, tool_perf_open, &arena, &plan))
		code = tool_fail(EXIT_FAIL, "out of memory");
	*counted = !code;
	/* The finding is that of the first event that cannot be counted, or of the last. */
	for (unsigned i = 0; !code && *counted && i < plan.count; i++) {
		judge(facts, &plan.events[i], finding);
		*counted = finding->status == DOCTOR_OK;
	}
	if (!code && *counted && plan.count > 1)
		doctor_say(finding, DOCTOR_OK, "%s: each counted", text);
	pmc_arena_free(&arena);
	return code;
}
