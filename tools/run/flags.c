/* SPDX-License-Identifier: MIT */
/* flags.c - flags and PMC_* variables of `pmctl run`, checked before anything is started. */
#include "lib/event/sample.h"
#include "tools/cli/flags.h"
#include "tools/run/run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int check_events(const char *source, const char *text)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events;
	int code = tool_parse_events(source, text, &arena, &events);

	pmc_arena_free(&arena);
	return code;
}

/* The event of PMC_SAMPLE, if it names one. */
static int check_sample(const char *source, const struct pmc_config_sample *sample)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events;
	char why[PMC_SAMPLE_WHY];
	const char *refusal;
	int code;

	if (!sample->on || !sample->event_len)
		return 0;
	code = tool_parse_events(source,
				 pmc_arena_strndup(&arena, sample->event, sample->event_len),
				 &arena, &events);
	refusal = code ? NULL : pmc_sample_refusal(&events.list[0], sample, why);
	if (refusal)
		code = tool_fail(EXIT_USAGE, "%s '%s': %s", source, sample->event, refusal);
	pmc_arena_free(&arena);
	return code;
}

static int refuse(const char *source, const char *value, const char *accepted)
{
	return tool_fail(EXIT_USAGE, "invalid value of %s: '%s'; give %s", source, value, accepted);
}

/* `--sample CMD`: an optional value is the next argument, unless that begins with a dash. */
static bool is_command(const struct tool_args *args)
{
	struct pmc_arena arena = { 0 };
	struct pmc_parse_error error;
	struct pmc_events events;
	struct program program;
	bool is_event = !pmc_events_parse(args->value, NULL, &arena, &events, &error);

	pmc_arena_free(&arena);
	return !is_event && args->value == args->argv[args->at - 1] &&
	       program_find(args->value, &program) && program_can_start(&program);
}

/* Sets the flag's PMC_* variable, which the agent reads. */
static int set_knob(void *to, const struct tool_args *args)
{
	struct run *run = to;
	const char *flag = args->flag, *value = args->value;
	struct pmc_config scratch = { .sample = { .on = false } };
	unsigned i = 0;
	int code;

	run->out_flag |= tool_args_is(args, "--output");
	run->sample_flag |= tool_args_is(args, "--sample");
	run->unwind_flag |= tool_args_is(args, "--unwind");
	while (strcmp(pmc_knobs[i].flag, flag) != 0)
		i++;
	if (args->row->argument[0] == '[' && is_command(args))
		return tool_fail(EXIT_USAGE,
				 "invalid value of %s: '%s' is a program, not an event; give "
				 "%s=EVENT, or %s -- in front of the command",
				 flag, value, flag, flag);
	if (!*value || pmc_config_set(&scratch, i, value) != 0)
		return refuse(flag, value, pmc_config_accepted(i, value));
	if (strcmp(pmc_knobs[i].env, "PMC_EVENTS") == 0)
		code = check_events(flag, value);
	else
		code = check_sample(flag, &scratch.sample);
	if (!code && setenv(pmc_knobs[i].env, value, 1) != 0)
		code = tool_fail(EXIT_OURS, "out of memory");
	return code;
}

#define FLAG_OPTIONS struct run

const struct tool_flag cmd_run_flags[] = {
#define X(field, type, env, flag, key, takes, fallback, values, text)                              \
	FLAG_CALL(key, flag, takes, set_knob, text, .def = fallback, .accepted = values),
#include "lib/base/config.def"
#undef X
	FLAG_ROW(0, "--agent", "FILE", "agent to preload instead of the one beside pmctl",
		 FLAG_TYPE_FILE, agent_flag),
	FLAG_BOOL(0, "--append", append,
		  "append to an existing -o FILE instead of keeping FILE.old"),
#ifndef TOOL_WITHOUT_PERF_EVENTS
	FLAG_BOOL(0, "--off-cpu", off_cpu_wanted, "call stacks of waits and how long they lasted"),
#endif
	FLAG_BOOL(0, "--wide", wide, "all columns of the report, however wide the table"),
	FLAG_BOOL('n', NULL, plan_only,
		  "plan of groups, counters and descriptors, without running CMD"),
	OPERAND_COMMAND(cmd),
	FLAG_END,
};

/* The flags are in the environment by now. */
static int check_environment(struct run *run)
{
	struct pmc_config_error error;
	int code = 0;

	if (pmc_config_from_env(environ, &run->config, &error) != 0)
		return refuse(error.variable, error.value, error.accepted);
	if (run->config.report.kind == PMC_REPORT_HTML && !run->config.report.file)
		return refuse("--report", "html", "html=FILE");
	if (run->append && !run->config.out)
		return tool_fail(EXIT_USAGE, "--append needs a dump; add -o FILE");
	if (run->unwind_flag && !run->config.sample.on && !run->config.stacks &&
	    !run->off_cpu_wanted)
		tool_warn("--unwind has no effect: nothing is sampled; add --sample, --off-cpu or "
			  "--stacks on");
	if (run->config.events)
		code = check_events("PMC_EVENTS", run->config.events);
	return code ? code : check_sample("PMC_SAMPLE", &run->config.sample);
}

int run_parse_flags(struct run *run, int argc, char **argv)
{
	int code;

	/* Variables of an enclosing job: this run is a job of its own. */
	if (getenv("PMC_JOB")) {
		unsetenv("PMC_OUT");
		unsetenv("PMC_REPORT");
	}
	unsetenv("PMC_JOB");
	run->cmd = argv + argc;
	code = tool_args_parse(argc, argv, run);
	if (code)
		return code;
	if (!*run->cmd && !run->plan_only)
		return tool_fail(EXIT_USAGE, "no command; pmctl run [flags] -- CMD [ARG...]");
	return check_environment(run);
}
