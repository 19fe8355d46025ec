/* SPDX-License-Identifier: MIT */
/* flags.c - flags of `pmctl bench`. */
#include "agent/core/base/config.h"
#include "agent/core/base/number.h"
#include "tools/bench/bench.h"
#include "tools/cli/pmctl.h"

#include <stdlib.h>
#include <string.h>

#define DURATION_NS 5000000000u

#define MOST_RUNS 10000

static int refuse(const struct tool_args *args, const char *accepted)
{
	return tool_fail(EXIT_USAGE, "invalid %s '%.60s'; give %s", args->flag, args->value,
			 accepted);
}

static int set_time(const struct tool_args *args, uint64_t *ns)
{
	if (pmc_config_time(args->value, ns) != 0 || !*ns)
		return refuse(args, "a time such as 500ms, 5s or 2m");
	return 0;
}

static int set_count(const struct tool_args *args, uint64_t least, uint64_t *count)
{
	if (!pmc_number(args->value, MOST_RUNS, count) || *count < least)
		return refuse(args,
			      least ? "a number from 1 to 10000" : "a number from 0 to 10000");
	return 0;
}

static int set_percent(const struct tool_args *args, double *percent)
{
	char *end;

	*percent = strtod(args->value, &end);
	if (end == args->value || (*end && strcmp(end, "%")) || !(*percent >= 0 && *percent < 1e6))
		return refuse(args, "a percentage such as 5 or 2.5");
	return 0;
}

/* The index of the value in n words. */
static int set_word(const struct tool_args *args, const char *const *words, unsigned n, int *place)
{
	char what[32], see[80] = "one of ";

	for (unsigned i = 0; i < n; i++) {
		if (!strcmp(args->value, words[i])) {
			*place = (int)i;
			return 0;
		}
		strcat(strcat(see, words[i]), i + 1 < n ? ", " : "");
	}
	strcat(strcpy(what, "invalid "), args->flag);
	return tool_fail_unknown(what, args->value, tool_nearest(args->value, words, n), see);
}

static int set_flag(struct bench *bench, const struct tool_args *args)
{
	static const char *const formats[] = { "table", "json", "csv", "markdown" };
	static const char *const colors[] = { "never", "always", "auto" };
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
		return set_time(args, &bench->duration_ns);
	if (tool_args_is(args, "--timeout"))
		return set_time(args, &bench->timeout_ns);
	if (tool_args_is(args, "--runs"))
		return set_count(args, 1, &bench->runs);
	if (tool_args_is(args, "--warmup"))
		return set_count(args, 0, &bench->warmups);
	if (tool_args_is(args, "--fail-above"))
		return set_percent(args, &bench->fail_above);
	if (tool_args_is(args, "--format")) {
		code = set_word(args, formats, 4, &word);
		bench->format = (enum bench_format)word;
		return code;
	}
	code = set_word(args, colors, 3, &word);
	bench->color = word == 2 ? -1 : word;
	return code;
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
	return code;
}
