/* SPDX-License-Identifier: MIT */
/*
 * events.c - events and start routines of each watched thread: events are opened when it is found,
 * or are those of the agent in its process.
 *
 * Without -e, the agent's own groups are read by duplicates of their descriptors, so no event is
 * opened twice. A process that calls exec, and one whose data is damaged, is watched without.
 */
#include "lib/base/utf8.h"
#include "tools/cli/try_open.h"
#include "tools/rows/fold.h"
#include "tools/symbol/symbol.h"
#include "tools/top/top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above the granularity of CPU times in /proc. */
#define STOPPED_NS 20000000u

/* Counts what the frame of an agent lists, by its groups; NULL: what top_events_plan() chooses. */
static void change_events(struct top_watch *watch, const struct pmc_frame_buf *eventset)
{
	struct live_events *live = &watch->live;
	const struct top_process *process;

	for (process = watch->processes; process; process = process->hh.next)
		for (unsigned t = 0; t < process->n; t++)
			top_events_close(process->tasks[t]);
	pmc_arena_free(&watch->arena);
	*live = (struct live_events){ .list = NULL };
	/* Columns of an agent that could open none of its events would be empty. */
	if (!eventset ||
	    live_events_of_agent(live, eventset->data, eventset->len, &watch->arena) != 0 ||
	    !live_events_any(live, true))
		*live = (struct live_events){ .list = NULL };
	if (!eventset)
		top_events_plan(watch);
	for (process = watch->processes; process; process = process->hh.next)
		for (unsigned t = 0; t < process->n; t++)
			top_events_open(watch, process->tasks[t]);
}

/* Cycles and instructions where there is a PMU, and nothing said if there is none. */
int top_events_plan(struct top_watch *watch)
{
	const struct top_flags *flags = watch->flags;
	const char *text = flags->events ? flags->events : "cycles,instructions";
	int code;

	/* Descriptors for every thread of the machine are opened only when events are asked for. */
	if (!flags->events && flags->all)
		return 0;
	code = live_events_plan(&watch->live, text, !flags->events, false, &watch->arena);
	if (code || live_events_any(&watch->live, true))
		return code;
	if (!flags->events) {
		watch->live.view.count = 0;
		return 0;
	}
	return live_events_fail(&watch->live, text, flags->cmd ? EXIT_OURS : EXIT_FAIL);
}

void top_events_close(struct top_task *task)
{
	live_groups_free(&task->groups);
	free(task->counts);
	task->counts = NULL;
}

void top_events_open(struct top_watch *watch, struct top_task *task)
{
	const struct live_events *live = &watch->live;
	int error;

	if (!live->view.count)
		return;
	task->counts = tool_realloc(NULL, live->view.count * sizeof(*task->counts));
	/* Those of an agent are open already. */
	if (live->view.hash || tool_perf_killed())
		return;
	error = live_groups_open(&task->groups, live, PMC_PERF_GROUP_OWN, task->task.tid, -1);
	live_groups_enable(&task->groups);
	if (!error)
		return;
	/* Events of the OS are still counted. */
	live_groups_free(&task->groups);
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
	for (unsigned g = 0; g < task->groups.n; g++) {
		struct live_group *group = &task->groups.list[g];

		/* A thread that did not run has counted nothing. */
		live_group_step(group);
		if (!task->task.known || task->task.span.cpu_ns || !group->now.enabled_ns)
			live_group_read(group);
		if (!is_stopped(&task->task.span, group))
			live_group_add(group, &watch->live, false, task->counts);
	}
}

/* Descriptors of each are kept open. */
#define MOST_AGENTS 64
/* A thread without a slot after so many looks was not seen by the agent. */
#define LOOKS 5
/* A search reads data of all libraries: it is repeated after 1, 2, 4, ... scans, then after each
 * so many, for an agent that was not there yet. */
#define SELDOM 64

/* ---- which there are ------------------------------------------------------------------------ */

static bool is_due(const struct top_process *process)
{
	const unsigned n = process->scans;

	return !process->refused && (!(n & (n - 1)) || n % SELDOM == 0);
}

static void drop_agent(struct top_watch *watch, struct top_process *process)
{
	if (!process->agent)
		return;
	attach_agent_close(process->agent);
	process->agent = NULL;
	process->scans = 0;
	watch->agents--;
	for (unsigned t = 0; t < process->n; t++) {
		struct top_task *task = process->tasks[t];

		if (task->has_slot && watch->live.view.hash)
			top_events_close(task);
		task->has_slot = false;
		task->looks = 0;
		task->start[0] = '\0';
	}
	/* The events were those of the last agent. */
	if (!watch->agents && watch->live.view.hash)
		change_events(watch, NULL);
}

/* The process goes on without. */
static void give_up(struct top_watch *watch, struct top_process *process, const char *why)
{
	if (why[0]) {
		snprintf(watch->note, sizeof(watch->note), "agent not used: %.480s", why);
		process->refused = true;
	}
	drop_agent(watch, process);
}

void top_agent_find(struct top_watch *watch, struct top_process *process)
{
	const bool was_lost = process->lost;
	char why[ATTACH_WHY];

	if (process->agent && !attach_same_image(process->agent)) {
		drop_agent(watch, process);
		process->lost = true;
	}
	process->scans++;
	if (watch->flags->all || process->agent || watch->agents == MOST_AGENTS || !is_due(process))
		return;
	process->agent = attach_agent_open(process->pid, why);
	if (process->agent)
		watch->agents++;
	/* One that ends is not there in the next scan; the next agent may be about to start. */
	else if (was_lost && !why[0])
		snprintf(watch->note, sizeof(watch->note),
			 "agent not used: process %d runs a program without one", process->pid);
	if (!process->agent)
		give_up(watch, process, why);
	process->lost = process->lost && !was_lost && !process->agent;
}

/* ---- threads -------------------------------------------------------------------------------- */

static void name_start(struct top_watch *watch, const struct attach_thread *thread, char *start)
{
	struct symbol_module *module = NULL;
	const char *name = NULL;
	struct pmc_out out = pmc_out_mem(start, TOP_ROUTINE);

	if (!watch->symbols)
		watch->symbols = symbols_new(NULL);
	if (thread->module[0] && !thread->main)
		module = symbols_module(watch->symbols, thread->module, NULL, 0);
	if (module)
		name = symbols_function(watch->symbols, module, thread->offset);
	if (thread->main)
		pmc_out_str(&out, "(main)");
	else if (name)
		pmc_utf8_fit(&out, name, strlen(name), TOP_ROUTINE / 2, PMC_CUT_END, false);
	else if (thread->offset)
		pmc_outf(&out, "%.20s%s0x%llx", pmc_base_name(thread->module),
			 thread->module[0] ? "+" : "", (unsigned long long)thread->offset);
}

/* Whether the slot can be of this thread, not of an earlier one with its ID that ended unseen. */
static bool is_of(const struct attach_thread *thread, const struct top_task *task)
{
	return thread->start_ns + 2 * LIVE_TICK_NS >= live_start_ns(&task->task.stat);
}

static void take_groups(struct top_watch *watch, const struct top_process *process,
			const struct attach_thread *thread, struct top_task *task)
{
	const struct pmc_plan *plan = &watch->live.plan;

	if (!task->counts || task->groups.n || thread->eventset != watch->live.view.hash)
		return;
	for (unsigned g = 0; g < plan->groups; g++) {
		const unsigned n = plan->first[g + 1] - plan->first[g];
		uint64_t id;
		int fd = attach_agent_leader(process->agent, thread, g, n, &id);

		if (fd >= 0)
			live_groups_take(&task->groups, plan->first[g], n, fd, id);
	}
	/* Counts so far are not of this interval, unless the thread has started in it. */
	for (unsigned g = 0; g < task->groups.n && !task->task.known; g++)
		live_group_read(&task->groups.list[g]);
	top_events_read(watch, task);
}

/* The first agent with events says what is counted, unless -e does. */
static void take_view(struct top_watch *watch, const struct top_process *process, uint64_t eventset)
{
	struct pmc_frame_buf frame;

	if (watch->flags->events || watch->live.view.hash || !eventset)
		return;
	attach_agent_set(process->agent, eventset, &frame);
	if (frame.len)
		change_events(watch, &frame);
	free(frame.data);
}

static void take_thread(struct top_watch *watch, const struct top_process *process,
			struct top_task *task)
{
	struct attach_thread thread;

	task->looks++;
	if (!attach_agent_thread(process->agent, task->task.tid, &thread) || !is_of(&thread, task))
		return;
	task->has_slot = true;
	name_start(watch, &thread, task->start);
	take_view(watch, process, thread.eventset);
	if (watch->live.view.hash)
		take_groups(watch, process, &thread, task);
}

void top_agent_threads(struct top_watch *watch, struct top_process *process)
{
	char why[ATTACH_WHY];
	bool fresh = false;

	for (unsigned t = 0; process->agent && t < process->n; t++) {
		struct top_task *task = process->tasks[t];

		if (task->has_slot || task->looks >= LOOKS)
			continue;
		if (!fresh && !attach_agent_look(process->agent, why)) {
			give_up(watch, process, why);
			return;
		}
		fresh = true;
		take_thread(watch, process, task);
	}
}
