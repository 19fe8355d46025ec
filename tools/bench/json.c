/* SPDX-License-Identifier: MIT */
/* json.c - results with every run as JSON, and a row for each run as CSV. */
#include "lib/base/csv.h"
#include "lib/base/json.h"
#include "lib/dump/words.h"
#include "tools/bench/runner.h"

#include <math.h>
#include <string.h>
#include <sys/wait.h>

const char *const bench_keys[BENCH_EVENTS] = { "wall_ns", "user_ns", "sys_ns", "peak_rss_bytes" };

/* As a shell has it: the status, or 128 and the signal. */
static int exit_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Values are whole numbers, but for scaled counts and times less a shell's. */
static void put_value(struct pmc_json *json, const char *key, double value)
{
	if (!isnan(value) && value >= 0 && value < 9e15 && value == floor(value))
		pmc_json_u64(json, key, (uint64_t)value);
	else
		pmc_json_double(json, key, value);
}

/* Which values delta_pct is of. */
static const char *delta_of(const struct bench_delta *delta)
{
	if (!delta->known)
		return NULL;
	if (delta->paired)
		return delta->trimmed ? "pairs-middle-half" : "pairs";
	return delta->trimmed ? "runs-middle-half" : "runs";
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

static const char *key_of(const struct bench *bench, unsigned m)
{
	return m < BENCH_EVENTS ? bench_keys[m] : bench->measures[m].name;
}

static void put_runs(struct pmc_json *json, const struct bench *bench,
		     const struct bench_command *command)
{
	pmc_json_array(json, "runs");
	for (size_t r = 0; r < command->n_runs; r++) {
		const struct bench_run *run = &command->runs[r];

		pmc_json_line(json);
		pmc_json_object(json, NULL);
		for (unsigned m = 0; m < BENCH_EVENTS; m++)
			put_value(json, bench_keys[m], run->values[m]);
		pmc_json_i64(json, "exit", exit_of(run->status));
		pmc_json_object(json, "events");
		for (unsigned m = BENCH_EVENTS; m < bench->n_measures; m++)
			put_value(json, bench->measures[m].name, run->values[m]);
		pmc_json_object_end(json);
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
}

static void put_threads(struct pmc_json *json, const struct bench *bench,
			const struct bench_command *command)
{
	const struct bench_command *reference = bench_reference(bench, command);

	if (reference && !reference->thread_runs)
		reference = NULL;
	pmc_json_array(json, "threads");
	for (const struct bench_thread *t = command->threads; t; t = t->next) {
		pmc_json_line(json);
		pmc_json_object(json, NULL);
		pmc_json_str(json, "name", t->name);
		for (unsigned c = 0; c < bench->n_thread_columns; c++) {
			struct bench_row row;

			bench_thread_row(bench, command, reference, t->name, c, &row);
			put_summary(json, bench->thread_columns[c], &row);
		}
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
}

static void put_command(struct pmc_json *json, const struct bench *bench,
			const struct bench_command *command)
{
	const struct bench_command *reference = bench_reference(bench, command);

	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "command", command->text);
	pmc_json_u64(json, "failures", command->failures);
	put_runs(json, bench, command);
	pmc_json_object(json, "summary");
	for (unsigned m = 0; m < bench->n_measures; m++) {
		struct bench_row row;

		bench_row_of(bench, command, reference, m, &row);
		put_summary(json, key_of(bench, m), &row);
	}
	pmc_json_object_end(json);
	if (bench->per_thread)
		put_threads(json, bench, command);
	pmc_json_object_end(json);
}

void bench_write_json(const struct bench *bench, struct pmc_out *out)
{
	struct pmc_json json;
	char why[320];

	pmc_json_init(&json, out, false);
	pmc_json_object(&json, NULL);
	pmc_json_array(&json, "commands");
	for (unsigned c = 0; c < bench->n_commands; c++)
		put_command(&json, bench, &bench->commands[c]);
	pmc_json_array_end(&json);
	pmc_json_array(&json, "events");
	for (unsigned i = 0; i < bench->plan.count; i++) {
		const struct pmc_planned *event = &bench->plan.events[i];

		pmc_json_line(&json);
		pmc_json_object(&json, NULL);
		pmc_json_str(&json, "name", event->event.name);
		pmc_json_str(&json, "unit", event->event.unit);
		pmc_json_str(&json, "scope", pmc_scope_name((enum pmc_scope)event->scope));
		pmc_json_str(&json, "state", pmc_state_name((enum pmc_state)event->state));
		if (event->state != PMC_COUNTED)
			bench_why(bench, event, why, sizeof(why));
		pmc_json_str(&json, "reason", event->state != PMC_COUNTED ? why : NULL);
		pmc_json_object_end(&json);
	}
	pmc_json_array_end(&json);
	pmc_json_bool(&json, "interrupted", bench->interrupted);
	pmc_json_object_end(&json);
	pmc_out_char(out, '\n');
}

/* ---- CSV ---------------------------------------------------------------------------------- */

void bench_write_csv(const struct bench *bench, struct pmc_out *out)
{
	pmc_out_str(out, "command,run,exit");
	for (unsigned m = 0; m < bench->n_measures; m++) {
		pmc_out_char(out, ',');
		pmc_csv_text(out, key_of(bench, m), strlen(key_of(bench, m)));
	}
	pmc_out_char(out, '\n');
	for (unsigned c = 0; c < bench->n_commands; c++) {
		const struct bench_command *command = &bench->commands[c];

		for (size_t r = 0; r < command->n_runs; r++) {
			pmc_csv_text(out, command->text, strlen(command->text));
			pmc_outf(out, ",%zu,%d", r + 1, exit_of(command->runs[r].status));
			for (unsigned m = 0; m < bench->n_measures; m++) {
				double value = command->runs[r].values[m];

				pmc_out_char(out, ',');
				if (isnan(value))
					continue;
				pmc_out_fixed(out, value, value == floor(value) ? 0 : 3);
			}
			pmc_out_char(out, '\n');
		}
	}
}
