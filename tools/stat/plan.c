/* SPDX-License-Identifier: MIT */
/* plan.c - the events of a stat: the default list, their groups, and the view that reports use. */
#include "agent/core/report/words.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/try_open.h"
#include "tools/stat/stat.h"

#include <stdio.h>
#include <string.h>

#define HARDWARE                                                                                   \
	"cycles,instructions,branches,branch-misses,stalled-cycles-frontend,"                      \
	"stalled-cycles-backend"
#define SWITCHES "context-switches,cpu-migrations,page-faults"

static void add_event(struct stat_job *stat, unsigned i)
{
	const struct pmc_planned *planned = &stat->plan.events[i];
	const struct pmc_event *event = &planned->event;
	bool uncore = pmc_event_is_uncore(event) && stat->target == STAT_MACHINE;
	char name[256];

	snprintf(name, sizeof(name), "%s%s%s", event->name,
		 event->core_type && *event->core_type ? "@" : "",
		 event->core_type ? event->core_type : "");
	((struct pmc_p_event *)stat->view.events)[stat->view.count] = (struct pmc_p_event){
		.def = {
			.type = event->type,
			.group = planned->group,
			.scope = planned->scope,
			.state = uncore ? PMC_COUNTED : planned->state,
			.config = event->config,
			.config1 = event->config1,
			.config2 = event->config2,
			.config3 = event->config3,
			.scale = event->scale,
			.position = (uint16_t)event->position,
			.flags = planned->flags,
			.error = uncore ? 0 : (uint32_t)planned->error,
		},
		.name = pmc_arena_strdup(&stat->arena, name),
		.unit = event->unit ? event->unit : "",
		.core_type = event->core_type ? event->core_type : "",
		.cpus = event->cpus ? event->cpus : "",
	};
	stat->view_of[i] = stat->view.count++;
}

/* Of the events of a default list, those that this machine has. */
static bool is_wanted(const struct stat_job *stat, const struct pmc_planned *event)
{
	return stat->events || event->state == PMC_COUNTED || event->state == PMC_NOT_PERMITTED;
}

static bool counts_something(const struct stat_job *stat)
{
	for (unsigned i = 0; i < stat->view.count; i++)
		if (stat->view.events[i].def.state == PMC_COUNTED)
			return true;
	return false;
}

int stat_plan(struct stat_job *stat)
{
	const char *text = stat->target == STAT_MACHINE ? "cpu-clock," SWITCHES "," HARDWARE :
							  "task-clock," SWITCHES "," HARDWARE;
	struct pmc_parse_error error = { .code = PMC_PARSE_OK };
	struct pmc_plan *plan = &stat->plan;
	struct pmc_events events;
	char why[320];

	text = stat->events ? stat->events : text;
	if (pmc_events_parse(text, NULL, &stat->arena, &events, &error))
		return tool_fail(error.code == PMC_PARSE_NO_MEMORY ? EXIT_FAIL : EXIT_USAGE,
				 "--events '%s': %s", text, error.text);
	stat->view.events =
		pmc_arena_alloc(&stat->arena, PMC_EVENTS_MAX * sizeof(*stat->view.events));
	if (!stat->view.events || pmc_plan_make(&events, tool_perf_open, &stat->arena, plan))
		return tool_fail(EXIT_FAIL, "out of memory");
	for (unsigned position = 0; position < PMC_EVENTS_MAX; position++)
		for (unsigned i = 0; i < plan->count; i++)
			if (plan->events[i].event.position == position &&
			    is_wanted(stat, &plan->events[i]))
				add_event(stat, i);
	if (counts_something(stat) || stat->by == BY_THREAD)
		return 0;
	stat_why(stat, 0, why, sizeof(why));
	return tool_fail(stat->cmd ? EXIT_OURS : EXIT_FAIL, "cannot count %s: %s",
			 stat->view.count ? stat->view.events[0].name : text, why);
}

void stat_why(const struct stat_job *stat, unsigned event, char *text, size_t cap)
{
	struct pmc_tried tried;
	struct pmc_attr attr;
	struct pmc_here here;
	unsigned i = 0;

	while (i < stat->plan.count && stat->view_of[i] != event)
		i++;
	if (i == stat->plan.count || stat->plan.events[i].error >= PMC_REASON_ADOPTED ||
	    stat->plan.events[i].error <= 0) {
		snprintf(text, cap, "%s",
			 i == stat->plan.count ?
				 "this machine has none of the events" :
				 pmc_reason_text((uint32_t)stat->plan.events[i].error));
		return;
	}
	tried = pmc_plan_tried(&stat->plan.events[i], &attr);
	pmc_here_read(&here, NULL);
	pmc_advice_text(stat->plan.events[i].error, &tried, &here, text, cap);
}
