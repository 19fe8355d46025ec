/* SPDX-License-Identifier: MIT */
/*
 * table.c - results as tables, on a terminal or as Markdown.
 *
 * All tables share the widths of their columns, in columns of the terminal, so that they align with
 * and without color.
 */
#include "lib/base/utf8.h"
#include "tools/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME, MEAN, SIGMA, MEDIAN, MIN, MAX, OUTLIERS, DELTA, N_CELLS };

struct cell_row {
	char cells[N_CELLS][80];
	int color; /* of the delta: -1 better, 1 worse, 0 neither */
};

struct widths {
	int of[N_CELLS];
};

static const char *const heads[N_CELLS] = { "measurement", "mean", "σ",	       "median",
					    "min",	   "max",  "outliers", "delta" };

static int width_of(const char *text)
{
	return pmc_utf8_columns(text, strlen(text));
}

static void widen(struct widths *widths, const struct cell_row *row)
{
	for (unsigned i = 0; i < N_CELLS; i++)
		if (width_of(row->cells[i]) > widths->of[i])
			widths->of[i] = width_of(row->cells[i]);
}

/* ---- cells -------------------------------------------------------------------------------- */

static void show_delta(struct cell_row *row, const struct bench_delta *delta)
{
	struct pmc_out out;

	pmc_out_to_mem(&out, row->cells[DELTA], sizeof(row->cells[DELTA]));
	if (!delta->known)
		return;
	/* The mark shows significance and direction without color, too. */
	pmc_out_str(&out, !delta->significant ? "  " : delta->pct < 0 ? "↓ " : "↑ ");
	pmc_out_char(&out, delta->pct < 0 ? '-' : '+');
	pmc_out_fixed(&out, fabs(delta->pct), 1);
	pmc_out_str(&out, "%");
	if (delta->has_ci) {
		pmc_out_str(&out, " ± ");
		pmc_out_fixed(&out, delta->ci_pct, 1);
		pmc_out_str(&out, "%");
	}
	row->color = !delta->significant ? 0 : delta->pct < 0 ? -1 : 1;
}

/* Less the time of a shell, a time may be negative. */
static void show_value(char cell[80], double value, enum bench_unit unit)
{
	struct pmc_out out;

	pmc_out_to_mem(&out, cell, 80);
	bench_show(&out, value < 0 && unit == BENCH_NS ? 0 : value, unit);
}

static void fill(struct cell_row *row, const char *name, enum bench_unit unit, bool scaled,
		 const struct bench_row *values)
{
	const struct bench_summary *summary = &values->summary;
	struct pmc_out out;

	*row = (struct cell_row){ .color = 0 };
	pmc_out_to_mem(&out, row->cells[NAME], sizeof(row->cells[NAME]));
	pmc_utf8_safe(&out, name, strlen(name), 40);
	if (!summary->n) {
		strcpy(row->cells[MEAN], "-");
		return;
	}
	show_value(row->cells[MEAN], summary->mean, unit);
	if (scaled) {
		memmove(row->cells[MEAN] + 1, row->cells[MEAN], sizeof(row->cells[MEAN]) - 2);
		row->cells[MEAN][0] = '~';
	}
	if (summary->n > 1)
		show_value(row->cells[SIGMA], summary->stddev, unit);
	show_value(row->cells[MEDIAN], summary->median, unit);
	show_value(row->cells[MIN], summary->min, unit);
	show_value(row->cells[MAX], summary->max, unit);
	pmc_out_to_mem(&out, row->cells[OUTLIERS], sizeof(row->cells[OUTLIERS]));
	pmc_outf(&out, "%zu (%2u%%)", summary->outliers,
		 (unsigned)(100.0 * (double)summary->outliers / (double)summary->n + 0.5));
	show_delta(row, &values->delta);
}

static void measure_row(const struct bench *bench, const struct bench_command *command, unsigned m,
			struct cell_row *row)
{
	const struct bench_command *reference = bench_reference(bench, command);
	const struct bench_measure *measure = &bench->measures[m];
	struct bench_row values;
	size_t n;

	bench_row_of(bench, command, reference, m, &values);
	fill(row, measure->name, measure->unit,
	     measure->event && command->scaled[measure->event - bench->plan.events], &values);
	n = values.summary.n;
	if (measure->event && n < command->n_runs && n) {
		size_t len = strlen(row->cells[NAME]);
		struct pmc_out out;

		pmc_out_to_mem(&out, row->cells[NAME] + len, sizeof(row->cells[NAME]) - len);
		pmc_outf(&out, " (%zu runs)", n);
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

/* A percentage would say the same of any thread that is in one of the commands only. */
static void show_presence(struct cell_row *row, const struct bench_command *command,
			  const struct bench_command *reference, const char *name)
{
	const char *side = bench_presence(has_thread(reference, name), has_thread(command, name));

	if (!strcmp(side, "both"))
		return;
	strcpy(row->cells[DELTA], side);
	row->color = 0;
}

/* Calls `show` for each row of the command's threads. */
static void each_thread(const struct bench *bench, const struct bench_command *command,
			void (*show)(void *to, const struct cell_row *row), void *to)
{
	const struct bench_command *reference = bench_reference(bench, command);
	struct thread_key *keys;
	size_t n;

	if (reference && !reference->thread_runs)
		reference = NULL;
	n = thread_keys(bench, command, reference, &keys);
	for (size_t k = 0; k < n && k < MOST_THREADS; k++) {
		for (unsigned c = 0; c < bench->n_thread_columns; c++) {
			struct bench_row values;
			struct cell_row row;
			char name[80];
			struct pmc_out out;

			bench_thread_row(bench, command, reference, keys[k].name, c, &values);
			pmc_out_to_mem(&out, name, sizeof(name));
			pmc_outf(&out, "%s%s", c ? "  " : "",
				 c ? bench->thread_columns[c] : keys[k].name);
			fill(&row, name, c ? bench->measures[BENCH_EVENTS + c - 1].unit : BENCH_NS,
			     false, &values);
			if (reference)
				show_presence(&row, command, reference, keys[k].name);
			show(to, &row);
		}
	}
	free(keys);
}

static void widen_row(void *to, const struct cell_row *row)
{
	widen(to, row);
}

/* ---- the terminal ------------------------------------------------------------------------- */

struct terminal {
	struct pmc_out *out;
	struct widths widths;
	bool color;
	bool left_out[N_CELLS]; /* on a narrow terminal */
};

/* Leaves out what is needed least until the lines fit, if they can. */
static void fit(struct terminal *terminal, int columns)
{
	static const unsigned char least_first[] = { MEDIAN, OUTLIERS, MAX, MIN };
	int width = 3; /* of the separators that are longer than two characters */

	for (unsigned i = 0; i < N_CELLS; i++)
		width += terminal->widths.of[i] + 2;
	for (unsigned i = 0; i < sizeof(least_first) && columns && width > columns; i++) {
		terminal->left_out[least_first[i]] = true;
		width -= terminal->widths.of[least_first[i]] + 2;
	}
}

static void put(struct terminal *terminal, const struct cell_row *row, unsigned cell, bool left)
{
	int pad = terminal->widths.of[cell] - width_of(row->cells[cell]);

	pmc_out_pad(terminal->out, ' ', left ? 0 : pad);
	pmc_out_str(terminal->out, row->cells[cell]);
	pmc_out_pad(terminal->out, ' ', left ? pad : 0);
}

static void write_row(void *to, const struct cell_row *row)
{
	static const struct {
		unsigned cell;
		const char *before;
	} order[] = { { MEAN, "  " }, { SIGMA, " ± " }, { MEDIAN, "  " },
		      { MIN, "  " },  { MAX, " … " },	{ OUTLIERS, "  " } };
	struct terminal *terminal = to;
	struct pmc_out *out = terminal->out;

	pmc_out_str(out, "  ");
	put(terminal, row, NAME, true);
	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		bool empty = !row->cells[order[i].cell][0];

		if (terminal->left_out[order[i].cell])
			continue;

		pmc_out_str(out, empty && order[i].cell == SIGMA ? "   " : order[i].before);
		put(terminal, row, order[i].cell, false);
	}
	if (row->cells[DELTA][0]) {
		pmc_out_str(out, "  ");
		if (terminal->color && row->color)
			pmc_out_str(out, row->color < 0 ? "\033[32m" : "\033[31m");
		pmc_out_str(out, row->cells[DELTA]);
		if (terminal->color && row->color)
			pmc_out_str(out, "\033[0m");
	}
	pmc_out_char(out, '\n');
}

static void head_row(struct cell_row *row, const char *name)
{
	*row = (struct cell_row){ .color = 0 };
	for (unsigned i = 0; i < N_CELLS; i++)
		strcpy(row->cells[i], heads[i]);
	strcpy(row->cells[NAME], name);
}

static void find_widths(const struct bench *bench, struct widths *widths)
{
	struct cell_row row;

	head_row(&row, heads[NAME]);
	widen(widths, &row);
	for (unsigned c = 0; c < bench->n_commands; c++) {
		for (unsigned m = 0; m < bench->n_measures; m++) {
			measure_row(bench, &bench->commands[c], m, &row);
			widen(widths, &row);
		}
		each_thread(bench, &bench->commands[c], widen_row, widths);
	}
}

void bench_write_table(const struct bench *bench, struct pmc_out *out, bool color, int columns)
{
	struct terminal terminal = { .out = out, .color = color };
	struct cell_row row;

	find_widths(bench, &terminal.widths);
	fit(&terminal, columns);
	for (unsigned c = 0; c < bench->n_commands; c++) {
		const struct bench_command *command = &bench->commands[c];

		pmc_outf(out, "%sBenchmark %u (%zu run%s", c ? "\n" : "", c + 1, command->n_runs,
			 command->n_runs == 1 ? "" : "s");
		if (command->failures)
			pmc_outf(out, ", %llu failed", (unsigned long long)command->failures);
		pmc_out_str(out, "): ");
		pmc_utf8_safe(out, command->text, strlen(command->text), 0);
		pmc_out_char(out, '\n');
		if (bench->baseline && bench_reference(bench, command)) {
			const char *text = bench_reference(bench, command)->text;

			pmc_outf(out, "  compared with %s: ", bench->baseline_file);
			pmc_utf8_safe(out, text, strlen(text), 0);
			pmc_out_char(out, '\n');
		}
		head_row(&row, heads[NAME]);
		if (!bench_reference(bench, command))
			row.cells[DELTA][0] = '\0';
		write_row(&terminal, &row);
		for (unsigned m = 0; m < bench->n_measures && command->n_runs; m++) {
			measure_row(bench, command, m, &row);
			write_row(&terminal, &row);
		}
		if (!command->threads)
			continue;
		pmc_outf(out, "  %zu more run%s under the agent, CPU time of each thread:\n",
			 command->thread_runs, command->thread_runs == 1 ? "" : "s");
		each_thread(bench, command, write_row, &terminal);
	}
	bench_write_delta(bench, out, columns);
	bench_write_summary(bench, out, columns);
	if (bench->n_measures < BENCH_EVENTS + bench->plan.count)
		pmc_out_char(out, '\n');
	bench_write_notes(bench, out, columns);
}

/* ---- Markdown ----------------------------------------------------------------------------- */

static void write_markdown_row(void *to, const struct cell_row *row)
{
	struct pmc_out *out = to;

	for (unsigned i = 0; i < N_CELLS; i++) {
		pmc_out_str(out, "| ");
		for (const char *c = row->cells[i]; *c; c++) {
			if (*c == '|')
				pmc_out_char(out, '\\');
			pmc_out_char(out, *c);
		}
		pmc_out_char(out, ' ');
	}
	pmc_out_str(out, "|\n");
}

void bench_write_markdown(const struct bench *bench, struct pmc_out *out)
{
	struct cell_row row;

	for (unsigned c = 0; c < bench->n_commands; c++) {
		const struct bench_command *command = &bench->commands[c];

		pmc_outf(out, "%s**Benchmark %u** (%zu runs): `` ", c ? "\n" : "", c + 1,
			 command->n_runs);
		pmc_utf8_safe(out, command->text, strlen(command->text), 0);
		pmc_out_str(out, " ``\n\n");
		head_row(&row, heads[NAME]);
		write_markdown_row(out, &row);
		pmc_out_str(out, "|:--|--:|--:|--:|--:|--:|--:|--:|\n");
		for (unsigned m = 0; m < bench->n_measures && command->n_runs; m++) {
			measure_row(bench, command, m, &row);
			write_markdown_row(out, &row);
		}
		if (command->threads) {
			row = (struct cell_row){ .cells[NAME] = "thread, CPU time" };
			write_markdown_row(out, &row);
		}
		each_thread(bench, command, write_markdown_row, out);
	}
	bench_write_delta(bench, out, 0);
	bench_write_summary(bench, out, 0);
	bench_write_notes(bench, out, 0);
}
