/* SPDX-License-Identifier: MIT */
/* histogram.c - lengths of waits as a table, CSV, JSON and text for Prometheus. */
#include "lib/base/json.h"
#include "tools/table/histogram.h"

#include <stdio.h>

enum { HOST, PID, NAME, TID, WAIT, BOUND, COUNT, SHARE, BAR, N_CELLS };

static const struct table_column columns[] = {
	[HOST] = { .name = "host", .index = HOST },
	[PID] = { .name = "pid", .index = PID, .unit = TABLE_ID, .blank = true },
	[NAME] = { .name = "name", .index = NAME },
	[TID] = { .name = "tid", .index = TID, .unit = TABLE_ID, .blank = true },
	[WAIT] = { .name = "wait", .index = WAIT },
	[BOUND] = { .name = "most_ns", .head = "up to", .index = BOUND, .unit = TABLE_TIME },
	[COUNT] = { .name = "count", .index = COUNT, .unit = TABLE_WHOLE },
	[SHARE] = { .name = "share_pct", .head = "%", .index = SHARE, .unit = TABLE_PERCENT },
	[BAR] = { .name = "bar", .index = BAR, .unit = TABLE_BAR, .drop = TABLE_DROP_BAR },
};

static void add_line(struct table_histograms *to, const struct table_cell of[BOUND], uint64_t bound,
		     uint64_t count, uint64_t all)
{
	struct table_cell *line;

	to->cells.cells = pmc_arena_grow(to->arena, to->cells.cells, to->table.n_rows, &to->room,
					 N_CELLS * sizeof(*line));
	line = to->cells.cells + to->table.n_rows++ * N_CELLS;
	memcpy(line, of, BOUND * sizeof(*line));
	line[BOUND] = cell_number(true, bound);
	line[COUNT] = cell_number(true, count);
	line[SHARE] = line[BAR] = cell_real(100 * (double)count / (double)all, TABLE_DECIMALS);
}

void table_histograms_begin(struct table_histograms *to)
{
	const unsigned first = to->places ? HOST : NAME;

	to->table = (struct table){ .columns = columns + first,
				    .n_columns = N_CELLS - first,
				    .arena = to->arena,
				    .screen = to->screen,
				    .indent = to->indent };
	to->cells.n = N_CELLS;
	table_set_cells(&to->table, &to->cells);
	if (to->format == TABLE_CSV)
		table_csv_head(&to->table, to->out);
}

void table_histograms_add(struct table_histograms *to, const struct table_histogram_row *row,
			  const char *wait, const struct pmc_histogram *of)
{
	const bool whole = to->format != TABLE_CSV;
	const char *name = whole ? pmc_arena_strndup(to->arena, row->name, row->len) : row->name;
	const struct table_cell line[BOUND] = { row->host, row->pid, cell_textn(name, row->len),
						row->tid, cell_text(wait) };

	for (const struct pmc_octave *o = of->octaves; o; o = o->next) {
		uint64_t n = 0;

		for (unsigned i = 0; i < PMC_HISTOGRAM_PARTS; i++) {
			n += o->n[i];
			if (!whole && o->n[i])
				add_line(to, line, pmc_histogram_bound(o->octave, i), o->n[i],
					 of->n);
		}
		if (whole && n)
			add_line(to, line, pmc_histogram_bound(o->octave, PMC_HISTOGRAM_PARTS - 1),
				 n, of->n);
	}
	if (whole)
		return;
	for (uint64_t i = 0; i < to->table.n_rows; i++)
		table_csv_row(&to->table, i, to->out);
	to->table.n_rows = 0;
}

void table_histograms_end(struct table_histograms *to)
{
	if (!to->table.n_rows)
		return;
	pmc_out_char(to->out, '\n');
	table_layout(&to->table);
	table_print(&to->table, to->format, to->out);
}

void table_histogram_json(struct pmc_json *json, const char *key, const struct pmc_histogram *of)
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

struct table_cell table_histogram_cell(const struct pmc_histogram *of)
{
	enum { OCTAVES = 61, PAIR = sizeof("[18446744073709551615,18446744073709551615],") };
	static char text[OCTAVES * PMC_HISTOGRAM_PARTS * PAIR];
	struct pmc_out out = pmc_out_mem(text, sizeof(text));
	struct pmc_json json;

	pmc_json_init(&json, &out);
	table_histogram_json(&json, NULL, of);
	return (struct table_cell){ .kind = CELL_JSON, .text = text, .len = out.len };
}

/* The same buckets for all, so that sums over labels have a meaning: each four times as wide as the
 * one before, from 1,024 ns to 17.2 s. */
void table_histogram_prometheus(struct pmc_out *out, const char *labels,
				const struct pmc_histogram *of, uint64_t sum_ns)
{
	enum { FIRST = 6, LAST = 30 };
	const struct pmc_octave *o = of->octaves;
	uint64_t n = 0;

	for (unsigned octave = FIRST; octave <= LAST; octave += 2) {
		char bound[32];

		for (; o && o->octave <= octave; o = o->next)
			for (unsigned i = 0; i < PMC_HISTOGRAM_PARTS; i++)
				n += o->n[i];
		snprintf(bound, sizeof(bound), "%.11g", (double)(UINT64_C(16) << octave) / 1e9);
		pmc_outf(out, "pmc_wait_seconds_bucket{%s,le=\"%s\"} %llu\n", labels, bound,
			 (unsigned long long)n);
	}
	pmc_outf(out, "pmc_wait_seconds_bucket{%s,le=\"+Inf\"} %llu\npmc_wait_seconds_sum{%s} ",
		 labels, (unsigned long long)of->n, labels);
	pmc_out_fixed(out, (double)sum_ns / 1e9, 9);
	pmc_outf(out, "\npmc_wait_seconds_count{%s} %llu\n", labels, (unsigned long long)of->n);
}
