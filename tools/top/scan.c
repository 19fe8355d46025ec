/* SPDX-License-Identifier: MIT */
/* scan.c - finds the processes and threads that are watched, and reads each of them. */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "tools/symbol/symbol.h"
#include "tools/top/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- threads of a process ------------------------------------------------------------------ */

static void free_task(struct top_watch *watch, struct top_task *task)
{
	top_events_close(task);
	live_task_close(&task->task, &watch->budget);
	free(task);
	watch->n_tasks--;
}

static void free_process(struct top_watch *watch, struct top_process *process)
{
	attach_agent_close(process->agent);
	watch->agents -= process->agent != NULL;
	for (unsigned i = 0; i < process->n; i++)
		free_task(watch, process->tasks[i]);
	HASH_DEL(watch->processes, process);
	watch->n--;
	free(process->tasks);
	free(process);
}

/* NULL: it has ended. */
static struct top_task *read_task(struct top_watch *watch, struct top_task *task)
{
	const bool first = !task->task.read_ns;

	if (live_task_read(&task->task, watch->before_ns, &watch->budget) != 0) {
		free_task(watch, task);
		return NULL;
	}
	task->born = first;
	if (first)
		top_events_open(watch, task);
	top_events_read(watch, task);
	if (task->task.known) {
		task->cpu_us[0] += (uint32_t)(task->task.span.cpu_ns / 1000);
		task->delay_us[0] += (uint32_t)(task->task.span.delay_ns / 1000);
	}
	return task;
}

static struct top_task *new_task(struct top_watch *watch, struct top_process *process, pid_t tid)
{
	struct top_task *task = tool_realloc(NULL, sizeof(*task));

	*task = (struct top_task){ .process = process, .number = ++watch->numbers };
	live_task_init(&task->task, process->pid, tid);
	watch->n_tasks++;
	return read_task(watch, task);
}

/* Replaces the list of threads by those of watch->tids, in the same order. */
static void merge_tasks(struct top_watch *watch, struct top_process *process)
{
	const struct live_tids *tids = &watch->tids;
	struct top_task **old = process->tasks;
	struct top_task **list = tool_realloc(NULL, tids->n * sizeof(*list));
	unsigned n = 0, at = 0;

	for (unsigned i = 0; i < tids->n; i++) {
		struct top_task *task = NULL;

		while (at < process->n && old[at]->task.tid < tids->list[i])
			free_task(watch, old[at++]);
		if (at < process->n && old[at]->task.tid == tids->list[i])
			task = read_task(watch, old[at++]);
		/* Another thread may have its ID now. */
		if (!task)
			task = new_task(watch, process, tids->list[i]);
		if (task)
			list[n++] = task;
	}
	while (at < process->n)
		free_task(watch, old[at++]);
	free(old);
	process->tasks = list;
	process->n = n;
}

/* begin_ns: the clock before the threads were read. From the end of the last reading to the begin
 * of this one the clock advances by no more than the threads' times do, unless a thread ended. */
static void set_ended(struct top_watch *watch, struct top_process *process, uint64_t begin_ns)
{
	uint64_t rows = process->clock_ns;

	for (unsigned i = 0; i < process->n; i++)
		rows += process->tasks[i]->task.known ? process->tasks[i]->task.span.cpu_ns : 0;
	process->ended_ns = process->clock_ns && watch->before_ns ? pmc_sub_sat(begin_ns, rows) : 0;
	/* 0: the process has ended meanwhile. */
	rows = live_process_cpu_ns(process->pid);
	process->clock_ns = rows ? rows : process->clock_ns;
}

/* What the process has waited for since the last scan. The stat of a thread is as of its last run;
 * the one that waited has the newest value. */
static void add_children(struct top_watch *watch, struct top_process *process, bool known)
{
	const uint64_t before_ns = process->waited_ns;

	for (unsigned i = 0; i < process->n; i++) {
		const uint64_t ns = process->tasks[i]->task.stat.child_ticks * LIVE_TICK_NS;

		if (process->waited_ns < ns)
			process->waited_ns = ns;
	}
	if (known)
		watch->children_carry_ns += (int64_t)(process->waited_ns - before_ns);
}

/* The carry is what processes have waited for, less all that processes that ended had been seen to
 * do. It is negative while a process that ended is not in its parent's times yet; what no parent
 * waits for is forgotten in the next interval. Below the steps of these times it is no value. */
static void set_children(struct top_watch *watch, int64_t before_ns)
{
	const int64_t ns = watch->children_carry_ns;

	watch->children_ns = 0;
	if (ns >= 2 * (int64_t)LIVE_TICK_NS) {
		watch->children_ns = (uint64_t)ns;
		watch->children_carry_ns = 0;
	} else if (ns < 0 && before_ns < 0) {
		watch->children_carry_ns = ns < before_ns ? ns - before_ns : 0;
	}
	watch->children_us[0] += (uint32_t)(watch->children_ns / 1000);
}

/* NULL: not found. IDs of other threads may be lower. */
static const struct top_task *main_task(const struct top_process *process)
{
	for (unsigned i = 0; i < process->n; i++)
		if (process->tasks[i]->task.tid == process->pid)
			return process->tasks[i];
	return NULL;
}

/* Programs change them: PostgreSQL's say what each server process does. */
static void read_command(struct top_process *process)
{
	char *text = process->command;
	int n = pmc_file_read(text, sizeof(process->command), "/proc/%d/cmdline", process->pid);

	if (n == -EFBIG)
		n = sizeof(process->command) - 1;
	for (int i = 0; i < n; i++)
		text[i] = text[i] ? text[i] : ' ';
}

/* False: the process has ended. The main thread stays as long as the process: another one belongs
 * to another process. */
static bool scan_process(struct top_watch *watch, struct top_process *process)
{
	const struct top_task *main = main_task(process);
	const uint64_t number = main ? main->number : 0;
	const uint64_t clock_ns = live_process_cpu_ns(process->pid);

	if (live_tids_read(process->pid, &watch->tids) != 0)
		return false;
	top_agent_find(watch, process);
	merge_tasks(watch, process);
	main = main_task(process);
	if (!main || (number && main->number != number))
		return false;
	top_agent_threads(watch, process);
	/* Another program may have an agent. */
	if (strcmp(process->name, main->task.stat.name) != 0) {
		process->scans = 0;
		process->refused = false;
	}
	memcpy(process->name, main->task.stat.name, sizeof(process->name));
	if (watch->commands)
		read_command(process);
	set_ended(watch, process, clock_ns);
	add_children(watch, process, main->task.known);
	return true;
}

/* ---- processes ----------------------------------------------------------------------------- */

static struct top_process *add_process(struct top_watch *watch, pid_t pid)
{
	struct pmc_arena *arena = &watch->table;
	struct top_process *process;

	HASH_FIND_INT(watch->processes, &pid, process);
	if (!process) {
		process = tool_realloc(NULL, sizeof(*process));
		*process = (struct top_process){ .pid = pid };
		HASH_ADD_INT(watch->processes, pid, process);
		watch->n++;
	}
	process->seen = true;
	return process;
}

static void take_process(const char *name, void *arg)
{
	uint64_t pid;

	if (pmc_number(name, INT_MAX, &pid) && pid)
		add_process(arg, (pid_t)pid);
}

/* Only a thread that ran can have started one. */
static void find_children(struct top_watch *watch, const struct top_task *task)
{
	struct live_tids *children = &watch->tids;

	if (task->task.known && !task->task.span.cpu_ns)
		return;
	children->n = 0;
	live_children_add(task->task.tid, children);
	for (unsigned i = 0; i < children->n; i++)
		add_process(watch, children->list[i]);
}

static void drop_unseen(struct top_watch *watch)
{
	struct top_process *process, *next;

	HASH_ITER (hh, watch->processes, process, next)
		if (!process->seen) {
			watch->children_carry_ns -=
				(int64_t)(process->clock_ns + process->waited_ns);
			free_process(watch, process);
		}
}

/* Processes that are found meanwhile are read too: children of children. */
static void scan_tree(struct top_watch *watch)
{
	for (struct top_process *process = watch->processes; process; process = process->hh.next) {
		process->seen = scan_process(watch, process);
		for (unsigned t = 0; !watch->flags->all && process->seen && t < process->n; t++)
			find_children(watch, process->tasks[t]);
	}
}

/* ---- all ----------------------------------------------------------------------------------- */

/* The present slot begins, again or after the last one. */
static void begin_slot(struct top_watch *watch, bool next)
{
	watch->slots += next && watch->slots < TOP_HISTORY - 1;
	watch->slot_used_ns = 0;
	if (next)
		memmove(watch->children_us + 1, watch->children_us, TOP_SLOTS_BYTES);
	watch->children_us[0] = 0;
	for (struct top_process *process = watch->processes; process; process = process->hh.next)
		for (unsigned t = 0; t < process->n; t++) {
			struct top_task *task = process->tasks[t];

			if (next) {
				memmove(task->cpu_us + 1, task->cpu_us, TOP_SLOTS_BYTES);
				memmove(task->delay_us + 1, task->delay_us, TOP_SLOTS_BYTES);
			}
			task->cpu_us[0] = task->delay_us[0] = 0;
		}
}

bool top_watch_scan(struct top_watch *watch)
{
	const int64_t carry_ns = watch->children_carry_ns;
	struct top_process *process;
	bool alive = watch->flags->all;

	watch->before_ns = watch->now_ns;
	watch->now_ns = pmc_now_ns();
	if (watch->before_ns)
		watch->slot_used_ns += watch->now_ns - watch->before_ns;
	if (watch->flags->all) {
		for (process = watch->processes; process; process = process->hh.next)
			process->seen = false;
		pmc_dir_visit(take_process, watch, "/proc");
		drop_unseen(watch);
	}
	scan_tree(watch);
	drop_unseen(watch);
	top_waits_read(watch->waits);
	top_waits_step(watch->waits);
	set_children(watch, carry_ns);
	for (process = watch->processes; process; process = process->hh.next)
		alive |= process->root && !live_is_zombie(process->pid);
	/* A slot is over when less than half an interval is missing. */
	if (watch->slot_used_ns + watch->flags->interval_ns / 2 >= watch->slot_ns)
		begin_slot(watch, true);
	return alive;
}

void top_watch_skip(struct top_watch *watch)
{
	top_watch_scan(watch);
	begin_slot(watch, false);
}

void top_watch_commands(struct top_watch *watch, bool shown)
{
	watch->commands = shown;
	for (struct top_process *process = watch->processes; process; process = process->hh.next)
		if (shown)
			read_command(process);
}

int top_watch_start(struct top_watch *watch, const struct top_flags *flags, pid_t child)
{
	struct live_tids *pids = &watch->tids;
	int code = 0;

	*watch = (struct top_watch){ .flags = flags, .commands = flags->commands };
	watch->slot_ns = flags->interval_ns > 1000000000u ? flags->interval_ns : 1000000000u;
	live_budget_init(&watch->budget);
	if (child)
		add_process(watch, child)->root = true;
	if (flags->pids || flags->name)
		code = live_find(flags->pids, flags->name, pids);
	for (unsigned i = 0; i < pids->n; i++)
		add_process(watch, pids->list[i])->root = true;
	return code;
}

const struct top_process *top_first_root(const struct top_watch *watch, unsigned *roots)
{
	const struct top_process *first = NULL;

	*roots = 0;
	for (const struct top_process *process = watch->processes; process;
	     process = process->hh.next)
		if (process->root && !(*roots)++)
			first = process;
	return first;
}

void top_watch_stop(struct top_watch *watch)
{
	struct top_process *process, *next;

	HASH_ITER (hh, watch->processes, process, next)
		free_process(watch, process);
	top_waits_free(watch->waits);
	symbols_free(watch->symbols);
	live_tids_free(&watch->tids);
	pmc_arena_free(&watch->arena);
	pmc_arena_free(&watch->table);
}
