/* SPDX-License-Identifier: MIT */
/*
 * table.c - results as tables, on a terminal or as Markdown: a row for each measurement, with its
 * own unit. The tables of all commands have the same widths.
 */
#include "lib/base/utf8.h"
#include "tools/bench/bench.h"
#include "tools/table/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME, MEAN, SIGMA, MEDIAN, MIN, MAX, OUTLIERS, DELTA };

struct result {
	char name[96]; /* with the unit */
	enum bench_unit unit;
	struct pmc_scale scale;
	bool scaled;	      /* some run was multiplexed */
	const char *presence; /* a thread of one of the commands only; NULL: of both */
	struct bench_row values;
};

struct results {
	const struct bench *bench;
	struct result *list, *at;
	size_t n;
	char delta[96];
};

/* ---- rows --------------------------------------------------------------------------------- */

static void choose_scale(const struct bench *bench, struct result *result)
{
	const struct bench_summary *summary = &result->values.summary;
	const double most = fmax(fabs(summary->max), fabs(summary->min));

	if (result->unit == BENCH_NS)
		pmc_scale_time(&result->scale, most, bench->screen.ascii ? "us" : "µs");
	else
		pmc_scale_count(&result->scale, most,
				summary->mean != floor(summary->mean) || summary->stddev > 0);
}

/* A measurement as a row; `n_of`: so many runs should have it. */
static void add_result(struct results *results, const char *name, const struct result *from,
		       size_t n_of)
{
	struct result *result = &results->list[results->n++];
	const size_t n = from->values.summary.n;
	struct pmc_out out;

	*result = *from;
	choose_scale(results->bench, result);
	pmc_out_to_mem(&out, result->name, sizeof(result->name));
	pmc_utf8_fit(&out, name, strlen(name), 40, PMC_CUT_END, results->bench->screen.ascii);
	if (n && (result->scale.unit[0] || result->unit == BENCH_BYTES))
		pmc_outf(&out, " %s%s", result->scale.unit, result->unit == BENCH_BYTES ? "B" : "");
	if (n && n < n_of)
		pmc_outf(&out, " (%zu runs)", n);
}

static void add_measures(struct results *results, const struct bench_command *command)
{
	const struct bench *bench = results->bench;

	for (unsigned m = 0; m < bench->n_measures && command->n_runs; m++) {
		const struct bench_measure *measure = &bench->measures[m];
		struct result result = { .unit = measure->unit };

		if (measure->event)
			result.scaled = command->scaled[measure->event - bench->plan.events];
		bench_row_of(bench, command, bench_reference(bench, command), NULL, m,
			     &result.values);
		add_result(results, measure->name, &result, measure->event ? command->n_runs : 0);
	}
}

/* ---- threads ------------------------------------------------------------------------------ */

#define MOST_THREADS 20

struct ranked {
	const struct bench_thread *thread;
	double impact; /* change of its CPU time; without a reference the CPU time */
};

static int by_impact(const void *a, const void *b)
{
	double x = ((const struct ranked *)a)->impact, y = ((const struct ranked *)b)->impact;

	return (x < y) - (x > y);
}

static void add_thread(struct results *results, const struct bench_command *command,
		       const struct bench_thread *thread)
{
	const struct bench *bench = results->bench;
	const struct bench_command *reference = bench_thread_reference(bench, command);

	for (unsigned c = 0; c < bench_thread_columns(bench); c++) {
		struct result result = { .unit = BENCH_NS };
		char name[80];
		struct pmc_out out;

		if (c)
			result.unit = bench->measures[BENCH_EVENTS + c - 1].unit;
		if (reference && !bench_has_thread(bench, command, thread))
			result.presence = "gone";
		else if (reference && !bench_has_thread(bench, reference, thread))
			result.presence = "new";
		bench_row_of(bench, command, reference, thread, c, &result.values);
		pmc_out_to_mem(&out, name, sizeof(name));
		pmc_outf(&out, "%s%s", c ? "  " : "",
			 c ? bench_thread_column(bench, c) : thread->name);
		add_result(results, name, &result, 0);
	}
}

/* Threads of the command and its reference, the largest change first. */
static void add_threads(struct results *results, const struct bench_command *command)
{
	const struct bench *bench = results->bench;
	const struct bench_command *reference = bench_thread_reference(bench, command);
	struct ranked *list;
	size_t n = 0;

	for (const struct bench_thread *t = bench->threads; t; t = t->next)
		n++;
	list = calloc(n + 1, sizeof(*list));
	n = 0;
	for (const struct bench_thread *t = bench->threads; t && list; t = t->next) {
		struct bench_row a, b = { 0 };

		if (!bench_has_thread(bench, command, t) &&
		    !(reference && bench_has_thread(bench, reference, t)))
			continue;
		bench_row_of(bench, command, NULL, t, 0, &a);
		if (reference)
			bench_row_of(bench, reference, NULL, t, 0, &b);
		list[n++] = (struct ranked){ t, fabs(a.summary.mean - b.summary.mean) };
	}
	if (n)
		qsort(list, n, sizeof(*list), by_impact);
	for (size_t i = 0; i < n && i < MOST_THREADS; i++)
		add_thread(results, command, list[i].thread);
	free(list);
}

/* ---- cells -------------------------------------------------------------------------------- */

/* The mark shows significance and direction without color, too. A percentage would say the same of
 * any thread that is in one of the commands only. */
static struct table_cell delta_cell(struct results *results)
{
	static const char *const marks[2][2] = { { "↓ ", "↑ " }, { "v ", "^ " } };
	const struct bench_delta *delta = &results->at->values.delta;
	const bool ascii = results->bench->screen.ascii;
	struct pmc_out out;

	if (results->at->presence)
		return cell_text(results->at->presence);
	if (!delta->known)
		return cell_null();
	pmc_out_to_mem(&out, results->delta, sizeof(results->delta));
	pmc_out_str(&out, !delta->significant ? "  " : marks[ascii][delta->pct > 0]);
	pmc_out_char(&out, delta->pct < 0 ? '-' : '+');
	pmc_out_fixed(&out, fabs(delta->pct), 1);
	pmc_out_char(&out, '%');
	if (delta->has_ci) {
		pmc_out_str(&out, ascii ? " +- " : " ± ");
		pmc_out_fixed(&out, delta->ci_pct, 1);
		pmc_out_char(&out, '%');
	}
	return cell_textn(results->delta, out.len);
}

static struct table_cell cell_of(void *arg, const struct table_column *column)
{
	struct results *results = arg;
	const struct result *result = results->at;
	const struct bench_summary *summary = &result->values.summary;
	const double values[] = { [MEAN] = summary->mean,
				  [SIGMA] = summary->stddev,
				  [MEDIAN] = summary->median,
				  [MIN] = summary->min,
				  [MAX] = summary->max };
	struct table_cell cell;

	if (column->index == NAME)
		return cell_text(result->name);
	if (column->index == DELTA)
		return delta_cell(results);
	if (column->index == OUTLIERS)
		return cell_number(summary->n, summary->outliers);
	if (!summary->n || (column->index == SIGMA && summary->n < 2))
		return cell_null();
	/* Less the time of a shell, a time may be negative. */
	cell = cell_real(result->unit == BENCH_NS ? fmax(values[column->index], 0) :
						    values[column->index],
			 3);
	cell.scale = &result->scale;
	cell.estimate = column->index == MEAN && result->scaled;
	return cell;
}

static void make_row(void *arg, uint64_t i)
{
	struct results *results = arg;

	results->at = &results->list[i];
}

static struct table_line line_of(void *arg)
{
	const struct results *results = arg;
	const struct bench_delta *delta = &results->at->values.delta;
	const bool colored = delta->significant && !results->at->presence;

	return (struct table_line){ .color = !colored ? 0 : delta->pct < 0 ? -1 : 1 };
}

#define NUMBER(title, place, when)                                                                 \
	{                                                                                          \
		.name = title, .index = place, .unit = TABLE_COUNT, .drop = when,                  \
	}
static const struct table_column all_columns[] = {
	{ .name = "measurement", .index = NAME, .functions = true },
	NUMBER("mean", MEAN, TABLE_STAYS),
	NUMBER("± σ", SIGMA, TABLE_STAYS),
	NUMBER("median", MEDIAN, TABLE_DROP_BAR),
	NUMBER("min", MIN, TABLE_DROP_METRIC),
	NUMBER("max", MAX, TABLE_DROP_INPUT),
	{ .name = "outliers", .index = OUTLIERS, .unit = TABLE_WHOLE, .drop = TABLE_DROP_SPREAD },
	{ .name = "delta", .index = DELTA, .blank = true },
};

#define N_COLUMNS (sizeof(all_columns) / sizeof(all_columns[0]))

/* ---- tables ------------------------------------------------------------------------------- */

static void put_text(const struct bench *bench, const char *text, struct pmc_out *out)
{
	pmc_utf8_fit(out, text, strlen(text), 0, PMC_CUT_END, bench->screen.ascii);
}

static void write_heading(const struct bench *bench, const struct bench_command *command,
			  struct pmc_out *out)
{
	const struct bench_command *reference = bench_reference(bench, command);
	const bool markdown = bench->format == BENCH_MARKDOWN;
	const char *mark = markdown ? "**" : "";

	pmc_outf(out, "%s%sBenchmark %u%s (", command == bench->commands ? "" : "\n", mark,
		 (unsigned)(command - bench->commands) + 1, mark);
	pmc_show_count(out, command->n_runs, "run", "runs");
	if (command->failures)
		pmc_outf(out, ", %llu failed", (unsigned long long)command->failures);
	pmc_outf(out, "): %s", markdown ? "`` " : "");
	put_text(bench, command->text, out);
	pmc_out_str(out, markdown ? " ``\n\n" : "\n");
	if (bench->baseline && reference) {
		pmc_outf(out, "  compared with %s: ", bench->baseline_file);
		put_text(bench, reference->text, out);
		pmc_out_str(out, markdown ? "\n\n" : "\n");
	}
}

/* Rows from..to, under their head in the first table of a command. */
static void write_rows(const struct bench *bench, const struct table *table, size_t from, size_t to,
		       struct pmc_out *out)
{
	struct table part = *table;

	part.order = table->order + from;
	part.n_rows = to - from;
	if (bench->format == BENCH_MARKDOWN)
		table_print(&part, TABLE_MARKDOWN, out);
	else
		table_put_rows(&part, 0, part.n_rows, out);
}

/* Its rows are `ends` of the one before .. ends[0] .. ends[1], those behind ends[0] of threads. */
static void write_command(const struct bench *bench, const struct bench_command *command,
			  const struct table *table, const size_t *ends, struct pmc_out *out)
{
	struct table_place *last = &table->places[table->n - 1];
	const bool markdown = bench->format == BENCH_MARKDOWN;

	/* The reference has no deltas. */
	if (last->column->index == DELTA)
		last->hidden = !bench_reference(bench, command);
	write_heading(bench, command, out);
	if (!markdown)
		table_put_head(table, out);
	write_rows(bench, table, ends[-1], ends[0], out);
	if (ends[0] == ends[1])
		return;
	pmc_out_str(out, markdown ? "\n" : "  ");
	pmc_show_count(out, command->thread_runs, "more run", "more runs");
	pmc_outf(out, " under the agent, CPU time of each thread:\n%s", markdown ? "\n" : "");
	write_rows(bench, table, ends[0], ends[1], out);
}

void bench_write_table(const struct bench *bench, struct pmc_out *out)
{
	const size_t most = bench->n_measures + (size_t)MOST_THREADS * bench_thread_columns(bench);
	struct results results = { bench, .list = calloc(bench->n_commands * most + 1,
							 sizeof(struct result)) };
	size_t *ends = calloc(2 * bench->n_commands + 1, sizeof(*ends));
	const struct table_choice all = { .top = 0 };
	struct table_column columns[N_COLUMNS];
	struct pmc_arena arena = { 0 };
	struct table table = { .columns = columns,
			       .n_columns = N_COLUMNS,
			       .arg = &results,
			       .row = make_row,
			       .cell = cell_of,
			       .line = line_of,
			       .screen = bench->screen,
			       .arena = &arena,
			       .wide = bench->format == BENCH_MARKDOWN,
			       .indent = 2 };
	const char *problem;
	bool enough = results.list && ends;

	memcpy(columns, all_columns, sizeof(columns));
	if (bench->screen.ascii)
		columns[SIGMA].name = "+- s";
	for (unsigned c = 0; c < bench->n_commands && enough; c++) {
		add_measures(&results, &bench->commands[c]);
		ends[2 * c + 1] = results.n;
		if (bench->per_thread)
			add_threads(&results, &bench->commands[c]);
		ends[2 * c + 2] = results.n;
	}
	table.n_rows = results.n;
	enough = enough && !table_apply(&table, &all, 0, &problem);
	if (enough)
		table_layout(&table);
	else
		out->error = -ENOMEM;
	for (unsigned c = 0; c < bench->n_commands && enough; c++)
		write_command(bench, &bench->commands[c], &table, ends + 2 * c + 1, out);
	if (enough && bench->format == BENCH_TABLE && table.hidden[0])
		pmc_outf(out, "\ncolumns not shown: %s\n", table.hidden);
	bench_write_notes(bench, out);
	pmc_arena_free(&arena);
	free(ends);
	free(results.list);
}
