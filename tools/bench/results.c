/* SPDX-License-Identifier: MIT */
/* results.c - summaries of the runs, and what each command is compared with. */
#include "tools/bench/bench.h"

#include <math.h>
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

const struct bench_command *bench_thread_reference(const struct bench *bench,
						   const struct bench_command *command)
{
	const struct bench_command *reference = bench_reference(bench, command);

	return reference && reference->thread_runs ? reference : NULL;
}

bool bench_has_thread(const struct bench *bench, const struct bench_command *command,
		      const struct bench_thread *thread)
{
	return thread->values[command - bench->commands];
}

/* Of a thread in run r: 0 if the run does not have it, but not of an event of another pass. */
static double thread_value(const struct bench *bench, const struct bench_command *command,
			   const struct bench_thread *thread, unsigned column, size_t r)
{
	const double *values = thread->values[command - bench->commands];

	if (column && bench->by_agent) {
		const unsigned pass = bench->measures[BENCH_EVENTS + column - 1].pass;

		if (pass != BENCH_EVERY_PASS && pass != r % bench->passes)
			return NAN;
	}
	return values ? values[r * bench_thread_columns(bench) + column] : 0;
}

/* By run; NAN: none. NULL: out of memory. */
static double *values_of(const struct bench *bench, const struct bench_command *command,
			 const struct bench_thread *thread, unsigned measure, size_t *n)
{
	double *values;

	*n = !command ? 0 : thread ? command->thread_runs : command->n_runs;
	values = calloc(*n + 1, sizeof(*values));
	if (!values)
		*n = 0;
	for (size_t r = 0; r < *n; r++)
		values[r] = thread ? thread_value(bench, command, thread, measure, r) :
				     command->runs[r].values[measure];
	return values;
}

/* Nothing is in percent of a time below that of an empty shell. */
static bool is_base(const struct bench_summary *summary)
{
	return summary->mean > 0 && (!summary->trimmed.n || summary->trimmed.value > 0);
}

void bench_row_of(const struct bench *bench, const struct bench_command *command,
		  const struct bench_command *reference, const struct bench_thread *thread,
		  unsigned measure, struct bench_row *row)
{
	size_t n, n_base;
	double *values = values_of(bench, command, thread, measure, &n);
	double *base = values_of(bench, reference, thread, measure, &n_base);
	/* Commands took turns, so that their runs of one round are a pair. */
	const bool pairs = !bench->sequential && reference >= bench->commands &&
			   reference < bench->commands + bench->n_commands;
	struct bench_summary summary;

	*row = (struct bench_row){ .delta.known = false };
	bench_summarize(values, n, &row->summary);
	bench_summarize(base, n_base, &summary);
	if (is_base(&summary))
		bench_compare(&summary, &row->summary, &row->delta);
	if (row->delta.known && pairs)
		bench_compare_pairs(base, values, n < n_base ? n : n_base, &summary, &row->delta);
	free(base);
	free(values);
}
