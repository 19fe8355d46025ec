/* SPDX-License-Identifier: MIT */
/* baseline.c - runs of an earlier bench, from its JSON. */
#include "tools/bench/bench.h"

#include <jansson.h>
#include <math.h>

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	double result = json_is_number(value) ? json_number_value(value) : NAN;

	/* Beyond these nothing was measured. */
	return result == 0 || (result > 1e-6 && result < 1e18) ? result : NAN;
}

static void read_runs(struct bench *bench, struct bench_command *command, const json_t *runs)
{
	const size_t n = json_array_size(runs);

	command->runs = pmc_arena_alloc(&bench->arena, n * sizeof(*command->runs));
	for (size_t r = 0; r < n; r++) {
		const json_t *run = json_array_get(runs, r);
		const json_t *events = json_object_get(run, "events");
		double *values =
			pmc_arena_alloc(&bench->arena, bench->n_measures * sizeof(*values));

		for (unsigned m = 0; m < bench->n_measures; m++)
			values[m] = number(m < BENCH_EVENTS ? run : events, bench->measures[m].key);
		/* Files of older versions have its parts alone. */
		if (isnan(values[BENCH_CPU]))
			values[BENCH_CPU] = values[BENCH_USER] + values[BENCH_SYS];
		command->runs[command->n_runs++].values = values;
	}
}

static void read_commands(struct bench *bench, const json_t *commands)
{
	const size_t n = json_array_size(commands);

	bench->baseline = pmc_arena_alloc(&bench->arena, (n + 1) * sizeof(*bench->baseline));
	for (size_t c = 0; c < n; c++) {
		const json_t *command = json_array_get(commands, c);
		const json_t *runs = json_object_get(command, "runs");
		const char *text = json_string_value(json_object_get(command, "command"));
		struct bench_command *stored = &bench->baseline[bench->n_baseline];

		if (!text || !json_array_size(runs))
			continue;
		stored->text = pmc_arena_strdup(&bench->arena, text);
		read_runs(bench, stored, runs);
		bench->n_baseline++;
	}
}

int bench_read_baseline(struct bench *bench)
{
	const char *file = bench->baseline_file;
	json_error_t error;
	json_t *root, *speed;

	if (!file)
		return 0;
	root = json_load_file(file, 0, &error);
	if (!root)
		return tool_fail(EXIT_FAIL,
				 "cannot read --baseline %s: %s; pmctl bench --format json writes "
				 "such a file",
				 file, error.text);
	read_commands(bench, json_object_get(root, "commands"));
	speed = json_object_get(root, "machine");
	bench->baseline_speed[BENCH_WALL] = number(speed, "wall_ns");
	bench->baseline_speed[BENCH_CPU] = number(speed, "cpu_ns");
	json_decref(root);
	if (!bench->n_baseline)
		return tool_fail(
			EXIT_FAIL,
			"--baseline %s has no runs; pmctl bench --format json writes such a file",
			file);
	for (unsigned c = 0; c < bench->n_commands; c++)
		if (!bench_reference(bench, &bench->commands[c]))
			tool_warn("--baseline %s does not have the command '%s'", file,
				  bench->commands[c].text);
	return 0;
}
