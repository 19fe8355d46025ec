/* SPDX-License-Identifier: MIT */
/*
 * summary_histogram.c - --histogram: how long waits for a CPU and blocked times lasted.
 *
 * A line of a table is a power of 2, a row of CSV a bucket.
 */
#include "lib/base/json.h"
#include "lib/base/utf8.h"
#include "tools/cli/pmctl.h"
#include "tools/trace/trace.h"

#include <stdio.h>
#include <string.h>

#define MOST_SHOWN 10 /* threads or pools, in tables */

enum { NAME, TID, WAIT, BOUND, COUNT, SHARE, BAR, N_CELLS };

static const struct table_column columns[] = {
	[NAME] = { .name = "name", .index = NAME },
	[TID] = { .name = "tid", .index = TID, .unit = TABLE_ID, .blank = true },
	[WAIT] = { .name = "wait", .index = WAIT },
	[BOUND] = { .name = "most_ns",
		    .head = "up to",
		    .index = BOUND,
		    .unit = TABLE_NS,
		    .right = true },
	[COUNT] = { .name = "count", .index = COUNT, .unit = TABLE_WHOLE },
	[SHARE] = { .name = "share_pct", .head = "%", .index = SHARE, .unit = TABLE_PERCENT },
	[BAR] = { .name = "bar",
		  .index = BAR,
		  .unit = TABLE_BAR,
		  .drop = TABLE_DROP_BAR,
		  .hidden = true },
};

struct lines {
	struct trace *trace;
	struct table_cell *cells;
	size_t n, room;
};

static void add(struct lines *lines, const struct trace_thread *t, const char *wait, uint64_t bound,
		uint64_t count, uint64_t all)
{
	struct pmc_arena *arena = &lines->trace->arena;
	struct pmc_out text = PMC_OUT_MEM(32);
	struct table_cell *row;

	lines->cells = pmc_arena_grow(arena, lines->cells, lines->n, &lines->room,
				      N_CELLS * sizeof(*lines->cells));
	row = lines->cells + lines->n++ * N_CELLS;
	row[NAME] = cell_text(t->name);
	row[TID] = cell_number(!t->threads, t->tid);
	row[WAIT] = cell_text(wait);
	row[BOUND] = cell_number(true, bound);
	row[COUNT] = cell_number(true, count);
	row[SHARE] = row[BAR] = cell_real(100 * (double)count / (double)all, TABLE_DECIMALS);
	if (!tool_rows_is_table(&lines->trace->rows))
		return;
	pmc_show_time(&text, (double)bound, lines->trace->rows.screen.ascii ? "us" : "µs");
	row[BOUND] = cell_text(pmc_arena_strndup(arena, text.buf, text.len));
}

static void add_waits(struct lines *lines, const struct trace_thread *t, const char *wait,
		      const struct pmc_histogram *of)
{
	const bool whole = tool_rows_is_table(&lines->trace->rows);

	for (const struct pmc_octave *o = of->octaves; o; o = o->next) {
		uint64_t n = 0;

		for (unsigned i = 0; i < PMC_HISTOGRAM_PARTS; i++) {
			n += o->n[i];
			if (!whole && o->n[i])
				add(lines, t, wait, pmc_histogram_bound(o->octave, i), o->n[i],
				    of->n);
		}
		if (whole)
			add(lines, t, wait, pmc_histogram_bound(o->octave, PMC_HISTOGRAM_PARTS - 1),
			    n, of->n);
	}
}

void trace_histogram_print(struct trace *trace, struct trace_thread *const *list,
			   const uint64_t *order, uint64_t n)
{
	const bool is_table = tool_rows_is_table(&trace->rows);
	struct lines lines = { .trace = trace };
	struct table_cells cells = { .n = N_CELLS };
	struct table_column own[N_CELLS];
	struct table table = { .columns = own, .n_columns = N_CELLS, .arena = &trace->arena };

	memcpy(own, columns, sizeof(own));
	if (is_table)
		own[BOUND].unit = TABLE_TEXT;
	for (uint64_t i = 0; i < n && (i < MOST_SHOWN || !is_table); i++) {
		const struct trace_thread *t = list[order[i]];

		add_waits(&lines, t, "for a CPU", &t->delays);
		add_waits(&lines, t, "blocked", &t->blocks);
	}
	cells.cells = lines.cells;
	table.n_rows = lines.n;
	table_set_cells(&table, &cells);
	if (is_table)
		pmc_out_char(&trace->rows.out, '\n');
	tool_rows_print(&trace->rows, &table);
}

/* The same buckets for all, so that sums over labels have a meaning: each four times as wide as the
 * one before, from 1,024 ns to 17.2 s. */
static void put_series(struct pmc_out *out, const struct trace_thread *t, const char *wait,
		       const struct pmc_histogram *of, uint64_t sum_ns)
{
	enum { FIRST = 6, LAST = 30 };
	const struct pmc_octave *o = of->octaves;
	struct pmc_out labels = PMC_OUT_MEM(256);
	const char *text = labels.buf;
	uint64_t n = 0;

	pmc_prometheus_label(&labels, t->threads ? "pool" : "thread", t->name, strlen(t->name));
	if (!t->threads)
		pmc_outf(&labels, ",tid=\"%u\"", t->tid);
	pmc_outf(&labels, ",wait=\"%s\"", wait);
	for (unsigned octave = FIRST; octave <= LAST; octave += 2) {
		char bound[32];

		for (; o && o->octave <= octave; o = o->next)
			for (unsigned i = 0; i < PMC_HISTOGRAM_PARTS; i++)
				n += o->n[i];
		snprintf(bound, sizeof(bound), "%.10g", (double)(UINT64_C(16) << octave) / 1e9);
		pmc_outf(out, "pmc_wait_seconds_bucket{%s,le=\"%s\"} %llu\n", text, bound,
			 (unsigned long long)n);
	}
	pmc_outf(out, "pmc_wait_seconds_bucket{%s,le=\"+Inf\"} %llu\npmc_wait_seconds_sum{%s} ",
		 text, (unsigned long long)of->n, text);
	pmc_out_fixed(out, (double)sum_ns / 1e9, 9);
	pmc_outf(out, "\npmc_wait_seconds_count{%s} %llu\n", text, (unsigned long long)of->n);
}

void trace_histogram_prometheus(struct trace *trace, struct trace_thread *const *list,
				const uint64_t *order, uint64_t n)
{
	struct pmc_out *out = &trace->rows.out;

	pmc_out_str(out, "# HELP pmc_wait_seconds Waits for a CPU, and blocked times.\n"
			 "# TYPE pmc_wait_seconds histogram\n");
	for (uint64_t i = 0; i < n; i++) {
		const struct trace_thread *t = list[order[i]];

		put_series(out, t, "cpu", &t->delays, t->delay_ns);
		put_series(out, t, "blocked", &t->blocks, t->blocked_ns);
	}
}

void trace_histogram_json(struct pmc_json *json, const char *key, const struct pmc_histogram *of)
{
	pmc_json_array(json, key);
	for (const struct pmc_octave *o = of->octaves; o; o = o->next)
		for (unsigned i = 0; i < PMC_HISTOGRAM_PARTS; i++) {
			if (!o->n[i])
				continue;
			pmc_json_array(json, NULL);
			pmc_json_u64(json, NULL, pmc_histogram_bound(o->octave, i));
			pmc_json_u64(json, NULL, o->n[i]);
			pmc_json_array_end(json);
		}
	pmc_json_array_end(json);
}
