/* SPDX-License-Identifier: MIT */
/* columns.c - columns of the rows, their cells, and which of them fit. */
#include "lib/base/utf8.h"
#include "tools/table/histogram.h"
#include "tools/top/top.h"

#include <linux/perf_event.h>
#include <string.h>

#define WIDEST_TEXT 32
/* Of screens whose columns are as narrow as they can be. */
#define NARROW 100

enum { TOP_FIELD, TOP_EVENT, TOP_METRIC };

/* ---- which there are ------------------------------------------------------------------------ */

/* Those of such rows, by enum top_column; `when`: they have it. Rows of CSV that follow each other
 * have the same columns. */
static void make_fields(const struct top_watch *watch, enum top_by by, int width,
			struct table_column fields[TOP_COLUMNS])
{
	static const struct pmc_scale whole = { 1, 0, "" };
	const enum table_format format = (enum table_format)watch->flags->rows.format;
	const bool data = width == TOP_DATA, waits = watch->waits,
		   once = watch->flags->count == 1 && !watch->flags->rows.choice.columns,
		   json = format == TABLE_JSON || format == TABLE_JSONL;
	const struct table_column made[TOP_COLUMNS] = {
#define X(id, title, in_table, kind, narrowest, priority, has, cell, doc)                          \
	{ .name = title,                                                                           \
	  .head = in_table,                                                                        \
	  .unit = TABLE_##kind,                                                                    \
	  .scale = TABLE_##kind == TABLE_COUNT ? &whole : NULL,                                    \
	  .index = TOP_##id,                                                                       \
	  .decimals = 1,                                                                           \
	  .drop = TABLE_DROP_LAST,                                                                 \
	  .place = 100 - priority,                                                                 \
	  .least = narrowest,                                                                      \
	  .most = WIDEST_TEXT,                                                                     \
	  .when = has },
#include "tools/top/columns.def"
#undef X
	};

	memcpy(fields, made, sizeof(made));
	fields[TOP_TIME].drop = fields[TOP_NAME].drop = TABLE_STAYS;
	fields[TOP_COMMAND_].most = width / 2;
	fields[TOP_HISTORY_].hidden = true;
	if (width < NARROW)
		fields[TOP_WHERE].most = fields[TOP_WHERE].least;
	if (by == TOP_PROCESS)
		fields[TOP_PID].place = fields[TOP_TID].place;
	if (by == TOP_THREAD)
		return;
	fields[TOP_NAME].head = by == TOP_POOL ? "pool" : "process";
	fields[TOP_STATE].head = fields[TOP_STATE].name;
	fields[TOP_STATE].least = 6;
}

/* Those that were asked for come before all but the name, the ID and the CPU time. */
static struct table_column event_of(const struct top_watch *watch, unsigned e)
{
	static const struct pmc_scale ms = { 1e6, 1, "ms" };
	const struct pmc_p_event *event = &watch->live.view.events[e];
	const bool clock = !strcmp(event->unit, "ns");

	return (struct table_column){
		.name = event->name,
		.kind = TOP_EVENT,
		.index = e,
		.unit = clock ? TABLE_NS : TABLE_COUNT,
		.scale = clock ? &ms : NULL,
		.scale_unit = event->unit,
		.drop = TABLE_DROP_LAST,
		.place = 100 - (watch->flags->events ? 98 : 90),
		/* With a prefix, which changes from one interval to the next. */
		.least = event->def.type == PERF_TYPE_SOFTWARE ?
				 6 :
				 pmc_utf8_columns(event->name, strlen(event->name)) + 2,
	};
}

/* Metrics say more than events in less room. */
static struct table_column metric_of(const struct top_watch *watch, unsigned m)
{
	return (struct table_column){
		.name = pmc_metrics[m].name,
		.head = pmc_metrics[m].column,
		.kind = TOP_METRIC,
		.index = m,
		.unit = TABLE_RATIO,
		.decimals = (unsigned char)pmc_metrics[m].decimals,
		.drop = TABLE_DROP_LAST,
		.place = 100 - (watch->flags->events ? 97 : 91),
		.least = 6,
	};
}

/* An event takes the place of the column that says the same. */
static bool is_event(const struct live_events *live, const char *name)
{
	for (unsigned e = 0; e < live->view.count; e++)
		if (!strcmp(live->view.events[e].name, name))
			return true;
	return false;
}

struct table_column *top_columns(const struct top_watch *watch, const struct top_look *look,
				 int width, struct pmc_arena *arena, unsigned *n)
{
	const struct live_events *live = &watch->live;
	struct table_column fields[TOP_COLUMNS];
	const size_t room = TOP_COLUMNS + live->view.count + pmc_n_metrics;
	struct table_column *list = pmc_arena_alloc(arena, room * sizeof(*list));

	make_fields(watch, look->by, width, fields);
	*n = 0;
	for (enum top_column c = 0; c < TOP_HISTORY_; c++)
		if (fields[c].when && !is_event(live, fields[c].name))
			list[(*n)++] = fields[c];
	for (unsigned e = 0; e < live->view.count; e++)
		list[(*n)++] = event_of(watch, e);
	for (unsigned m = 0; live->view.count && m < pmc_n_metrics; m++)
		if (live_shows_metric(live, m))
			list[(*n)++] = metric_of(watch, m);
	if (fields[TOP_HISTORY_].when)
		list[(*n)++] = fields[TOP_HISTORY_];
	for (unsigned i = 0; i < *n; i++) {
		list[i].kept = true;
		list[i].place = (strcmp(list[i].name, look->sort) ? list[i].place : 1) << 16 | i;
	}
	return list;
}

/* ---- cells ---------------------------------------------------------------------------------- */

/* Of the last cell. */
static char text[512];

static struct table_cell percent(const struct top_row *row, uint64_t part, unsigned threads)
{
	if (!row->known)
		return cell_null();
	return cell_real(row->ns ? 100.0 * (double)part / (double)row->ns * threads : 0, 3);
}

static double per_second(const struct top_row *row, double n)
{
	return row->ns ? n * 1e9 * row->known / (double)row->ns : 0;
}

static struct table_cell rate(const struct top_row *row, uint64_t n)
{
	return row->known ? cell_real(per_second(row, (double)n), 3) : cell_null();
}

/* Of no waits there is none. */
static struct table_cell length(const struct pmc_histogram *of, unsigned percent)
{
	return cell_number(of->n, pmc_histogram_percentile(of, percent));
}

/* 9S, or 2R 7S: the states of the threads, running ones first. */
static struct table_cell states_cell(const struct top_row *row)
{
	static const char order[] = "RDSTtZXIPKWx";
	struct pmc_out out = pmc_out_mem(text, sizeof(text));

	if (row->task)
		return cell_textn(&row->task->task.stat.state, 1);
	for (const char *state = order; *state; state++)
		if (row->states[(unsigned char)*state])
			pmc_outf(&out, "%s%u%c", out.len ? " " : "",
				 row->states[(unsigned char)*state], *state);
	return cell_textn(text, out.len);
}

/* A function of the kernel, or a word. */
static struct table_cell where_cell(const struct top_row *row)
{
	static const struct {
		char state;
		const char *word;
	} words[] = {
		{ 'D', "(disk or lock)" }, { 'S', "(asleep)" }, { 'T', "(stopped)" },
		{ 't', "(traced)" },	   { 'Z', "(ended)" },	{ 'X', "(ended)" },
		{ 'I', "(idle)" },
	};
	/* In the past tense if the state at the end of the interval is another one. */
	static const char *const words_on_cpu[2][2] = { { "(runs)", "(waits for CPU)" },
							{ "(ran)", "(waited for CPU)" } };
	const struct live_span *span = &row->span;
	const struct live_place *most = live_place_most(row->places);

	if (span->blocked_ns < span->cpu_ns + span->delay_ns || row->states['R'] * 2 > row->threads)
		return cell_text(words_on_cpu[!row->states['R']][span->delay_ns > span->cpu_ns]);
	if (most->name[0])
		return cell_text(most->name);
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (row->states[(unsigned char)words[i].state])
			return cell_text(words[i].word);
	return cell_text("");
}

static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

void top_put_sparkline(const uint32_t *us, unsigned n, uint64_t most, bool ascii,
		       struct pmc_out *out)
{
	const uint64_t levels = sizeof(blocks) / sizeof(blocks[0]) - 1;

	for (; n; n--) {
		const uint64_t value = us[n];
		uint64_t level = most ? (value * levels + most / 2) / most : 0;

		/* A value that is not 0 is seen. */
		if (!level && value)
			level = 1;
		if (level > levels)
			level = levels;
		if (ascii)
			pmc_out_char(out, " .:-=+*#@"[level]);
		else
			pmc_out_str(out, blocks[level]);
	}
}

/* The last minute, in as many characters as there is room for. */
static struct table_cell history_cell(const struct top_source *source)
{
	const struct top_watch *watch = source->watch;
	const unsigned room = (unsigned)source->history,
		       n = watch->slots < room ? watch->slots : room;
	const uint32_t *us = source->row->cpu_us;
	uint64_t most = watch->slot_ns / 1000;
	struct pmc_out out = pmc_out_mem(text, sizeof(text));

	for (unsigned i = 1; i <= watch->slots; i++)
		most = us[i] > most ? us[i] : most;
	pmc_out_pad(&out, ' ', (int)(room - n));
	top_put_sparkline(us, n, most, source->ascii, &out);
	while (out.len && text[out.len - 1] == ' ')
		out.len--;
	return cell_textn(text, out.len);
}

static struct table_cell event_cell(const struct top_source *source, unsigned e)
{
	struct table_cell cell = live_event_cell(&source->watch->live, source->row->counts, e);
	const double value = cell.kind == CELL_REAL ? cell.real : (double)cell.number;
	const unsigned char estimate = cell.estimate;

	if (!source->row->ns || cell.kind == CELL_NULL)
		return cell_null();
	cell = cell_real(per_second(source->row, value), 3);
	cell.estimate = estimate;
	return cell;
}

struct table_cell top_cell(void *arg, const struct table_column *column)
{
	const struct top_source *source = arg;
	const struct top_row *row = source->row;
	const struct live_span *span = &row->span;

	if (row->children &&
	    (column->kind || (column->index > TOP_NAME && column->index != TOP_CPU &&
			      column->index != TOP_LOST && column->index != TOP_HISTORY_)))
		return cell_null();
	if (column->kind == TOP_EVENT)
		return event_cell(source, column->index);
	if (column->kind == TOP_METRIC)
		return live_metric_cell(&source->watch->live, row->counts, column->index);
	switch (column->index) {
#define X(id, name, head, unit, width, priority, has, cell, doc)                                   \
	case TOP_##id:                                                                             \
		return cell;
#include "tools/top/columns.def"
#undef X
	default:
		return cell_null();
	}
}

/* ---- layout --------------------------------------------------------------------------------- */

static void set_row(void *arg, uint64_t i)
{
	struct top_source *source = arg;

	source->row = source->rows->list[source->first + i];
}

struct table top_table(struct top_source *source, struct pmc_arena *arena)
{
	return (struct table){
		.n_rows = source->rows->n - source->first,
		.arg = source,
		.row = set_row,
		.cell = top_cell,
		.arena = arena,
		.tight = true,
	};
}

static int room_left(const struct table *table)
{
	int left = table->screen.width + table->gap;

	for (unsigned i = 0; i < table->n; i++)
		if (!table->places[i].hidden)
			left -= table->places[i].width + table->gap;
	return left;
}

/* Where a wide column has no room, a narrow one of less importance may have. The history takes what
 * is left. */
static void use_room(struct top_layout *layout)
{
	struct table *table = &layout->table;
	const struct top_watch *watch = layout->source.watch;
	struct table_place *history = NULL;
	struct pmc_out head;
	unsigned slots;

	for (struct table_place *next = table->places; next;) {
		next = NULL;
		for (unsigned i = 0; i < table->n; i++) {
			struct table_place *place = &table->places[i];

			if (place->hidden && place->width + table->gap <= room_left(table) &&
			    (!next || place->column->place < next->column->place))
				next = place;
		}
		if (next)
			next->hidden = false;
	}
	for (unsigned i = 0; i < table->n; i++) {
		if (table->places[i].hidden)
			layout->left_out++;
		else if (!strcmp(table->places[i].column->name, "history"))
			history = &table->places[i];
	}
	if (!history)
		return;
	if (room_left(table) > 0)
		history->width += room_left(table);
	if (history->width > TOP_HISTORY - 1)
		history->width = TOP_HISTORY - 1;
	layout->source.history = history->width;
	slots = watch->slots < (unsigned)history->width ? watch->slots : (unsigned)history->width;
	if (!slots)
		return;
	pmc_out_to_mem(&head, history->head, sizeof(history->head));
	pmc_outf(&head, "last %llu s", (unsigned long long)slots * watch->slot_ns / 1000000000u);
}

void top_layout_make(struct top_layout *layout, const struct top_job *job, unsigned first,
		     unsigned n_rows, int width)
{
	const char *columns = job->flags.rows.choice.columns, *problem = NULL;
	struct table *table = &layout->table;
	struct table_column *chosen;
	unsigned n;

	pmc_arena_free(&layout->arena);
	layout->left_out = 0;
	layout->source = (struct top_source){ .watch = &job->watch,
					      .rows = &job->rows,
					      .first = first,
					      .ascii = job->flags.rows.screen.ascii };
	*table = top_table(&layout->source, &layout->arena);
	table->screen = job->flags.rows.screen;
	table->screen.width = width;
	table->columns =
		top_columns(&job->watch, &job->look, width, &layout->arena, &table->n_columns);
	/* Other rows have other columns. */
	if (columns && !table_choose(table->columns, table->n_columns, columns, &layout->arena,
				     &chosen, &n, &problem)) {
		table->columns = chosen;
		table->n_columns = n;
	}
	if (n_rows < table->n_rows)
		table->n_rows = n_rows;
	if (width == TOP_DATA)
		return;
	table_layout(table);
	use_room(layout);
}
