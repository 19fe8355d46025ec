/* SPDX-License-Identifier: MIT */
/* columns.c - values and texts of the columns; events and metrics come after columns.def. */
#include "lib/base/suggest.h"
#include "lib/dump/words.h"
#include "tools/top/top.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct column {
	const char *name, *head, *folded;
	int width, priority;
} columns[] = {
#define X(id, name, head, folded, width, priority, doc) { name, head, folded, width, priority },
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

const char *top_column_head(const struct top_watch *watch, unsigned column, enum top_by by)
{
	static char text[256];

	if (column == TOP_NAME && by != TOP_THREAD)
		return by == TOP_POOL ? "pool" : "process";
	if (column < TOP_COLUMNS)
		return by == TOP_THREAD ? columns[column].head : columns[column].folded;
	if (is_metric(watch, column))
		return pmc_metrics[metric_of(watch, column)].column;
	/* Used before the next call. */
	if (is_clock(watch, column)) {
		snprintf(text, sizeof(text), "%s ms",
			 watch->live.view.events[event_of(column)].name);
		return text;
	}
	return watch->live.view.events[event_of(column)].name;
}

int top_column_width(const struct top_watch *watch, unsigned column, enum top_by by)
{
	int head = (int)strlen(top_column_head(watch, column, by));
	int width = column < TOP_COLUMNS ? columns[column].width : 6;

	if (column == TOP_STATE && by != TOP_THREAD)
		width = 7;
	return head > width ? head : width;
}

int top_column_priority(const struct top_watch *watch, unsigned column, enum top_by by)
{
	if (column == TOP_PID && by == TOP_PROCESS)
		return columns[TOP_TID].priority;
	if (column < TOP_COLUMNS)
		return columns[column].priority;
	/* Those that were asked for come before all but the name, the ID and the CPU time. */
	if (watch->flags->events)
		return is_metric(watch, column) ? 97 : 98;
	/* Metrics say more in less room. */
	return is_metric(watch, column) ? 91 : 90;
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
		    is_head(top_column_head(watch, c, TOP_THREAD), name))
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

bool top_column_is_text(unsigned column)
{
	return column == TOP_NAME || column == TOP_STATE || column == TOP_WHERE ||
	       column == TOP_START || column == TOP_COMMAND_;
}

bool top_column_descends(unsigned column)
{
	return column != TOP_PID;
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
	*value *= (is_clock(watch, column) ? 1e3 : 1e9) * row->known / (double)row->ns;
	return true;
}

bool top_value(const struct top_watch *watch, const struct top_row *row, unsigned column,
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
	case TOP_HISTORY_:
		for (unsigned i = 0; i < watch->slots; i++)
			*value += row->cpu_us[top_slot(watch, i)];
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

void top_cell(const struct top_watch *watch, const struct top_row *row, unsigned column,
	      struct pmc_out *out)
{
	double value;

	switch (column) {
	case TOP_NAME:
		pmc_out_str(out, row->name[0] ? row->name : "(unnamed)");
		return;
	case TOP_STATE:
		put_states(row, out);
		return;
	case TOP_WHERE:
		top_where(row, out);
		return;
	case TOP_START:
		pmc_out_str(out, row->start[0] ? row->start : "-");
		return;
	case TOP_COMMAND_:
		pmc_out_str(out, row->command && row->command[0] ? row->command : "-");
		return;
	case TOP_TID:
		if (row->by == TOP_THREAD)
			pmc_out_u64(out, (uint64_t)row->task->task.tid);
		else
			pmc_show_integer(out, row->threads);
		return;
	default:
		break;
	}
	if (!top_value(watch, row, column, &value))
		pmc_out_char(out, '-');
	else if (column == TOP_PID)
		pmc_out_u64(out, (uint64_t)row->pid);
	else if ((column == TOP_CPU || column == TOP_ONCPU || column == TOP_DELAY ||
		  column == TOP_BLOCKED) &&
		 value < 1000)
		pmc_out_fixed(out, value, 1);
	else if (column >= TOP_COLUMNS && is_metric(watch, column))
		pmc_out_fixed(out, value, pmc_metrics[metric_of(watch, column)].decimals);
	else
		pmc_show_number(out, floor(value + 0.5));
}
