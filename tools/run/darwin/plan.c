/* SPDX-License-Identifier: MIT */
/*
 * plan.c - `pmctl run -n` on macOS: what each thread would count. Totals of programs that cannot
 * load the agent: there are none, `pmctl stat` has them.
 */
#include "lib/event/event.h"
#include "lib/plan/mac_plan.h"
#include "lib/dump/words.h"
#include "tools/cli/flags.h"
#include "tools/run/run.h"

#include <stdio.h>

/* Events of kperf are programmed for the check, and released. */
static int make_plan(struct run *run, struct pmc_plan *plan)
{
	const char *text = run->config.events ? run->config.events : pmc_events_default;
	struct pmc_events events;
	struct pmc_mac mac;
	int result;

	if (tool_parse_events("--events", text, &run->arena, &events))
		return EXIT_OURS;
	pmc_mac_open(&mac);
	result = pmc_mac_plan_make(&mac, &events, false, &run->arena, plan);
	pmc_mac_close(&mac);
	return result ? tool_fail(EXIT_OURS, "cannot plan the events '%s'", text) : 0;
}

int run_print_plan(struct run *run)
{
	struct pmc_plan plan;
	int code = make_plan(run, &plan);

	for (unsigned i = 0; !code && i < plan.count; i++) {
		const struct pmc_planned *p = &plan.events[i];

		if (i == 0 && plan.opened)
			puts("counted for each thread:");
		if (i == plan.opened)
			puts("not counted here:");
		printf("  %s", pmc_event_label(&p->event, &run->arena));
		if (i >= plan.opened)
			printf(": %s (%s)", pmc_state_name(p->state),
			       pmc_reason_text((uint32_t)p->error));
		putchar('\n');
	}
	if (!code)
		puts("per thread: also CPU time; of the process: faults and switches");
	return code;
}

int run_check_events(struct run *run)
{
	struct pmc_plan plan;
	int code = 0;

	if (run->strict && run->config.sample.on)
		return tool_fail(EXIT_OURS, "cannot sample: there is no sampling on macOS");
	if (run->strict && run->config.events)
		code = make_plan(run, &plan);
	if (!run->strict || !run->config.events || code)
		return code;
	for (unsigned i = plan.opened; i < plan.count; i++)
		code = tool_fail(EXIT_OURS, "cannot count %s: %s", plan.events[i].event.name,
				 pmc_reason_text((uint32_t)plan.events[i].error));
	return code;
}

/* The agent says that there is no sampling. */
int run_prepare(struct run *run)
{
	(void)run;
	return 0;
}

void run_totals_frames(const struct run *run, const struct pmc_profile *profile,
		       const uint8_t identity[16], struct pmc_frame_buf *buf)
{
	(void)run, (void)profile, (void)identity, (void)buf;
}
