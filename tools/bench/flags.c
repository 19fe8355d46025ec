/* SPDX-License-Identifier: MIT */
/* flags.c - flags of `pmctl bench`. */
#include "tools/bench/bench.h"
#include "tools/cli/flags.h"

#define FLAG_OPTIONS struct bench
#define MOST_RUNS    10000

static const char *const colors[] = {
	[BENCH_AUTO] = "auto", [BENCH_ALWAYS] = "always", [BENCH_NEVER] = "never"
};
const struct tool_flag cmd_bench_flags[] = {
	FLAG_DURATION(duration_ns, "time per command (default: 5s), at least 3 runs"),
	FLAG_NUMBER('r', "--runs", "N", runs, 1, MOST_RUNS, "number of runs instead of a duration"),
	FLAG_NUMBER('w', "--warmup", "N", warmups, 0, MOST_RUNS,
		    "runs before those that are measured"),
	FLAG_EVENTS(events),
	FLAG_BOOL(0, "--sequential", sequential, "all runs of one command before the next"),
	FLAG_TEXT(0, "--prepare", "CMD", prepare, "shell command before every run, not measured"),
	FLAG_TEXT(0, "--setup", "CMD", setup, "shell command before all runs"),
	FLAG_TEXT(0, "--cleanup", "CMD", cleanup, "shell command after all runs"),
	FLAG_BOOL(0, "--shell", shell, "commands run by sh, whose own time is subtracted"),
	FLAG_TEXT(0, "--input", "FILE", input,
		  "standard input of the commands (default: /dev/null)"),
	FLAG_TEXT(0, "--output", "FILE", output,
		  "output of the commands: a file, null (default) or inherit"),
	FLAG_TIME(0, "--timeout", timeout_ns, FLAG_S, 1,
		  "limit of each run, after which it is killed"),
	FLAG_BOOL(0, "--ignore-failure", ignore_failure, "runs that fail are measured too"),
	FLAG_BOOL(0, "--per-thread", per_thread,
		  "further runs under the agent: threads that changed"),
	FLAG_TEXT(0, "--baseline", "FILE", baseline_file,
		  "JSON of an earlier bench to compare with"),
	FLAG_PERCENT(0, "--fail-above", fail_above,
		     "exit status 1 if significantly slower by this percentage"),
	FLAG_FORMAT(format, "table", "json", "csv", "markdown"),
	FLAG_WORD(0, "--color", "WHEN", color, colors, "colored changes"),
	OPERAND_TAIL(tail),
	OPERAND_LIST(words, n_words),
	FLAG_END,
};

int bench_flags(struct bench *bench, int argc, char **argv)
{
	int code;

	bench->fail_above = -1;
	bench->commands = pmc_arena_alloc(&bench->arena, sizeof(*bench->commands) * (size_t)argc);
	if (!bench->commands)
		return tool_fail(EXIT_FAIL, "out of memory");
	code = tool_args_parse(argc, argv, bench);
	/* --shell applies to all strings, also those before the flag. */
	for (unsigned i = 0; i < bench->n_words && !code; i++)
		code = bench_add_string(bench, bench->words[i]);
	if (!code && bench->tail)
		code = bench_add_argv(bench, bench->tail);
	if (!code && !bench->n_commands)
		code = tool_fail(EXIT_USAGE,
				 "no command; pmctl bench 'CMD A' 'CMD B', or -- CMD [ARG...]");
	if (!code && bench->runs && bench->duration_ns)
		code = tool_fail(EXIT_USAGE, "--duration and --runs exclude each other; give one");
	bench->duration_ns = bench->duration_ns ? bench->duration_ns : 5 * FLAG_S;
	if (!code && bench->fail_above >= 0 && bench->n_commands < 2 && !bench->baseline_file)
		code = tool_fail(EXIT_USAGE,
				 "--fail-above has nothing to compare with; name two commands "
				 "or --baseline FILE");
	if (code || !bench->output)
		return code;
	code = tool_refuse_overwrite("--output", bench->output, bench->input,
				     "the file of --input");
	return code ? code :
		      tool_refuse_overwrite("--output", bench->output, bench->baseline_file,
					    "the file of --baseline");
}
