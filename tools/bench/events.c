/* SPDX-License-Identifier: MIT */
/* events.c - the measurements of a bench: those of the system, and an event each. */
#include "tools/bench/runner.h"
#include "tools/cli/pmctl.h"

#include <stdio.h>
#include <string.h>

static const char *event_name(struct bench *bench, const struct pmc_event *event)
{
	char text[256];

	if (!event->core_type || !*event->core_type)
		return event->name;
	snprintf(text, sizeof(text), "%s@%s", event->name, event->core_type);
	return pmc_arena_strdup(&bench->arena, text);
}

/* Measurements in the user's order. */
static void add_events(struct bench *bench)
{
	const struct pmc_plan *plan = &bench->plan;

	for (unsigned position = 0; position < PMC_EVENTS_MAX; position++) {
		for (unsigned i = 0; i < plan->opened; i++) {
			const struct pmc_planned *planned = &plan->events[i];

			if (planned->event.position != position || planned->state != PMC_COUNTED)
				continue;
			bench->measures[bench->n_measures++] = (struct bench_measure){
				.name = event_name(bench, &planned->event),
				.unit = strcmp(planned->event.unit, "ns") ? BENCH_COUNT : BENCH_NS,
				.event = planned,
				.pass = bench_pass_of(bench, planned),
			};
		}
	}
}

int bench_plan(struct bench *bench)
{
	static const struct bench_measure system[BENCH_EVENTS] = {
		[BENCH_WALL] = { "wall_time", BENCH_NS, NULL, BENCH_EVERY_PASS },
		[BENCH_USER] = { "user_time", BENCH_NS, NULL, BENCH_EVERY_PASS },
		[BENCH_SYS] = { "system_time", BENCH_NS, NULL, BENCH_EVERY_PASS },
		[BENCH_RSS] = { "peak_rss", BENCH_BYTES, NULL, BENCH_EVERY_PASS },
	};
	const char *text = bench->events ? bench->events : pmc_events_default;
	struct pmc_parse_error error = { .code = PMC_PARSE_OK };
	struct pmc_events events;
	int code;

	if (pmc_events_parse(text, NULL, &bench->arena, &events, &error))
		return tool_fail(error.code == PMC_PARSE_NO_MEMORY ? EXIT_FAIL : EXIT_USAGE,
				 "--events '%s': %s", text, error.text);
	bench->measures = pmc_arena_alloc(
		&bench->arena, sizeof(system) + PMC_EVENTS_MAX * sizeof(*bench->measures));
	if (!bench->measures)
		return tool_fail(EXIT_FAIL, "out of memory");
	code = bench_make_plan(bench, &events);
	if (code)
		return code;
	memcpy(bench->measures, system, sizeof(system));
	bench->n_measures = BENCH_EVENTS;
	add_events(bench);
	return 0;
}
