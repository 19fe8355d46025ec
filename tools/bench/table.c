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
	struct result *list, *at;
	size_t n;
	char delta[96];
};

/* ---- rows --------------------------------------------------------------------------------- */

static void choose_scale(struct result *result)
{
	const struct bench_summary *summary = &result->values.summary;
	const double most = fmax(fabs(summary->max), fabs(summary->min));

	if (result->unit == BENCH_NS)
		pmc_scale_time(&result->scale, most, "µs");
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
	choose_scale(result);
	pmc_out_to_mem(&out, result->name, sizeof(result->name));
	pmc_utf8_safe(&out, name, strlen(name), 40);
	if (n && (result->scale.unit[0] || result->unit == BENCH_BYTES))
		pmc_outf(&out, " %s%s", result->scale.unit, result->unit == BENCH_BYTES ? "B" : "");
	if (n && n < n_of)
		pmc_outf(&out, " (%zu runs)", n);
}

static void add_measures(struct results *results, const struct bench *bench,
			 const struct bench_command *command)
{
	for (unsigned m = 0; m < bench->n_measures && command->n_runs; m++) {
		const struct bench_measure *measure = &bench->measures[m];
		struct result result = { .unit = measure->unit };

		if (measure->event)
			result.scaled = command->scaled[measure->event - bench->plan.events];
		bench_row_of(bench, command, bench_reference(bench, command), m, &result.values);
		add_result(results, measure->name, &result, measure->event ? command->n_runs : 0);
	}
}

/* ---- threads ------------------------------------------------------------------------------ */

struct thread_key {
	const char *name;
	double impact;
};

static int by_impact(const void *a, const void *b)
{
	double x = ((const struct thread_key *)a)->impact,
	       y = ((const struct thread_key *)b)->impact;

	return (x < y) - (x > y);
}

/* Names of the command's and its reference's threads, the largest change of CPU time first; without
 * a reference the largest CPU time. */
static size_t thread_keys(const struct bench *bench, const struct bench_command *command,
			  const struct bench_command *reference, struct thread_key **keys)
{
	const struct bench_command *sides[2] = { command, reference };
	size_t n = 0, room = 0;

	*keys = NULL;
	for (unsigned s = 0; s < 2; s++)
		for (const struct bench_thread *t = sides[s] ? sides[s]->threads : NULL; t;
		     t = t->next)
			room++;
	*keys = calloc(room + 1, sizeof(**keys));
	for (unsigned s = 0; s < 2 && *keys; s++) {
		for (const struct bench_thread *t = sides[s] ? sides[s]->threads : NULL; t;
		     t = t->next) {
			struct bench_row a, b = { 0 };
			size_t k = 0;

			while (k < n && strcmp((*keys)[k].name, t->name))
				k++;
			if (k < n)
				continue;
			bench_thread_row(bench, command, NULL, t->name, 0, &a);
			if (reference)
				bench_thread_row(bench, reference, NULL, t->name, 0, &b);
			(*keys)[n++] = (struct thread_key){ t->name,
							    fabs(a.summary.mean - b.summary.mean) };
		}
	}
	if (*keys)
		qsort(*keys, n, sizeof(**keys), by_impact);
	return *keys ? n : 0;
}

#define MOST_THREADS 20

static bool has_thread(const struct bench_command *command, const char *name)
{
	const struct bench_thread *thread = command->threads;

	while (thread && strcmp(thread->name, name))
		thread = thread->next;
	return thread;
}

static void add_threads(struct results *results, const struct bench *bench,
			const struct bench_command *command)
{
	const struct bench_command *reference = bench_reference(bench, command);
	struct thread_key *keys;
	size_t n;

	if (reference && !reference->thread_runs)
		reference = NULL;
	n = thread_keys(bench, command, reference, &keys);
	for (size_t k = 0; k < n && k < MOST_THREADS; k++) {
		for (unsigned c = 0; c < bench->n_thread_columns; c++) {
			struct result result = { .unit = BENCH_NS };
			char name[80];
			struct pmc_out out;

			if (c)
				result.unit = bench->measures[BENCH_EVENTS + c - 1].unit;
			if (reference && has_thread(reference, keys[k].name) !=
						 has_thread(command, keys[k].name))
				result.presence =
					has_thread(reference, keys[k].name) ? "gone" : "new";
			bench_thread_row(bench, command, reference, keys[k].name, c,
					 &result.values);
			pmc_out_to_mem(&out, name, sizeof(name));
			pmc_outf(&out, "%s%s", c ? "  " : "",
				 c ? bench->thread_columns[c] : keys[k].name);
			add_result(results, name, &result, 0);
		}
	}
	free(keys);
}

/* ---- cells -------------------------------------------------------------------------------- */

/* The mark shows significance and direction without color, too. A percentage would say the same of
 * any thread that is in one of the commands only. */
static struct table_cell delta_cell(struct results *results)
{
	const struct bench_delta *delta = &results->at->values.delta;
	struct pmc_out out;

	if (results->at->presence)
		return cell_text(results->at->presence);
	if (!delta->known)
		return cell_null();
	pmc_out_to_mem(&out, results->delta, sizeof(results->delta));
	pmc_out_str(&out, !delta->significant ? "  " : delta->pct < 0 ? "↓ " : "↑ ");
	pmc_out_char(&out, delta->pct < 0 ? '-' : '+');
	pmc_out_fixed(&out, fabs(delta->pct), 1);
	pmc_out_char(&out, '%');
	if (delta->has_ci) {
		pmc_out_str(&out, " ± ");
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
	const bool colored = delta->known && delta->significant && !results->at->presence;

	return (struct table_line){ .color = !colored ? 0 : delta->pct < 0 ? -1 : 1 };
}

#define NUMBER(title, place, when)                                                                 \
	{                                                                                          \
		.name = title, .index = place, .unit = TABLE_COUNT, .drop = when,                  \
	}
static const struct table_column columns[] = {
	{ .name = "measurement", .index = NAME, .functions = true },
	NUMBER("mean", MEAN, TABLE_STAYS),
	NUMBER("± σ", SIGMA, TABLE_STAYS),
	NUMBER("median", MEDIAN, TABLE_DROP_BAR),
	NUMBER("min", MIN, TABLE_DROP_METRIC),
	NUMBER("max", MAX, TABLE_DROP_INPUT),
	{ .name = "outliers", .index = OUTLIERS, .unit = TABLE_WHOLE, .drop = TABLE_DROP_SPREAD },
	{ .name = "delta", .index = DELTA, .blank = true },
};

/* ---- tables ------------------------------------------------------------------------------- */

static void write_heading(const struct bench *bench, const struct bench_command *command,
			  struct pmc_out *out)
{
	const struct bench_command *reference = bench_reference(bench, command);
	const bool markdown = bench->format == BENCH_MARKDOWN;
	const char *mark = markdown ? "**" : "";

	pmc_outf(out, "%s%sBenchmark %u%s (%zu run%s", command == bench->commands ? "" : "\n", mark,
		 (unsigned)(command - bench->commands) + 1, mark, command->n_runs,
		 command->n_runs == 1 ? "" : "s");
	if (command->failures)
		pmc_outf(out, ", %llu failed", (unsigned long long)command->failures);
	pmc_outf(out, "): %s", markdown ? "`` " : "");
	pmc_utf8_safe(out, command->text, strlen(command->text), 0);
	pmc_out_str(out, markdown ? " ``\n\n" : "\n");
	if (bench->baseline && reference) {
		pmc_outf(out, "  compared with %s: ", bench->baseline_file);
		pmc_utf8_safe(out, reference->text, strlen(reference->text), 0);
		pmc_out_str(out, markdown ? "\n\n" : "\n");
	}
}

/* Rows from..to, under their head in the first table of a command. */
static void write_rows(const struct bench *bench, const struct table *table, size_t from, size_t to,
		       bool head, struct pmc_out *out)
{
	struct table part = *table;

	part.order = table->order + from;
	part.n_rows = to - from;
	if (bench->format == BENCH_MARKDOWN) {
		table_print(&part, TABLE_MARKDOWN, out);
		return;
	}
	if (head)
		table_put_head(&part, out);
	table_put_rows(&part, 0, part.n_rows, out);
}

static void write_command(const struct bench *bench, const struct bench_command *command,
			  const struct table *table, const size_t ends[2], size_t from,
			  struct pmc_out *out)
{
	struct table_place *last = &table->places[table->n - 1];

	/* The reference has no deltas. */
	if (last->column->index == DELTA)
		last->hidden = !bench_reference(bench, command);
	write_heading(bench, command, out);
	write_rows(bench, table, from, ends[0], true, out);
	if (!command->threads)
		return;
	pmc_outf(out, "%s%zu more run%s under the agent, CPU time of each thread:\n%s",
		 bench->format == BENCH_MARKDOWN ? "\n" : "  ", command->thread_runs,
		 command->thread_runs == 1 ? "" : "s", bench->format == BENCH_MARKDOWN ? "\n" : "");
	write_rows(bench, table, ends[0], ends[1], false, out);
}

static size_t most_results(const struct bench *bench)
{
	return (size_t)bench->n_commands *
	       (bench->n_measures + (size_t)MOST_THREADS * bench->n_thread_columns);
}

void bench_write_table(const struct bench *bench, struct pmc_out *out, bool color, int width)
{
	struct results results = { .list = calloc(most_results(bench) + 1, sizeof(struct result)) };
	size_t(*ends)[2] = calloc(bench->n_commands, sizeof(*ends));
	const struct table_choice all = { .top = 0 };
	struct pmc_arena arena = { 0 };
	struct table table = { .columns = columns,
			       .n_columns = sizeof(columns) / sizeof(columns[0]),
			       .arg = &results,
			       .row = make_row,
			       .cell = cell_of,
			       .line = line_of,
			       .screen = { .width = width, .color = color },
			       .arena = &arena,
			       .wide = !width,
			       .indent = 2 };
	const char *problem;
	bool enough = results.list && ends;

	for (unsigned c = 0; c < bench->n_commands && enough; c++) {
		add_measures(&results, bench, &bench->commands[c]);
		ends[c][0] = results.n;
		if (bench->commands[c].threads)
			add_threads(&results, bench, &bench->commands[c]);
		ends[c][1] = results.n;
	}
	table.n_rows = results.n;
	enough = enough && !table_apply(&table, &all, 0, &problem) && !table_layout(&table);
	if (!enough)
		out->error = -ENOMEM;
	for (unsigned c = 0; c < bench->n_commands && enough; c++)
		write_command(bench, &bench->commands[c], &table, ends[c], c ? ends[c - 1][1] : 0,
			      out);
	if (enough && bench->format == BENCH_TABLE && table.hidden[0])
		pmc_outf(out, "\ncolumns not shown: %s\n", table.hidden);
	width = bench->format == BENCH_MARKDOWN ? 0 : width;
	bench_write_delta(bench, out, width);
	bench_write_summary(bench, out, width);
	if (bench->format == BENCH_TABLE && bench->n_measures < BENCH_EVENTS + bench->plan.count)
		pmc_out_char(out, '\n');
	bench_write_notes(bench, out, width);
	pmc_arena_free(&arena);
	free(ends);
	free(results.list);
}
