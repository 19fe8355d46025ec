/* SPDX-License-Identifier: MIT */
/* cmd_bench.c - pmctl bench: measures commands and compares them. */
#include "tools/view/report.h"
#include "tools/bench/runner.h"
#include "tools/cli/pmctl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool use_color(const struct bench *bench)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (bench->color)
		return bench->color == BENCH_ALWAYS;
	return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb");
}

static void write_any(const void *arg, struct pmc_out *out)
{
	const struct bench *bench = arg;

	if (bench->format == BENCH_JSON)
		bench_write_json(bench, out);
	else if (bench->format == BENCH_CSV)
		bench_write_csv(bench, out);
	else
		bench_write_table(bench, out, bench->format == BENCH_TABLE && use_color(bench),
				  tool_columns(STDOUT_FILENO));
}

static int print(struct bench *bench)
{
	int error = bench_to_stdout(bench->format == BENCH_TABLE || bench->format == BENCH_MARKDOWN,
				    write_any, bench);
	return error ? tool_fail_write("to standard output", -error) : 0;
}

static bool measured(const struct bench *bench)
{
	for (unsigned c = 0; c < bench->n_commands; c++)
		if (bench->commands[c].n_runs)
			return true;
	return false;
}

/* The time of an empty shell is subtracted, so the rest may be below 0. */
static void warn_of_shell(const struct bench *bench)
{
	for (unsigned c = 0; c < bench->n_commands && bench->shell; c++) {
		struct bench_row row;

		bench_row_of(bench, &bench->commands[c], NULL, BENCH_WALL, &row);
		if (row.summary.n && row.summary.min < 0)
			tool_warn("'%.80s' takes about as long as the shell itself: times below "
				  "that of an empty shell are shown as 0 (not in JSON and CSV); "
				  "measure a longer command",
				  bench->commands[c].text);
	}
}

static int run_bench(struct bench *bench)
{
	int code = bench_plan(bench), printed;

	if (!code)
		code = bench_read_baseline(bench);
	if (!code)
		code = bench_open_files(bench);
	if (code)
		return code;
	bench_catch_signals();
	code = bench_measure(bench);
	if (!code && (bench->per_thread || bench->by_agent) && !bench->interrupted)
		code = bench_threads(bench);
	warn_of_shell(bench);
	/* Completed runs are shown after a failure or an interrupt, too. */
	printed = measured(bench) ? print(bench) : 0;
	if (!code && bench->interrupted)
		tool_warn("interrupted: results cover the completed runs");
	bench_raise_again();
	if (!code && !printed && bench_regressed(bench))
		code = tool_fail(EXIT_FAIL, "a command is slower than --fail-above permits");
	return code ? code : printed;
}

int cmd_bench(int argc, char **argv)
{
	struct bench bench = { .io = { -1, -1, -1 } };
	int code = bench_flags(&bench, argc, argv);

	if (!code)
		code = run_bench(&bench);
	for (unsigned c = 0; c < bench.n_commands; c++)
		free(bench.commands[c].runs);
	for (unsigned c = 0; c < bench.n_baseline; c++)
		free(bench.baseline[c].runs);
	pmc_arena_free(&bench.arena);
	return code;
}
