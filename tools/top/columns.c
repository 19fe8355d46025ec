/* SPDX-License-Identifier: MIT */
/* columns.c - values and texts of the columns; events and metrics come after columns.def. */
#include "lib/base/utf8.h"
#include "tools/top/top.h"

#include <limits.h>
#include <string.h>

#define WIDEST_TEXT 32

static const struct {
	const char *name, *head, *folded;
	unsigned char unit;
	int width, priority;
} columns[] = {
#define X(id, name, head, folded, unit, width, priority, doc)                                      \
	{ name, head, folded, TABLE_##unit, width, priority },
#include "tools/top/columns.def"
#undef X
};

/* ---- which there are ------------------------------------------------------------------------ */

static bool is_metric(const struct top_watch *watch, unsigned column)
{
	return column >= TOP_COLUMNS + watch->live.view.count;
}

static unsigned event_of(unsigned column)
{
	return column - TOP_COLUMNS;
}

static unsigned metric_of(const struct top_watch *watch, unsigned column)
{
	return column - TOP_COLUMNS - watch->live.view.count;
}

unsigned top_n_columns(const struct top_watch *watch)
{
	return TOP_COLUMNS + watch->live.view.count + (watch->live.view.count ? pmc_n_metrics : 0);
}

const char *top_column_name(const struct top_watch *watch, unsigned column)
{
	if (column < TOP_COLUMNS)
		return columns[column].name;
	if (is_metric(watch, column))
		return pmc_metrics[metric_of(watch, column)].name;
	return watch->live.view.events[event_of(column)].name;
}

/* Events in ns are shown in ms. */
static bool is_clock(const struct top_watch *watch, unsigned column)
{
	return !strcmp(watch->live.view.events[event_of(column)].unit, "ns");
}

static const char *head_of(const struct top_watch *watch, unsigned column, enum top_by by)
{
	if (column == TOP_NAME && by != TOP_THREAD)
		return by == TOP_POOL ? "pool" : "process";
	if (column < TOP_COLUMNS)
		return by == TOP_THREAD ? columns[column].head : columns[column].folded;
	return is_metric(watch, column) ? pmc_metrics[metric_of(watch, column)].column : NULL;
}

/* A head with or without its unit: "vol/s" or "vol", "block%" or "block". */
static bool is_head(const char *head, const char *name)
{
	const size_t len = strlen(name);

	return len && !strncmp(head, name, len) &&
	       (!head[len] || head[len] == '/' || !strcmp(head + len, "%"));
}

unsigned top_find_column(const struct top_watch *watch, const char *name)
{
	for (unsigned c = 0; c < top_n_columns(watch); c++)
		if (!strcmp(top_column_name(watch, c), name) ||
		    (c < TOP_COLUMNS && is_head(columns[c].head, name)))
			return c;
	return UINT_MAX;
}

bool top_column_applies(const struct top_watch *watch, unsigned column, enum top_by by)
{
	switch (column) {
	case TOP_PID:
		return by == TOP_PROCESS || (by == TOP_THREAD && watch->n > 1);
	case TOP_ONCPU:
		return by != TOP_THREAD;
	case TOP_START:
		return by != TOP_PROCESS && watch->agents;
	case TOP_COMMAND_:
		return watch->commands;
	default:
		return column < TOP_COLUMNS || !is_metric(watch, column) ||
		       live_shows_metric(&watch->live, metric_of(watch, column));
	}
}

static int priority_of(const struct top_watch *watch, const struct top_look *look, unsigned column)
{
	if (column == look->sort)
		return 99;
	if (column == TOP_PID && look->by == TOP_PROCESS)
		return columns[TOP_TID].priority;
	if (column < TOP_COLUMNS)
		return columns[column].priority;
	/* Those that were asked for come before all but the name, the ID and the CPU time. */
	if (watch->flags->events)
		return is_metric(watch, column) ? 97 : 98;
	/* Metrics say more in less room. */
	return is_metric(watch, column) ? 91 : 90;
}

static struct table_column make(const struct top_watch *watch, const struct top_look *look,
				unsigned column, int width)
{
	static const struct pmc_scale whole = { 1, 0, "" }, ms = { 1e6, 1, "ms" };
	const bool metric = column >= TOP_COLUMNS && is_metric(watch, column);
	struct table_column made = {
		.name = top_column_name(watch, column),
		.head = head_of(watch, column, look->by),
		.index = column,
		.kept = true,
		.drop = column == TOP_NAME ? TABLE_STAYS : TABLE_DROP_LAST,
		.place = (100 - (unsigned)priority_of(watch, look, column)) << 16 | column,
		.unit = TABLE_RATIO,
		.decimals =
			metric ? (unsigned char)pmc_metrics[metric_of(watch, column)].decimals : 1,
		.least = 6,
		.most = column == TOP_COMMAND_ ? width / 2 : WIDEST_TEXT,
	};

	if (column >= TOP_COLUMNS && !metric) {
		made.unit = is_clock(watch, column) ? TABLE_NS : TABLE_COUNT;
		made.scale = is_clock(watch, column) ? &ms : NULL;
		made.scale_unit = watch->live.view.events[event_of(column)].unit;
		/* With a prefix, which changes from one interval to the next. */
		if (watch->live.view.events[event_of(column)].def.type != PERF_TYPE_SOFTWARE)
			made.least = pmc_utf8_columns(made.name, strlen(made.name)) + 2;
	}
	if (column >= TOP_COLUMNS)
		return made;
	made.unit = columns[column].unit;
	made.least = columns[column].width;
	made.hidden = column == TOP_HISTORY_;
	made.scale = made.unit == TABLE_COUNT ? &whole : NULL;
	if (look->by == TOP_THREAD)
		return made;
	if (column == TOP_TID) {
		made.name = "threads";
		made.unit = TABLE_WHOLE;
	}
	if (column == TOP_STATE)
		made.least = 7;
	return made;
}

struct table_column top_column(const struct top_watch *watch, const struct top_look *look,
			       unsigned column)
{
	return make(watch, look, column, TOP_DATA);
}

/* Rows of CSV that follow each other have the same columns. */
static bool is_listed(const struct top_watch *watch, unsigned column, enum top_by by, bool data)
{
	return top_column_applies(watch, column, by) ||
	       (data && ((column == TOP_PID && by == TOP_THREAD) ||
			 (column == TOP_START && by != TOP_PROCESS)));
}

struct table_column *top_columns(const struct top_watch *watch, const struct top_look *look,
				 int width, struct pmc_arena *arena, unsigned *n)
{
	static const struct table_column time = { .name = "time_ns",
						  .unit = TABLE_ID,
						  .index = TOP_TIME };
	struct table_column *list =
		pmc_arena_alloc(arena, (top_n_columns(watch) + 1) * sizeof(*list));

	*n = 0;
	if (list && (width == TOP_DATA || watch->flags->columns))
		list[(*n)++] = time;
	for (unsigned c = 0; list && c < top_n_columns(watch); c++)
		if (c != TOP_HISTORY_ && is_listed(watch, c, look->by, width == TOP_DATA))
			list[(*n)++] = make(watch, look, c, width);
	if (list)
		list[(*n)++] = make(watch, look, TOP_HISTORY_, width);
	return list;
}

/* ---- values --------------------------------------------------------------------------------- */

static double share(uint64_t part, uint64_t ns)
{
	return ns ? 100.0 * (double)part / (double)ns : 0;
}

static double rate(const struct top_row *row, uint64_t n)
{
	return row->ns ? (double)n * 1e9 * row->known / (double)row->ns : 0;
}

static bool event_value(const struct top_watch *watch, const struct top_row *row, unsigned column,
			double *value)
{
	bool estimate;

	if (!row->counts || !row->ns)
		return false;
	if (is_metric(watch, column))
		return live_metric(&watch->live, row->counts, metric_of(watch, column), value,
				   &estimate);
	if (!live_value(&watch->live, row->counts, event_of(column), value))
		return false;
	*value *= 1e9 * row->known / (double)row->ns;
	return true;
}

/* False: the cell is empty. */
static bool top_value(const struct top_watch *watch, const struct top_row *row, unsigned column,
		      double *value)
{
	const struct live_span *span = &row->span;

	*value = 0;
	switch (column) {
	case TOP_PID:
		*value = row->pid;
		return row->pid != 0;
	case TOP_TID:
		*value = row->by == TOP_THREAD ? row->task->task.tid : (double)row->threads;
		return true;
	default:
		break;
	}
	if (!row->known)
		return false;
	switch (column) {
	case TOP_CPU:
		*value = share(span->cpu_ns, row->ns) * row->known;
		return true;
	case TOP_ONCPU:
		*value = share(span->cpu_ns, row->ns);
		return true;
	case TOP_DELAY:
		*value = share(span->delay_ns, row->ns) * row->known;
		return true;
	case TOP_BLOCKED:
		*value = share(span->blocked_ns, row->ns) * row->known;
		return true;
	case TOP_VOLUNTARY:
		*value = rate(row, span->voluntary);
		return true;
	case TOP_INVOLUNTARY:
		*value = rate(row, span->involuntary);
		return true;
	case TOP_FAULTS:
		*value = rate(row, span->minor_faults + span->major_faults);
		return true;
	case TOP_MAJOR:
		*value = rate(row, span->major_faults);
		return true;
	default:
		return column >= TOP_COLUMNS && event_value(watch, row, column, value);
	}
}

/* ---- texts ---------------------------------------------------------------------------------- */

/* 9S, or 2R 7S: the states of the threads, running ones first. */
static void put_states(const struct top_row *row, struct pmc_out *out)
{
	static const char order[] = "RDSTtZXIPKWx";
	bool some = false;

	if (row->task) {
		pmc_out_char(out, row->task->task.stat.state);
		return;
	}
	for (const char *state = order; *state; state++) {
		if (!row->states[(unsigned char)*state])
			continue;
		pmc_outf(out, "%s%u%c", some ? " " : "", row->states[(unsigned char)*state],
			 *state);
		some = true;
	}
}

static const char *state_word(char state)
{
	switch (state) {
	case 'D':
		return "(disk or lock)";
	case 'T':
		return "(stopped)";
	case 't':
		return "(traced)";
	case 'Z':
	case 'X':
		return "(ended)";
	case 'I':
		return "(idle)";
	default:
		return "(asleep)";
	}
}

void top_where(const struct top_row *row, struct pmc_out *out)
{
	const struct live_span *span = &row->span;
	static const char order[] = "DSTtZXI";

	if (span->blocked_ns < span->cpu_ns + span->delay_ns || row->states['R'] * 2 > row->threads)
		pmc_out_str(out, span->delay_ns > span->cpu_ns ? "(waits for CPU)" : "(runs)");
	else if (row->n_where)
		pmc_out_str(out, row->where);
	else
		for (const char *state = order; *state; state++)
			if (row->states[(unsigned char)*state]) {
				pmc_out_str(out, state_word(*state));
				break;
			}
}

/* The last minute, in as many characters as there is room for. */
static void put_history(const struct top_source *source, struct pmc_out *out)
{
	const struct top_watch *watch = source->watch;
	const unsigned room = (unsigned)source->history,
		       n = watch->slots < room ? watch->slots : room;
	const struct top_row *row = source->row;
	uint64_t most = watch->slot_ns / 1000;

	for (unsigned i = 0; i < watch->slots; i++)
		if (row->cpu_us[top_slot(watch, i)] > most)
			most = row->cpu_us[top_slot(watch, i)];
	pmc_out_pad(out, ' ', (int)(room - n));
	if (n)
		top_put_sparkline(row->cpu_us, top_slot(watch, n - 1), n, most, source->ascii, out);
}

static struct table_cell number_cell(const struct top_source *source, unsigned column)
{
	double value;

	if (!top_value(source->watch, source->row, column, &value))
		return cell_null();
	return column == TOP_PID || column == TOP_TID ? cell_number(true, (uint64_t)value) :
							cell_real(value, 3);
}

struct table_cell top_cell(void *arg, const struct table_column *column)
{
	const struct top_source *source = arg;
	const struct top_row *row = source->row;
	static char text[512];
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	switch (column->index) {
	case TOP_TIME:
		return cell_number(true, source->watch->now_ns);
	case TOP_NAME:
		return cell_text(row->name[0] ? row->name : "(unnamed)");
	case TOP_STATE:
		put_states(row, &out);
		break;
	case TOP_WHERE:
		top_where(row, &out);
		break;
	case TOP_START:
		return cell_text(row->start[0] ? row->start : NULL);
	case TOP_COMMAND_:
		return cell_text(row->command && row->command[0] ? row->command : NULL);
	case TOP_HISTORY_:
		put_history(source, &out);
		while (out.len && text[out.len - 1] == ' ')
			out.len--;
		break;
	default:
		return number_cell(source, column->index);
	}
	return cell_textn(text, out.len);
}
