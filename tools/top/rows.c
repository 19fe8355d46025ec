/* SPDX-License-Identifier: MIT */
/* rows.c - threads as rows: folded by pool or process, filtered and sorted. */
#include "lib/base/hash.h"
#include "tools/top/top.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
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

static uint64_t key_of(const struct top_task *task, enum top_by by, char name[LIVE_NAME])
{
	const char *own = task->task.stat.name;
	size_t len = strlen(own);

	if (by == TOP_PROCESS) {
		memcpy(name, task->process->name, LIVE_NAME);
		return (uint64_t)task->process->pid;
	}
	if (by == TOP_THREAD || len > 20) {
		memcpy(name, own, LIVE_NAME);
		return by == TOP_THREAD ? task->number : pmc_hash(own, len);
	}
	len = pmc_pool_pattern(own, len, name);
	name[len] = '\0';
	return pmc_hash(name, len);
}

static bool fits(const struct top_look *look, const char *name)
{
	char glob[sizeof(look->filter) + 2];

	if (!look->filter[0])
		return true;
	/* A word without wildcards may stand anywhere in the name. */
	if (!strpbrk(look->filter, "*?[")) {
		glob[0] = '*';
		strcpy(glob + 1, look->filter);
		strcat(glob, "*");
		return fnmatch(glob, name, 0) == 0;
	}
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
	memcpy(look->only_name, row->name, sizeof(look->only_name));
	look->by = TOP_THREAD;
}

void top_look_outside(struct top_look *look)
{
	memcpy(look->filter, look->outer_filter, sizeof(look->filter));
	look->only = 0;
	look->by = look->outer_by;
}

static bool is_shown(const struct top_look *look, const struct top_task *task)
{
	char name[LIVE_NAME];

	return !look->only || key_of(task, look->only_by, name) == look->only;
}

static struct top_row *find_row(struct top_rows *rows, uint64_t key)
{
	unsigned at = (unsigned)(key * 0x9e3779b97f4a7c15u >> 40) & (rows->index_room - 1);

	while (rows->index[at] && rows->rows[rows->index[at] - 1].key != key)
		at = (at + 1) & (rows->index_room - 1);
	if (!rows->index[at]) {
		rows->index[at] = ++rows->n;
		memset(&rows->rows[rows->n - 1], 0, sizeof(rows->rows[0]));
		rows->rows[rows->n - 1].key = key;
	}
	return &rows->rows[rows->index[at] - 1];
}

static void add_task(const struct top_watch *watch, struct top_row *row,
		     const struct top_task *task, enum top_by by, struct pmc_count *counts)
{
	const uint64_t wall_ns = watch->before_ns ? watch->now_ns - watch->before_ns : 0;
	const struct live_task *live = &task->task;

	if (!row->threads++) {
		row->by = by;
		row->task = task;
		row->pid = task->process->pid;
		row->command = task->process->command;
		memcpy(row->start, task->start, sizeof(row->start));
		if (counts)
			live_counts_clear(&watch->live, counts);
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
	if (live->known) {
		row->known++;
		live_span_add(&row->span, &live->span);
		/* Each thread is read at a time of its own, which may be late. */
		row->ns += task->born && live->span.ns < wall_ns ? wall_ns : live->span.ns;
	}
	if (!counts)
		return;
	row->counts = counts;
	if (task->counts)
		live_counts_add(&watch->live, counts, task->counts);
}

/* Most threads' function, by Boyer and Moore's vote: exact where more than half share it. */
static void vote(struct top_row *row, const struct live_task *task)
{
	if (!task->wchan[0])
		return;
	if (!row->n_where)
		memcpy(row->where, task->wchan, sizeof(row->where));
	if (!strcmp(row->where, task->wchan))
		row->n_where++;
	else
		row->n_where--;
}

static int make_room(struct top_rows *rows, const struct top_watch *watch)
{
	const size_t n = watch->n_tasks + 1, counts = n * watch->live.view.count;
	unsigned index = 64;

	while (index < 2 * n)
		index *= 2;
	if (rows->room < n) {
		free(rows->rows);
		rows->room = (unsigned)n * 2;
		rows->rows = malloc(rows->room * sizeof(*rows->rows));
	}
	if (rows->index_room < index) {
		free(rows->index);
		rows->index_room = index;
		rows->index = malloc(index * sizeof(*rows->index));
	}
	if (rows->counts_room < counts) {
		free(rows->counts);
		rows->counts_room = counts;
		rows->counts = malloc(counts * sizeof(*rows->counts));
	}
	if (!rows->rows || !rows->index || (counts && !rows->counts)) {
		top_rows_free(rows);
		return -ENOMEM;
	}
	memset(rows->index, 0, rows->index_room * sizeof(*rows->index));
	return 0;
}

/* ---- selecting and sorting ------------------------------------------------------------------ */

/* Keeps the rows that meet the conditions, in order. Conditions on columns that such rows lack are
 * not met. */
static int arrange(struct top_rows *rows, const struct top_watch *watch,
		   const struct top_look *look, struct pmc_arena *arena)
{
	struct top_source source = { .watch = watch, .rows = rows };
	const struct table table = top_table(&source, arena);
	struct table_condition *conditions = NULL;
	const struct table_column sort = top_column(watch, look, look->sort);
	struct table_column *columns;
	struct top_row *sorted;
	const char *problem = NULL;
	uint64_t *order;
	unsigned n = 0, kept = 0;
	int error;

	columns = top_columns(watch, look, TOP_DATA, arena, &n);
	order = pmc_arena_alloc(arena, (rows->n + 1) * sizeof(*order));
	sorted = pmc_arena_alloc(arena, (rows->n + 1) * sizeof(*sorted));
	if (!columns || !order || !sorted)
		return -ENOMEM;
	error = table_conditions(columns, n, look->where, look->n_where, arena, &conditions,
				 &problem);
	for (unsigned r = 0; r < rows->n; r++) {
		if (!error && table_selects(&table, r, conditions, look->n_where))
			rows->rows[kept++] = rows->rows[r];
		else
			rows->hidden++;
	}
	rows->n = kept;
	if (error == -ENOMEM)
		return error;
	error = table_sort(&table, &sort, look->reverse != (look->sort == TOP_PID), order, rows->n);
	for (unsigned r = 0; !error && r < rows->n; r++)
		sorted[r] = rows->rows[order[r]];
	if (!error)
		memcpy(rows->rows, sorted, rows->n * sizeof(*sorted));
	return error;
}

/* ---- all ------------------------------------------------------------------------------------ */

static void add_process(struct top_rows *rows, const struct top_watch *watch,
			const struct top_process *process, const struct top_look *look)
{
	uint64_t cpu_ns = process->ended_ns;

	for (unsigned t = 0; t < process->n; t++) {
		const struct top_task *task = process->tasks[t];
		struct pmc_count *counts = NULL;
		char name[LIVE_NAME];
		struct top_row *row;

		if (task->task.known) {
			live_span_add(&rows->sum, &task->task.span);
			cpu_ns += task->task.span.cpu_ns;
		}
		if (!is_shown(look, task))
			continue;
		row = find_row(rows, key_of(task, look->by, name));
		/* A pool has its threads' own name while all have the same. */
		if (look->by == TOP_POOL && !row->threads)
			memcpy(row->name, task->task.stat.name, LIVE_NAME);
		else if (look->by != TOP_POOL || strcmp(row->name, task->task.stat.name) != 0)
			memcpy(row->name, name, LIVE_NAME);
		if (watch->live.view.count)
			counts = rows->counts + (size_t)(row - rows->rows) * watch->live.view.count;
		add_task(watch, row, task, look->by, counts);
		vote(row, &task->task);
		/* Threads that have ended are part of their process only. */
		if (look->by == TOP_PROCESS && !t && row->known)
			row->span.cpu_ns += process->ended_ns;
	}
	rows->cpu_ns += cpu_ns;
}

int top_rows_make(struct top_rows *rows, const struct top_watch *watch, const struct top_look *look)
{
	struct pmc_arena arena = { 0 };
	unsigned kept = 0;
	int error = make_room(rows, watch);

	if (error)
		return error;
	rows->n = rows->hidden = 0;
	rows->cpu_ns = 0;
	rows->sum = (struct live_span){ .ns = 0 };
	rows->wall_ns = watch->before_ns ? watch->now_ns - watch->before_ns : 0;
	rows->threads = watch->n_tasks;
	rows->processes = watch->n;
	for (unsigned i = 0; i < watch->n; i++)
		add_process(rows, watch, watch->processes[i], look);
	for (unsigned i = 0; i < rows->n; i++) {
		const struct top_row *row = &rows->rows[i];

		if (fits(look, row->name) ||
		    (watch->commands && row->command && fits(look, row->command)))
			rows->rows[kept++] = rows->rows[i];
		else
			rows->hidden++;
	}
	rows->n = kept;
	error = arrange(rows, watch, look, &arena);
	pmc_arena_free(&arena);
	return error;
}

void top_rows_free(struct top_rows *rows)
{
	free(rows->rows);
	free(rows->index);
	free(rows->counts);
	*rows = (struct top_rows){ .n = 0 };
}
