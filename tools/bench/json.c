/* SPDX-License-Identifier: MIT */
/* json.c - results with every run as JSON, and a row for each run as CSV. */
#include "lib/base/json.h"
#include "lib/dump/words.h"
#include "tools/bench/bench.h"
#include "tools/table/table.h"

#include <math.h>
#include <sys/wait.h>

/* As a shell has it: the status, or 128 and the signal. */
static int exit_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Values are whole numbers, but for scaled counts and times less a shell's. */
static bool is_whole(double value)
{
	return !isnan(value) && value >= 0 && value < 9e15 && value == floor(value);
}

static void put_value(struct pmc_json *json, const char *key, double value)
{
	if (is_whole(value))
		pmc_json_u64(json, key, (uint64_t)value);
	else
		pmc_json_double(json, key, value);
}

/* Which values delta_pct is of. */
static const char *delta_of(const struct bench_delta *delta)
{
	static const char *const names[2][2] = { { "runs", "runs-trimmed" },
						 { "pairs", "pairs-trimmed" } };

	return delta->known ? names[delta->paired][delta->trimmed] : NULL;
}

static void put_summary(struct pmc_json *json, const char *key, const struct bench_row *row)
{
	const struct bench_summary *summary = &row->summary;
	const struct bench_delta *delta = &row->delta;

	if (!summary->n) {
		pmc_json_null(json, key);
		return;
	}
	pmc_json_object(json, key);
	pmc_json_u64(json, "n", summary->n);
	pmc_json_double(json, "mean", summary->mean);
	pmc_json_double(json, "stddev", summary->n > 1 ? summary->stddev : NAN);
	put_value(json, "median", summary->median);
	put_value(json, "min", summary->min);
	put_value(json, "max", summary->max);
	pmc_json_u64(json, "outliers", summary->outliers);
	pmc_json_double(json, "delta_pct", delta->known ? delta->pct : NAN);
	pmc_json_str(json, "delta_of", delta_of(delta));
	pmc_json_double(json, "delta_base", delta->known ? delta->base : NAN);
	pmc_json_double(json, "ci_pct", delta->has_ci ? delta->ci_pct : NAN);
	if (delta->has_ci)
		pmc_json_bool(json, "significant", delta->significant);
	else
		pmc_json_null(json, "significant");
	pmc_json_object_end(json);
}

static void put_run(struct pmc_json *json, const struct bench *bench, const struct bench_run *run)
{
	pmc_json_line(json);
	pmc_json_object(json, NULL);
	for (unsigned m = 0; m < BENCH_EVENTS; m++)
		put_value(json, bench->measures[m].key, run->values[m]);
	pmc_json_i64(json, "exit", exit_of(run->status));
	pmc_json_object(json, "events");
	for (unsigned m = BENCH_EVENTS; m < bench->n_measures; m++)
		put_value(json, bench->measures[m].key, run->values[m]);
	pmc_json_object_end(json);
	pmc_json_object_end(json);
}

static void put_thread(struct pmc_json *json, const struct bench *bench,
		       const struct bench_command *command, const struct bench_thread *thread)
{
	const struct bench_command *reference = bench_thread_reference(bench, command);
	struct bench_row row;

	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "name", thread->name);
	for (unsigned c = 0; c < bench_thread_columns(bench); c++) {
		bench_row_of(bench, command, reference, thread, c, &row);
		put_summary(json, bench_thread_column(bench, c), &row);
	}
	pmc_json_object_end(json);
}

static void put_command(struct pmc_json *json, const struct bench *bench,
			const struct bench_command *command)
{
	struct bench_row row;

	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "command", command->text);
	pmc_json_u64(json, "failures", command->failures);
	pmc_json_array(json, "runs");
	for (size_t r = 0; r < command->n_runs; r++)
		put_run(json, bench, &command->runs[r]);
	pmc_json_array_end(json);
	pmc_json_object(json, "summary");
	for (unsigned m = 0; m < bench->n_measures; m++) {
		bench_row_of(bench, command, bench_reference(bench, command), NULL, m, &row);
		put_summary(json, bench->measures[m].key, &row);
	}
	pmc_json_object_end(json);
	if (bench->per_thread) {
		pmc_json_array(json, "threads");
		for (const struct bench_thread *t = bench->threads; t; t = t->next)
			if (bench_has_thread(bench, command, t))
				put_thread(json, bench, command, t);
		pmc_json_array_end(json);
	}
	pmc_json_object_end(json);
}

static void put_event(struct pmc_json *json, const struct bench *bench,
		      const struct pmc_planned *event)
{
	const bool counted = event->state == PMC_COUNTED;
	char why[320];

	if (!counted)
		bench_why(bench, event, why, sizeof(why));
	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "name", event->event.name);
	pmc_json_str(json, "unit", event->event.unit);
	pmc_json_str(json, "scope", pmc_scope_name((enum pmc_scope)event->scope));
	pmc_json_str(json, "state", pmc_state_name((enum pmc_state)event->state));
	pmc_json_str(json, "reason", counted ? NULL : why);
	pmc_json_object_end(json);
}

void bench_write_json(const struct bench *bench, struct pmc_out *out)
{
	struct pmc_json json;

	pmc_json_init(&json, out, false);
	pmc_json_object(&json, NULL);
	pmc_json_array(&json, "commands");
	for (unsigned c = 0; c < bench->n_commands; c++)
		put_command(&json, bench, &bench->commands[c]);
	pmc_json_array_end(&json);
	pmc_json_array(&json, "events");
	for (unsigned i = 0; i < bench->plan.count; i++)
		put_event(&json, bench, &bench->plan.events[i]);
	pmc_json_array_end(&json);
	pmc_json_bool(&json, "interrupted", bench->interrupted);
	pmc_json_object_end(&json);
	pmc_out_char(out, '\n');
}

/* ---- CSV ---------------------------------------------------------------------------------- */

static void put_csv(struct pmc_out *out, struct table_cell cell, char end)
{
	table_put_csv(out, &cell);
	pmc_out_char(out, end);
}

void bench_write_csv(const struct bench *bench, struct pmc_out *out)
{
	const unsigned n = bench->n_measures;

	pmc_out_str(out, "command,run,exit,");
	for (unsigned m = 0; m < n; m++)
		put_csv(out, cell_text(bench->measures[m].key), m + 1 < n ? ',' : '\n');
	for (unsigned c = 0; c < bench->n_commands; c++)
		for (size_t r = 0; r < bench->commands[c].n_runs; r++) {
			const struct bench_run *run = &bench->commands[c].runs[r];

			put_csv(out, cell_text(bench->commands[c].text), ',');
			pmc_outf(out, "%zu,%d,", r + 1, exit_of(run->status));
			for (unsigned m = 0; m < n; m++)
				put_csv(out,
					cell_real(run->values[m], is_whole(run->values[m]) ? 0 : 3),
					m + 1 < n ? ',' : '\n');
		}
}
