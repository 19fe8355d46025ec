/* SPDX-License-Identifier: MIT */
/* results.c - summaries of the runs, what each command is compared with, values as text. */
#include "tools/bench/bench.h"

#include <stdlib.h>
#include <string.h>

const struct bench_command *bench_reference(const struct bench *bench,
					    const struct bench_command *command)
{
	if (!bench->baseline)
		return command == bench->commands ? NULL : bench->commands;
	for (unsigned c = 0; c < bench->n_baseline; c++)
		if (!strcmp(bench->baseline[c].text, command->text))
			return &bench->baseline[c];
	return bench->n_baseline == 1 ? bench->baseline : NULL;
}

/* The values of a column by run; NAN: none. */
struct column {
	const struct bench *bench;
	const char *thread; /* NULL: of the whole command */
	unsigned index;
};

static size_t runs_of(const struct column *column, const struct bench_command *command)
{
	return column->thread ? command->thread_runs : command->n_runs;
}

/* Runs without the thread count as 0. NULL: out of memory. */
static double *values_of(const struct column *column, const struct bench_command *command)
{
	const struct bench_thread *thread = command->threads;
	size_t n = runs_of(column, command);
	double *values = calloc(n + 1, sizeof(*values));

	while (column->thread && thread && strcmp(thread->name, column->thread))
		thread = thread->next;
	for (size_t r = 0; values && r < n; r++) {
		if (!column->thread)
			values[r] = command->runs[r].values[column->index];
		else if (thread)
			values[r] =
				thread->values[r * column->bench->n_thread_columns + column->index];
	}
	return values;
}

/* Commands took turns, so that their runs of one round are a pair. */
static bool are_pairs(const struct bench *bench, const struct bench_command *a,
		      const struct bench_command *b)
{
	const struct bench_command *end = bench->commands + bench->n_commands;

	return !bench->sequential && a >= bench->commands && a < end && b >= bench->commands &&
	       b < end;
}

/* Nothing is in percent of a time below that of an empty shell. */
static bool is_base(const struct bench_summary *summary)
{
	return summary->mean > 0 && (!summary->trimmed.n || summary->trimmed.value > 0);
}

static void compare(const struct column *column, const struct bench_command *command,
		    const struct bench_command *reference, struct bench_row *row)
{
	size_t n = runs_of(column, command), n_base = reference ? runs_of(column, reference) : 0;
	double *values = values_of(column, command);
	double *base = reference ? values_of(column, reference) : NULL;
	struct bench_summary summary;

	*row = (struct bench_row){ .delta.known = false };
	bench_summarize(values, values ? n : 0, &row->summary);
	bench_summarize(base, base ? n_base : 0, &summary);
	if (is_base(&summary))
		bench_compare(&summary, &row->summary, &row->delta);
	if (row->delta.known && are_pairs(column->bench, command, reference))
		bench_compare_pairs(base, values, n < n_base ? n : n_base, &summary, &row->delta);
	free(base);
	free(values);
}

void bench_row_of(const struct bench *bench, const struct bench_command *command,
		  const struct bench_command *reference, unsigned measure, struct bench_row *row)
{
	compare(&(struct column){ bench, NULL, measure }, command, reference, row);
}

void bench_thread_row(const struct bench *bench, const struct bench_command *command,
		      const struct bench_command *reference, const char *name, unsigned column,
		      struct bench_row *row)
{
	compare(&(struct column){ bench, name, column }, command, reference, row);
}

/* Whether wall time, or a requested event, is significantly worse by more than --fail-above. */
bool bench_regressed(const struct bench *bench)
{
	bool worse = false;

	for (unsigned c = 0; c < bench->n_commands && bench->fail_above >= 0; c++) {
		const struct bench_command *command = &bench->commands[c];
		const struct bench_command *reference = bench_reference(bench, command);

		for (unsigned m = 0; reference && m < bench->n_measures; m++) {
			struct bench_row row;

			if (m != BENCH_WALL && (m < BENCH_EVENTS || !bench->events))
				continue;
			bench_row_of(bench, command, reference, m, &row);
			worse |= row.delta.significant && row.delta.pct > bench->fail_above;
		}
	}
	return worse;
}
