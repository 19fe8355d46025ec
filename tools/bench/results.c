/* SPDX-License-Identifier: MIT */
/* results.c - summaries of the runs, what each command is compared with, values as text. */
#include "tools/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void bench_summary_of(const struct bench_command *command, unsigned measure,
		      struct bench_summary *summary)
{
	double *values = malloc((command->n_runs + 1) * sizeof(*values));
	size_t n = 0;

	for (size_t r = 0; values && r < command->n_runs; r++)
		if (!isnan(command->runs[r].values[measure]))
			values[n++] = command->runs[r].values[measure];
	bench_summarize(values, n, summary);
	free(values);
}

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

void bench_thread_summary(const struct bench *bench, const struct bench_command *command,
			  const char *name, unsigned column, struct bench_summary *summary)
{
	const struct bench_thread *thread = command->threads;
	double *values = calloc(command->thread_runs + 1, sizeof(*values));

	while (thread && strcmp(thread->name, name))
		thread = thread->next;
	for (size_t r = 0; values && r < command->thread_runs; r++) {
		double value = thread ? thread->values[r * bench->n_thread_columns + column] : 0;

		values[r] = isnan(value) ? 0 : value;
	}
	bench_summarize(values, values ? command->thread_runs : 0, summary);
	free(values);
}

/* Whether wall time, or a requested event, is significantly worse by more than --fail-above. */
bool bench_regressed(const struct bench *bench)
{
	bool worse = false;

	for (unsigned c = 0; c < bench->n_commands && bench->fail_above >= 0; c++) {
		const struct bench_command *command = &bench->commands[c];
		const struct bench_command *reference = bench_reference(bench, command);

		for (unsigned m = 0; reference && m < bench->n_measures; m++) {
			struct bench_summary a, b;
			struct bench_delta delta;

			if (m != BENCH_WALL && (m < BENCH_EVENTS || !bench->events))
				continue;
			bench_summary_of(reference, m, &a);
			bench_summary_of(command, m, &b);
			bench_compare(&a, &b, &delta);
			worse |= delta.significant && delta.pct > bench->fail_above;
		}
	}
	return worse;
}
