/* SPDX-License-Identifier: MIT */
/* rows.c - threads as rows: folded by pool or process, filtered and sorted. */
#include "tools/top/top.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* As in reports: more threads than this are shown by pool. */
#define MANY_THREADS 20

enum top_by top_usual_by(const struct top_watch *watch)
{
	if (watch->flags->all)
		return TOP_PROCESS;
	return watch->n_tasks > MANY_THREADS ? TOP_POOL : TOP_THREAD;
}

/* ---- folding -------------------------------------------------------------------------------- */

static uint64_t key_of(struct top_watch *watch, const struct top_task *task, enum top_by by,
		       const char **name)
{
	*name = by == TOP_PROCESS ? task->process->name : task->task.stat.name;
	if (by == TOP_POOL)
		return live_pool_take(&watch->pools, &watch->table, name);
	return by == TOP_PROCESS ? (uint64_t)task->process->pid : task->number;
}

/* A word without wildcards may stand anywhere in the name. */
static bool fits(const struct top_look *look, const char *name)
{
	if (!strpbrk(look->filter, "*?["))
		return strstr(name, look->filter);
	return fnmatch(look->filter, name, 0) == 0;
}

void top_look_inside(struct top_look *look, const struct top_row *row)
{
	if (!look->only) {
		look->outer_by = look->by;
		memcpy(look->outer_filter, look->filter, sizeof(look->filter));
	}
	look->filter[0] = '\0';
	look->only = row->key;
	look->only_by = look->by;
	snprintf(look->only_name, sizeof(look->only_name), "%s", row->name);
	look->by = TOP_THREAD;
}

void top_look_outside(struct top_look *look)
{
	memcpy(look->filter, look->outer_filter, sizeof(look->filter));
	look->only = 0;
	look->by = look->outer_by;
}

static struct top_row *row_of(struct top_rows *rows, const struct live_events *live, uint64_t key)
{
	struct pmc_arena *arena = &rows->arena;
	struct top_row *row;

	HASH_ENTRY(rows->by_key, key, &key, row);
	if (!row->counts) {
		row->counts = pmc_arena_alloc(arena, live->view.count * sizeof(*row->counts) + 1);
		live_counts_clear(live, row->counts);
	}
	return row;
}

/* Each thread is read at a time of its own, which may be late. */
static uint64_t length_of(const struct top_rows *rows, const struct top_task *task)
{
	const uint64_t ns = task->task.span.ns;

	return task->born && ns < rows->wall_ns ? rows->wall_ns : ns;
}

/* As much of the interval of the title as of the thread's own one. */
static uint64_t of_title(const struct top_rows *rows, const struct top_task *task, uint64_t ns)
{
	const uint64_t length_ns = length_of(rows, task);

	return length_ns ? (uint64_t)((double)ns / (double)length_ns * (double)rows->wall_ns) : 0;
}

static void add_task(struct top_rows *rows, const struct top_watch *watch, struct top_row *row,
		     const struct top_task *task)
{
	const struct live_task *live = &task->task;

	if (!row->threads++) {
		row->task = task;
		row->pid = task->process->pid;
		row->command = task->process->command;
		memcpy(row->start, task->start, sizeof(row->start));
	} else {
		row->task = NULL;
		if (strcmp(row->start, task->start) != 0)
			row->start[0] = '\0';
		if (row->pid != task->process->pid) {
			row->pid = 0;
			row->command = NULL;
		}
	}
	row->states[live->stat.state & 127]++;
	for (unsigned i = 0; i < TOP_HISTORY; i++)
		row->cpu_us[i] += task->cpu_us[i];
	live_place_add(row->places, live->wchan, live->known ? live->span.blocked_ns : 0);
	top_waits_add(watch->waits, live->tid, &rows->arena, &row->lengths);
	if (task->counts)
		live_counts_add(&watch->live, row->counts, task->counts);
	if (!live->known)
		return;
	row->known++;
	live_span_add(&row->span, &live->span);
	row->ns += length_of(rows, task);
}

static void add_process(struct top_rows *rows, struct top_watch *watch,
			const struct top_process *process, const struct top_look *look)
{
	rows->cpu_ns += process->ended_ns;
	for (unsigned t = 0; t < process->n; t++) {
		const struct top_task *task = process->tasks[t];
		const char *name;
		struct top_row *row;

		if (task->task.known) {
			const uint64_t cpu_ns = of_title(rows, task, task->task.span.cpu_ns);

			rows->cpu_ns += cpu_ns;
			rows->sum.cpu_ns += cpu_ns;
			rows->sum.delay_ns += of_title(rows, task, task->task.span.delay_ns);
		}
		if (look->only && key_of(watch, task, look->only_by, &name) != look->only)
			continue;
		row = row_of(rows, &watch->live, key_of(watch, task, look->by, &name));
		row->name = name;
		add_task(rows, watch, row, task);
		/* Threads that have ended are part of their process only. */
		if (look->by == TOP_PROCESS && !t && row->known)
			row->span.cpu_ns += process->ended_ns;
	}
}

/* CPU time of children that ended, of any process. */
static void add_children(struct top_rows *rows, const struct top_watch *watch,
			 const struct top_look *look)
{
	struct top_row *row;

	rows->cpu_ns += watch->children_ns;
	rows->sum.cpu_ns += watch->children_ns;
	if (!watch->children_ns || look->only)
		return;
	row = row_of(rows, &watch->live, UINT64_MAX);
	row->name = "(ended children)";
	row->children = true;
	row->known = 1;
	row->ns = rows->wall_ns;
	row->span.cpu_ns = watch->children_ns;
	memcpy(row->cpu_us, watch->children_us, sizeof(row->cpu_us));
}

/* ---- selecting and sorting ------------------------------------------------------------------ */

/* The rows that meet the conditions, in order. Conditions on columns that such rows lack are not
 * met. */
static void arrange(struct top_rows *rows, const struct top_watch *watch,
		    const struct top_look *look)
{
	struct table_choice choice = watch->flags->rows.choice;
	struct top_source source = { .watch = watch, .rows = rows };
	struct table table = top_table(&source, &rows->arena);
	const char *problem;
	struct top_row **sorted = pmc_arena_alloc(&rows->arena, (rows->n + 1) * sizeof(*sorted));

	table.columns = top_columns(watch, look, TOP_DATA, &rows->arena, &table.n_columns);
	rows->sort = table_find(table.columns, table.n_columns, look->sort, strlen(look->sort),
				&rows->arena, &problem) ?
			     look->sort :
			     "cpu";
	choice.columns = NULL;
	choice.top = 0;
	choice.sort = rows->sort;
	choice.reverse = look->reverse != !strcmp(rows->sort, "pid");
	table_apply(&table, &choice, 0, &problem);
	for (unsigned r = 0; r < table.n_rows; r++)
		sorted[r] = rows->list[table.order[r]];
	rows->list = sorted;
	rows->n = (unsigned)table.n_rows;
	rows->hidden = HASH_COUNT(rows->by_key) - rows->n;
}

void top_rows_make(struct top_rows *rows, struct top_watch *watch, const struct top_look *look)
{
	pmc_arena_free(&rows->arena);
	*rows = (struct top_rows){
		.wall_ns = watch->before_ns ? watch->now_ns - watch->before_ns : 0,
	};
	for (const struct top_process *process = watch->processes; process;
	     process = process->hh.next)
		add_process(rows, watch, process, look);
	add_children(rows, watch, look);
	rows->list =
		pmc_arena_alloc(&rows->arena, (HASH_COUNT(rows->by_key) + 1) * sizeof(*rows->list));
	for (struct top_row *row = rows->by_key; row; row = row->hh.next)
		if (fits(look, row->name) ||
		    (watch->commands && row->command && fits(look, row->command)))
			rows->list[rows->n++] = row;
	arrange(rows, watch, look);
}
