/* SPDX-License-Identifier: MIT */
/* print.c - an interval or the summary: which rows, their sums, and their format. */
#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/dump/words.h"
#include "tools/stat/stat.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* ---- the sum of one target as a list: value, unit, event and rate --------------------------- */

enum { VALUE, UNIT, EVENT, RATE, N_CELLS };

static const struct table_column list_columns[N_CELLS] = {
	{ .name = "value", .unit = TABLE_COUNT, .index = VALUE, .least = 18, .kept = true },
	{ .name = "unit", .unit = TABLE_TEXT, .index = UNIT, .least = 6, .kept = true },
	{ .name = "event", .unit = TABLE_TEXT, .index = EVENT, .least = 23, .kept = true },
	{ .name = "rate", .unit = TABLE_TEXT, .index = RATE, .blank = true },
};

/* Returns the cell of the rate. */
static struct table_cell *add(struct table *table, struct table_cell value, double divisor,
			      int decimals, const char *unit, const char *name)
{
	struct table_cells *list = table->arg;
	struct table_cell *cells = list->cells + table->n_rows++ * N_CELLS;
	struct pmc_scale *scale = pmc_arena_alloc(table->arena, sizeof(*scale));

	*scale = (struct pmc_scale){ divisor, decimals, "" };
	cells[VALUE] = value;
	cells[VALUE].scale = value.kind == CELL_TEXT ? NULL : scale;
	cells[UNIT] = cell_text(unit);
	cells[EVENT] = cell_text(name);
	cells[RATE] = cell_null();
	return &cells[RATE];
}

/* Clocks in ms; what has a scale, such as energy, with decimals. */
static void add_event(struct table *table, const struct stat_lines *lines, unsigned e)
{
	const struct stat_job *stat = lines->stat;
	const struct pmc_p_event *event = &stat->live.view.events[e];
	const struct table_cell cell = stat_event_cell(lines, e);
	const double value = cell.kind == CELL_REAL ? cell.real : (double)cell.number;
	const bool clock = !strcmp(event->unit, "ns");
	struct table_cell *of_rate;
	struct pmc_out rate = PMC_OUT_MEM(64);

	if (cell.kind == CELL_NULL) {
		add(table, cell_text(pmc_state_name(stat_event_state(lines, e))), 1, 0, "",
		    event->name);
		return;
	}
	of_rate = add(table, cell, clock ? 1e6 : 1, event->unit[0] ? 2 : 0,
		      clock ? "ms" : event->unit, event->name);
	if (clock && (int)e == stat_clock(stat) && lines->ns) {
		pmc_out_fixed(&rate, value / (double)lines->ns, 3);
		pmc_out_str(&rate, " CPUs");
	} else if (!clock && lines->ns) {
		pmc_show_number(&rate, value * 1e9 / (double)lines->ns);
		pmc_out_str(&rate, "/s");
	}
	if (event->def.scope != PMC_SCOPE_ALL)
		pmc_outf(&rate, "%s%s mode", rate.len ? "  " : "",
			 pmc_scope_name(event->def.scope));
	*of_rate = cell_text(rate.len ? pmc_arena_strdup(table->arena, rate.buf) : NULL);
}

static void add_time(struct table *table, const char *name, uint64_t ns)
{
	add(table, cell_number(true, ns), 1e9, 6, "s", name);
}

static void put_list(struct stat_lines *lines)
{
	struct stat_job *stat = lines->stat;
	const struct live_events *live = &stat->live;
	const size_t most = live->view.count + pmc_n_metrics + 3;
	struct pmc_out *out = &stat->output.out;
	struct table_cells cells = { .n = N_CELLS };
	struct table table = {
		.columns = list_columns,
		.n_columns = N_CELLS,
		.screen = stat->output.screen,
		.arena = lines->arena,
		.tight = true,
	};
	uint64_t counts;

	cells.cells = pmc_arena_alloc(lines->arena, most * N_CELLS * sizeof(*cells.cells));
	table_set_cells(&table, &cells);
	lines->at = lines->list[0];
	for (unsigned e = 0; e < live->view.count; e++)
		add_event(&table, lines, e);
	for (unsigned m = 0; m < pmc_n_metrics; m++)
		if (live_shows_metric(live, m))
			add(&table, live_metric_cell(live, lines->at->counts, m), 1,
			    pmc_metrics[m].decimals, "", pmc_metrics[m].column);
	counts = table.n_rows;
	add_time(&table, "elapsed", lines->ns);
	if (stat->target == STAT_COMMAND) {
		add_time(&table, "user", pmc_timeval_ns(&stat->usage.ru_utime));
		add_time(&table, "system", pmc_timeval_ns(&stat->usage.ru_stime));
	}
	table_layout(&table);
	lines->scaled = table.has_estimate;
	pmc_out_char(out, '\n');
	if (stat->output.format == TABLE_MARKDOWN) {
		table_print(&table, TABLE_MARKDOWN, out);
	} else {
		table_put_rows(&table, 0, counts, out);
		pmc_out_char(out, '\n');
		table_put_rows(&table, counts, table.n_rows, out);
	}
	pmc_out_char(out, '\n');
}

/* ---- a line as a JSON object: events and metrics are in objects of their own ---------------- */

static void put_cell(struct pmc_json *json, const char *key, const struct table_cell *cell)
{
	pmc_json_key(json, key);
	table_put_json(json->out, cell);
}

static void put_event(struct pmc_json *json, const struct stat_lines *lines, unsigned e)
{
	const struct pmc_p_event *event = &lines->stat->live.view.events[e];
	const struct pmc_count *count = &lines->at->counts[e];
	const struct table_cell value = stat_event_cell(lines, e);
	const bool known = value.kind != CELL_NULL;
	const double number = value.kind == CELL_NUMBER ? (double)value.number : value.real;

	pmc_json_object(json, NULL);
	pmc_json_str(json, "name", event->name);
	put_cell(json, "value", &value);
	pmc_json_known(json, "raw", known, count->raw);
	pmc_json_str(json, "unit", event->unit);
	pmc_json_double(json, "per_second",
			known && lines->ns ? number * 1e9 / (double)lines->ns : NAN);
	pmc_json_u64(json, "enabled_ns", count->enabled_ns);
	pmc_json_u64(json, "running_ns", count->running_ns);
	pmc_json_str(json, "scope", pmc_scope_name(event->def.scope));
	pmc_json_str(json, "state", pmc_state_name(stat_event_state(lines, e)));
	pmc_json_object_end(json);
}

static void put_places(struct pmc_json *json, const struct live_place *places)
{
	pmc_json_object(json, "blocked_in");
	for (unsigned i = 0; i < LIVE_PLACES && places[i].ns; i++)
		pmc_json_u64(json, places[i].name, places[i].ns);
	pmc_json_object_end(json);
}

/* Fields that have no meaning here are left out; `summary` and `blocked_in` are of the last. */
static void put_field(struct pmc_json *json, struct stat_lines *lines,
		      const struct table_column *column)
{
	const struct table_cell cell = stat_cell(lines, column);

	if (column->kind == STAT_AT && lines->summary) {
		if (lines->at->places[0].ns)
			put_places(json, lines->at->places);
	} else if (cell.kind == CELL_JSON ? lines->summary :
					    cell.kind != CELL_NULL || !column->blank) {
		put_cell(json, column->name, &cell);
	}
}

/* The columns of these kinds. */
static void put_fields(struct pmc_json *json, struct stat_lines *lines, enum stat_column_kind from,
		       enum stat_column_kind to)
{
	const struct stat_job *stat = lines->stat;

	for (unsigned i = 0; i < stat->n_data; i++)
		if (from <= stat->data[i].kind && stat->data[i].kind <= to)
			put_field(json, lines, &stat->data[i]);
}

/* An event is there once if any of its columns is. */
static void put_json(struct stat_lines *lines)
{
	struct stat_job *stat = lines->stat;
	bool done[PMC_EVENTS_MAX] = { false };
	struct pmc_json json;

	pmc_json_init(&json, &stat->output.out);
	pmc_json_object(&json, NULL);
	put_fields(&json, lines, STAT_KEY, STAT_KEY);
	pmc_json_array(&json, "events");
	for (unsigned i = 0; i < stat->n_data; i++) {
		const struct table_column *column = &stat->data[i];

		if (column->kind != STAT_EVENT || done[column->index])
			continue;
		put_event(&json, lines, column->index);
		done[column->index] = true;
	}
	pmc_json_array_end(&json);
	pmc_json_object(&json, "metrics");
	put_fields(&json, lines, STAT_CPU_USE, STAT_METRIC);
	pmc_json_object_end(&json);
	put_fields(&json, lines, STAT_WAIT, STAT_AT);
	pmc_json_object_end(&json);
	pmc_out_char(&stat->output.out, '\n');
}

#define HEAD_EVERY 20 /* lines */

/* ---- rows and their sums -------------------------------------------------------------------- */

static struct stat_row *new_sum(struct stat_lines *lines, const char *label)
{
	const struct live_events *live = &lines->stat->live;
	struct stat_row *sum = pmc_arena_alloc(lines->arena, sizeof(*sum));

	*sum = (struct stat_row){ .key = STAT_NO_KEY, .label = label };
	sum->counts = pmc_arena_alloc(lines->arena, (live->view.count + 1) * sizeof(*sum->counts));
	live_counts_clear(live, sum->counts);
	return sum;
}

static void add_to(const struct stat_lines *lines, struct stat_row *sum, const struct stat_row *row)
{
	live_counts_add(&lines->stat->live, sum->counts, row->counts);
	live_span_add(&sum->span, &row->span);
	sum->threads += row->threads;
	sum->lacks_counts |= row->lacks_counts || row == &lines->stat->rest;
}

/* Threads whose names differ in digits only; one that ended before its name was read is of those
 * whose CPU time is in no thread's row. A pool has the name of its threads while all have had
 * the same: sums of intervals have the name that their summary has. */
static void fold_pools(struct stat_lines *lines)
{
	struct pmc_arena *arena = lines->arena;
	struct stat_row **threads = lines->list, *pools = NULL, *pool;
	const unsigned n = lines->n;

	lines->list = pmc_arena_alloc(arena, (n + 1) * sizeof(*lines->list));
	lines->n = 0;
	for (unsigned i = 0; i < n; i++) {
		const struct stat_row *thread = threads[i];
		const char *name = thread->name[0] ? thread->name : lines->stat->rest.name;
		const uint64_t key =
			live_pool_take(&lines->stat->pools, &lines->stat->arena, &name);

		HASH_FIND(hh, pools, &key, sizeof(key), pool);
		if (!pool) {
			pool = lines->list[lines->n++] = new_sum(lines, NULL);
			pool->pool = key;
			HASH_ADD(hh, pools, pool, sizeof(key), pool);
		}
		pool->name = name;
		add_to(lines, pool, thread);
		for (unsigned p = 0; p < LIVE_PLACES; p++)
			live_place_add(pool->places, thread->places[p].name, thread->places[p].ns);
		pool->threads += thread != &lines->stat->rest;
	}
}

/* ---- which, and in which order -------------------------------------------------------------- */

static void set_line(void *arg, uint64_t i)
{
	struct stat_lines *lines = arg;

	lines->at = lines->list[i];
}

static struct table table_of(struct stat_lines *lines, const struct table_column *columns,
			     unsigned n_columns)
{
	return (struct table){
		.columns = columns,
		.n_columns = n_columns,
		.n_rows = lines->n,
		.arg = lines,
		.row = set_line,
		.cell = stat_cell,
		.screen = lines->stat->output.screen,
		.arena = lines->arena,
		.wide = lines->stat->output.format == TABLE_MARKDOWN,
	};
}

/* Those that were there in this interval; since the start, all. */
static void make_rows(struct stat_lines *lines)
{
	struct stat_job *stat = lines->stat;

	lines->list = pmc_arena_alloc(lines->arena, (stat->n_rows + 1) * sizeof(*lines->list));
	for (unsigned r = stat->by != BY_TOTAL; r < stat->n_rows; r++) {
		struct stat_row *row = stat->rows[r];

		if (row->seen || row->shown || lines->cumulative)
			lines->list[lines->n++] = row;
	}
	if (stat->rest.shown)
		lines->list[lines->n++] = &stat->rest;
	if (stat->by == BY_POOL)
		fold_pools(lines);
}

/* The rows that flags choose, in their order, then sums of those that --top leaves out, and of all.
 * Conditions are on values, not on what people read in their place. */
static void make_lines(struct stat_lines *lines)
{
	const struct stat_job *stat = lines->stat;
	struct table_choice choice = stat->output.choice;
	const bool labels = lines->labels;
	struct stat_row **rows, *more, *total;
	const char *problem;
	struct table table;

	make_rows(lines);
	if (stat->by == BY_TOTAL)
		return;
	table = table_of(lines, stat->columns, stat->n_columns);
	choice.columns = NULL;
	lines->labels = false;
	table_apply(&table, &choice, 0, &problem);
	lines->labels = labels;
	rows = lines->list;
	lines->list = pmc_arena_alloc(lines->arena, (table.n_rows + 2) * sizeof(*rows));
	lines->n = 0;
	total = new_sum(lines, "total");
	more = new_sum(lines, pmc_arena_format(lines->arena, "(%llu more)",
					       (unsigned long long)table.n_more));
	for (uint64_t i = 0; i < table.n_rows + table.n_more; i++) {
		struct stat_row *row = rows[table.order[i]];

		add_to(lines, total, row);
		if (i < table.n_rows)
			lines->list[lines->n++] = row;
		else
			add_to(lines, more, row);
	}
	if (table.n_more && labels)
		lines->list[lines->n++] = more;
	/* A sum over the rows of CSV would count it twice. */
	if (stat->target != STAT_THREAD && stat->output.format != TABLE_CSV)
		lines->list[lines->n++] = total;
}

/* ---- tables ------------------------------------------------------------------------------- */

/* Goes on below the last table where the heads are the same. */
static void put_table(struct stat_lines *lines)
{
	struct stat_job *stat = lines->stat;
	struct tool_rows *output = &stat->output;
	struct pmc_out *out = &output->out;
	struct table *table = &stat->tables[stat->turn], *above = &stat->tables[!stat->turn];

	pmc_screen_of_fd(&output->screen, output->width ? -1 : out->fd);
	if (stat->clear && isatty(out->fd)) {
		pmc_out_str(out, "\033[H\033[2J");
		stat->headed = false;
	}
	*table = table_of(lines, stat->shown, stat->n_shown);
	table->before = stat->headed ? above : NULL;
	table_layout(table);
	if (output->format == TABLE_MARKDOWN) {
		table_print(table, TABLE_MARKDOWN, out);
		pmc_out_char(out, '\n');
	} else {
		if (!stat->headed || stat->lines >= HEAD_EVERY || !table_same_heads(above, table)) {
			table_put_head(table, out);
			stat->lines = 0;
		}
		table_put_rows(table, 0, lines->n, out);
	}
	stat->hidden = table->hidden;
	lines->scaled = table->has_estimate;
	lines->lacks = table->has_partial;
	stat->lines += lines->n;
	stat->headed = true;
}

/* ---- notes --------------------------------------------------------------------------------- */

/* Threads sleep, and the kernel does not say where. */
static bool hides_places(const struct stat_job *stat)
{
	bool asleep = false;

	for (unsigned r = 1; stat_has_waits(stat) && !stat->budget.no_wchan && r < stat->n_rows;
	     r++) {
		const struct stat_row *row = stat->rows[r];

		if (row->places[0].ns)
			return false;
		asleep |= row->task.known && strchr("SD", row->task.stat.state);
	}
	return asleep;
}

static void put_uncounted(struct stat_job *stat, const struct pmc_count *total)
{
	const struct live_events *live = &stat->live;
	const struct pmc_plan *plan = &live->plan;
	struct table_reason list[PMC_EVENTS_MAX];
	char absent[320] = "", why[PMC_EVENTS_MAX][320], text[8192];
	struct pmc_out out;
	unsigned n = 0;

	for (unsigned i = 0; i < plan->count; i++) {
		const struct pmc_planned *planned = &plan->events[i];
		const unsigned e = live->view_of[i];

		if (e != LIVE_ABSENT &&
		    (live_event_is_open(live, e) || pmc_count_has_value(&total[e])))
			continue;
		pmc_plan_why(planned, planned->error, why[n], sizeof(why[n]));
		/* The reason of the first event that the machine lacks is that of all. */
		if (e == LIVE_ABSENT && !absent[0])
			strcpy(absent, why[n]);
		list[n] = (struct table_reason){
			e == LIVE_ABSENT ? planned->event.name : live->view.events[e].name,
			e == LIVE_ABSENT ? absent : why[n],
		};
		n++;
	}
	for (unsigned i = 0; i < n; i++) {
		pmc_out_to_mem(&out, text, sizeof(text));
		if (table_put_reason(&out, &stat->output.screen, " not counted: ", list, n, i))
			tool_rows_say(&stat->output, "%s", text);
	}
}

/* Events whose :u or :k the kernel ignores. */
static bool is_unfiltered(const struct stat_job *stat)
{
	const struct pmc_plan *plan = &stat->live.plan;

	for (unsigned i = 0; i < plan->count; i++)
		if (plan->events[i].event.asked_scope &&
		    plan->events[i].flags & PMC_EVENT_UNFILTERED)
			return true;
	return false;
}

static void put_notes(const struct stat_lines *lines)
{
	struct stat_job *stat = lines->stat;
	const struct pmc_count *total = lines->list[lines->n - 1]->counts;
	const char *hidden = stat->hidden ? stat->hidden : "";

	if (hidden[0])
		tool_rows_say(&stat->output,
			      " not shown: %s; --columns chooses, --format csv has all", hidden);
	if (lines->scaled)
		tool_rows_say(&stat->output, " ~ multiplexed: scaled to the whole time");
	if (lines->lacks && !stat->lacks_ns)
		tool_rows_say(&stat->output,
			      " +: at least; what a thread did between its last reading and its "
			      "end, and events of threads that ended before they were found, are "
			      "not included");
	if (is_unfiltered(stat))
		tool_rows_say(&stat->output,
			      " task-clock, cpu-clock and syscalls:* count user and kernel mode; "
			      ":u and :k have no effect on them");
	if (hides_places(stat))
		tool_rows_say(&stat->output, " at: needs permission to trace the process (ptrace)");
	put_uncounted(stat, total);
}

/* ---- all ----------------------------------------------------------------------------------- */

static void put_data(struct stat_lines *lines)
{
	struct stat_job *stat = lines->stat;
	struct pmc_out *out = &stat->output.out;
	const struct table table = table_of(lines, stat->data, stat->n_data);

	if (stat->output.format == TABLE_CSV && !stat->headed)
		table_csv_head(&table, out);
	stat->headed = true;
	for (unsigned i = 0; i < lines->n; i++) {
		set_line(lines, i);
		if (stat->output.format == TABLE_CSV)
			table_csv_row(&table, i, out);
		else
			put_json(lines);
	}
}

void stat_print(struct stat_job *stat, bool summary)
{
	struct stat_lines lines = {
		.stat = stat,
		.summary = summary,
		.labels = tool_rows_is_table(&stat->output),
		.cumulative = summary || stat->cumulative,
		.arena = &stat->arenas[stat->turn ^= 1],
	};

	pmc_arena_free(lines.arena);
	stat_sum(stat, lines.cumulative);
	lines.ns = stat->now_ns - (lines.cumulative ? stat->begin_ns : stat->before_ns);
	make_lines(&lines);
	if (!lines.labels) {
		put_data(&lines);
	} else if (summary && stat->by == BY_TOTAL && !stat->output.choice.columns) {
		/* Below the last interval, whose columns may be hidden. */
		put_list(&lines);
	} else {
		if (summary && stat->interval_ns) {
			pmc_out_str(&stat->output.out, "\nsince the start:\n");
			stat->headed = false;
		}
		put_table(&lines);
	}
	if (summary && lines.labels && lines.n)
		put_notes(&lines);
	pmc_out_flush(&stat->output.out);
}
