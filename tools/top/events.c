/* SPDX-License-Identifier: MIT */
/* events.c - events of each watched thread: opened when it is found, read in each interval. */
#include "tools/cli/list.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/try_open.h"
#include "tools/top/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Above the granularity of CPU times in /proc. */
#define STOPPED_NS 20000000u

/* Values of events of the OS come from /proc. */
static bool take_os(struct live_events *live)
{
	bool some = false;

	for (unsigned e = 0; e < live->view.count; e++) {
		struct pmc_event_def *def = &live->list[e].def;

		if (def->type != PMC_TYPE_OS)
			continue;
		def->state = PMC_COUNTED;
		def->error = 0;
		some = true;
	}
	return some;
}

void top_events_change(struct top_watch *watch, const struct pmc_frame_buf *eventset)
{
	struct live_events *live = &watch->live;

	for (unsigned i = 0; i < watch->n; i++)
		for (unsigned t = 0; t < watch->processes[i]->n; t++)
			top_events_close(watch, watch->processes[i]->tasks[t]);
	pmc_arena_free(&watch->arena);
	*live = (struct live_events){ .n_absent = 0 };
	/* Columns of an agent that could open none of its events would be empty. */
	if (!eventset ||
	    live_events_of_agent(live, eventset->data, eventset->len, &watch->arena) != 0 ||
	    !(take_os(live) || live_events_any(live)))
		*live = (struct live_events){ .n_absent = 0 };
	if (!eventset)
		top_events_plan(watch);
	for (unsigned i = 0; i < watch->n; i++)
		for (unsigned t = 0; t < watch->processes[i]->n; t++)
			top_events_open(watch, watch->processes[i]->tasks[t]);
}

/* Cycles and instructions where there is a PMU, and nothing said if there is none. */
int top_events_plan(struct top_watch *watch)
{
	const struct top_flags *flags = watch->flags;
	const char *text = flags->events ? flags->events : "cycles,instructions";
	char why[320];
	int code;

	/* Descriptors for every thread of the machine are opened only when events are asked for. */
	if (!flags->events && flags->all)
		return 0;
	code = live_events_plan(&watch->live, text, !flags->events, false, &watch->arena);
	if (code || take_os(&watch->live) || live_events_any(&watch->live))
		return code;
	if (!flags->events) {
		watch->live.view.count = 0;
		return 0;
	}
	live_events_why(&watch->live, 0, why, sizeof(why));
	return tool_fail(flags->cmd ? EXIT_OURS : EXIT_FAIL, "cannot count %s: %s",
			 watch->live.view.events[0].name, why);
}

static void close_groups(struct top_watch *watch, struct top_task *task)
{
	for (unsigned g = 0; task->groups && g < watch->live.plan.groups; g++)
		live_group_free(&task->groups[g]);
	free(task->groups);
	task->groups = NULL;
}

void top_events_close(struct top_watch *watch, struct top_task *task)
{
	close_groups(watch, task);
	free(task->counts);
	task->counts = NULL;
}

void top_events_open(struct top_watch *watch, struct top_task *task)
{
	const struct live_events *live = &watch->live;
	const struct pmc_plan *plan = &live->plan;
	int error = 0;

	if (!live->view.count)
		return;
	task->counts = tool_realloc(NULL, live->view.count * sizeof(*task->counts));
	/* Those of an agent are open already. */
	if (live->view.hash || !plan->groups || tool_perf_killed())
		return;
	task->groups = tool_realloc(NULL, plan->groups * sizeof(*task->groups));
	memset(task->groups, 0, plan->groups * sizeof(*task->groups));
	for (unsigned g = 0; g < plan->groups && !error; g++)
		error = live_group_open(&task->groups[g], live, plan->first[g],
					plan->first[g + 1] - plan->first[g], PMC_PERF_GROUP_OWN,
					task->task.tid, -1);
	for (unsigned g = 0; g < plan->groups && !error; g++)
		pmc_perf_group_enable(task->groups[g].fds[0]);
	if (!error)
		return;
	/* Events of the OS are still counted. */
	close_groups(watch, task);
	/* The thread has ended. */
	if (error != -ESRCH && error != -ENODEV && !watch->error)
		watch->error = error;
}

/* An agent's group is disabled by pmctl ctl stop: the thread ran, and its clock did not. */
static bool is_stopped(const struct live_span *span, const struct live_group *group)
{
	return span->cpu_ns > STOPPED_NS && group->now.enabled_ns == group->before.enabled_ns;
}

void top_events_read(struct top_watch *watch, struct top_task *task)
{
	if (!task->counts)
		return;
	live_counts_clear(&watch->live, task->counts);
	if (task->task.known)
		live_counts_os(&watch->live, &task->task.span, true, task->counts);
	for (unsigned g = 0; task->groups && g < watch->live.plan.groups; g++) {
		struct live_group *group = &task->groups[g];

		/* A thread that did not run has counted nothing. */
		live_group_step(group);
		if (!task->task.known || task->task.span.cpu_ns || !group->now.enabled_ns)
			live_group_read(group);
		if (!is_stopped(&task->task.span, group))
			live_group_add(group, &watch->live, false, task->counts);
	}
}
