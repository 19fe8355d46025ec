/* SPDX-License-Identifier: MIT */
/* flags.c - flags of `pmctl bench`. */
#include "tools/bench/bench.h"
#include "tools/cli/pmctl.h"

#define DURATION_NS 5000000000u

#define MOST_RUNS 10000

static int set_flag(struct bench *bench, const struct tool_args *args)
{
	static const struct tool_word formats[] = {
		{ "table", BENCH_TABLE, NULL },
		{ "json", BENCH_JSON, NULL },
		{ "csv", BENCH_CSV, NULL },
		{ "markdown", BENCH_MARKDOWN, NULL },
		{ NULL, 0, NULL },
	};
	static const struct tool_word colors[] = {
		{ "never", 0, NULL },
		{ "always", 1, NULL },
		{ "auto", -1, NULL },
		{ NULL, 0, NULL },
	};
	const struct {
		const char *flag;
		bool *yes;
		const char **text;
	} plain[] = {
		{ "--sequential", &bench->sequential, NULL },
		{ "--shell", &bench->shell, NULL },
		{ "--ignore-failure", &bench->ignore_failure, NULL },
		{ "--per-thread", &bench->per_thread, NULL },
		{ "--events", NULL, &bench->events },
		{ "--prepare", NULL, &bench->prepare },
		{ "--setup", NULL, &bench->setup },
		{ "--cleanup", NULL, &bench->cleanup },
		{ "--input", NULL, &bench->input },
		{ "--output", NULL, &bench->output },
		{ "--baseline", NULL, &bench->baseline_file },
	};
	int word = 0, code;

	for (unsigned i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (!tool_args_is(args, plain[i].flag))
			continue;
		if (plain[i].yes)
			*plain[i].yes = true;
		else
			*plain[i].text = args->value;
		return 0;
	}
	if (tool_args_is(args, "--duration"))
		return tool_args_time(args, 0, &bench->duration_ns);
	if (tool_args_is(args, "--timeout"))
		return tool_args_time(args, 0, &bench->timeout_ns);
	if (tool_args_is(args, "--runs"))
		return tool_args_number(args, 1, MOST_RUNS, &bench->runs);
	if (tool_args_is(args, "--warmup"))
		return tool_args_number(args, 0, MOST_RUNS, &bench->warmups);
	if (tool_args_is(args, "--fail-above"))
		return tool_args_percent(args, &bench->fail_above);
	if (tool_args_is(args, "--format")) {
		code = tool_args_word(args, formats, &word);
		bench->format = (enum bench_format)word;
		return code;
	}
	return tool_args_word(args, colors, &bench->color);
}

int bench_flags(struct bench *bench, int argc, char **argv)
{
	struct tool_args args;
	char **words = NULL, **tail = NULL;
	unsigned n = 0;
	int code = 0;

	bench->fail_above = -1;
	bench->color = -1;
	words = pmc_arena_alloc(&bench->arena, sizeof(*words) * (size_t)argc);
	bench->commands = pmc_arena_alloc(&bench->arena, sizeof(*bench->commands) * (size_t)argc);
	if (!words || !bench->commands)
		return tool_fail(EXIT_FAIL, "out of memory");
	tool_args_init(&args, argc, argv);
	while (!code && tool_args_next(&args)) {
		if (args.flag) {
			code = set_flag(bench, &args);
		} else if (args.operands) {
			tail = argv + args.at - 1;
			break;
		} else {
			words[n++] = argv[args.at - 1];
		}
	}
	if (code || args.code)
		return code ? code : args.code;
	/* --shell applies to all strings, also those before the flag. */
	for (unsigned i = 0; i < n && !code; i++)
		code = bench_add_string(bench, words[i]);
	if (!code && tail)
		code = bench_add_argv(bench, tail);
	if (!code && !bench->n_commands)
		code = tool_fail(EXIT_USAGE,
				 "no command; pmctl bench 'CMD A' 'CMD B', or -- CMD [ARG...]");
	if (!code && bench->runs && bench->duration_ns)
		code = tool_fail(EXIT_USAGE, "--duration and --runs exclude each other; give one");
	bench->duration_ns = bench->duration_ns ? bench->duration_ns : DURATION_NS;
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
