/* SPDX-License-Identifier: MIT */
/*
 * agent.c - the agents of watched processes: start routines and groups of their threads.
 *
 * Without -e, the agent's own groups are read by duplicates of their descriptors, so no event is
 * opened twice. A process that calls exec, and one whose data is damaged, is watched without.
 */
#include "lib/base/clock.h"
#include "lib/base/utf8.h"
#include "tools/cli/list.h"
#include "tools/rows/fold.h"
#include "tools/symbol/symbol.h"
#include "tools/top/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool is_used(const struct top_watch *watch)
{
	return !watch->flags->all;
}

void top_agent_drop(struct top_watch *watch, struct top_process *process)
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
			top_events_close(watch, task);
		task->has_slot = false;
		task->looks = 0;
		task->start[0] = '\0';
	}
	/* The events were those of the last agent. */
	if (!watch->agents && watch->live.view.hash)
		top_events_change(watch, NULL);
}

/* The process goes on without. */
static void give_up(struct top_watch *watch, struct top_process *process, const char *why)
{
	if (why[0]) {
		snprintf(watch->note, sizeof(watch->note), "agent not used: %.480s", why);
		process->refused = true;
	}
	top_agent_drop(watch, process);
}

void top_agent_find(struct top_watch *watch, struct top_process *process)
{
	const bool was_lost = process->lost;
	char why[ATTACH_WHY];

	if (process->agent && !attach_same_image(process->agent)) {
		top_agent_drop(watch, process);
		process->lost = true;
	}
	process->scans++;
	if (!is_used(watch) || process->agent || watch->agents == MOST_AGENTS || !is_due(process))
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
	struct pmc_out out;

	if (!watch->symbols && symbols_new(&watch->symbols, NULL))
		watch->symbols = NULL;
	if (watch->symbols && thread->module[0] && !thread->main)
		module = symbols_module(watch->symbols, thread->module, NULL, 0);
	if (module)
		name = symbols_function(watch->symbols, module, thread->offset);
	pmc_out_to_mem(&out, start, TOP_ROUTINE);
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

	if (!task->counts || task->groups || thread->eventset != watch->live.view.hash)
		return;
	task->groups = tool_realloc(NULL, (plan->groups + 1) * sizeof(*task->groups));
	memset(task->groups, 0, (plan->groups + 1) * sizeof(*task->groups));
	for (unsigned g = 0; g < plan->groups; g++) {
		const unsigned n = plan->first[g + 1] - plan->first[g];
		uint64_t id;
		int fd = attach_agent_leader(process->agent, thread, g, n, &id);

		if (fd >= 0)
			live_group_take(&task->groups[g], plan->first[g], n, fd, id);
		/* Its count so far is not of this interval, unless it has started in it.
		 */
		if (!task->task.known)
			live_group_read(&task->groups[g]);
	}
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
		top_events_change(watch, &frame);
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
