/* SPDX-License-Identifier: MIT */
/* flags.c - flags and PMC_* variables of `pmctl run`, judged before anything is started. */
#include "agent/core/event/event.h"
#include "tools/cli/pmctl.h"
#include "tools/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A flag and its value, however they were written: -e V, -eV, --events V, --events=V. */
struct argument {
	char name[64];
	const char *value; /* NULL: none attached */
};

static bool split(const char *arg, struct argument *argument)
{
	size_t len = arg[1] == '-' ? strcspn(arg, "=") : 2;

	if (len >= sizeof(argument->name))
		return false;
	memcpy(argument->name, arg, len);
	argument->name[len] = '\0';
	argument->value = NULL;
	if (arg[1] == '-' && arg[len] == '=')
		argument->value = arg + len + 1;
	else if (arg[1] != '-' && arg[len])
		argument->value = arg + len;
	return true;
}

static bool names_knob(const struct pmc_knob *knob, const char *flag)
{
	if (flag[1] == '-')
		return strcmp(knob->flag, flag) == 0;
	return knob->letter && flag[1] == knob->letter;
}

static int check_events(const char *source, const char *text)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events;
	struct pmc_parse_error error = { .code = PMC_PARSE_OK };
	int result = pmc_events_parse(text, NULL, &arena, &events, &error);

	pmc_arena_free(&arena);
	if (result == 0)
		return 0;
	return tool_fail(error.code == PMC_PARSE_NO_MEMORY ? EXIT_OURS : EXIT_USAGE, "%s '%s': %s",
			 source, text, error.text);
}

static int refuse(const char *source, const char *value, const char *accepted)
{
	return tool_fail(EXIT_USAGE, "%s does not take '%s'; it takes %s", source, value, accepted);
}

/* Puts the value where the agent will find it. */
static int set_knob(unsigned knob, const char *flag, const char *value)
{
	struct pmc_config scratch;

	if (!*value || pmc_config_set(&scratch, knob, value) != 0)
		return refuse(flag, value, pmc_knobs[knob].values);
	if (strcmp(pmc_knobs[knob].env, "PMC_EVENTS") == 0) {
		int code = check_events(flag, value);

		if (code)
			return code;
	}
	if (setenv(pmc_knobs[knob].env, value, 1) != 0)
		return tool_fail(EXIT_OURS, "out of memory");
	return 0;
}

static int unknown(const char *flag)
{
	const char *near = tool_nearest_flag("run", flag);

	return tool_fail(EXIT_USAGE, "there is no flag '%s'; %s%s%s", flag,
			 near ? "did you mean '" : "pmctl help run lists them", near ? near : "",
			 near ? "'?" : "");
}

/* One flag at argv[*at]; *at is left at its last word. */
static int take(struct run *run, int argc, char **argv, int *at)
{
	struct argument argument;
	unsigned knob = 0;
	bool is_agent;

	if (!split(argv[*at], &argument))
		return unknown(argv[*at]);
	if (strcmp(argument.name, "-n") == 0 && !argument.value) {
		run->plan_only = true;
		return 0;
	}
	is_agent = strcmp(argument.name, "--agent") == 0;
	while (!is_agent && knob < pmc_n_knobs && !names_knob(&pmc_knobs[knob], argument.name))
		knob++;
	if (!is_agent && knob == pmc_n_knobs)
		return unknown(argument.name);
	if (!argument.value) {
		if (*at + 1 >= argc)
			return tool_fail(EXIT_USAGE, "%s needs a value: %s", argument.name,
					 is_agent ? "a file" : pmc_knobs[knob].values);
		argument.value = argv[++*at];
	}
	if (!is_agent)
		return set_knob(knob, argument.name, argument.value);
	if (!*argument.value || strlen(argument.value) >= sizeof(run->agent))
		return refuse("--agent", argument.value, "a file");
	strcpy(run->agent, argument.value);
	return 0;
}

/* The variables that no flag has overruled. */
static int check_environment(struct run *run)
{
	struct pmc_config_error error;

	if (pmc_config_from_env(environ, &run->config, &error) != 0)
		return refuse(error.variable, error.value, error.accepted);
	if (run->config.events)
		return check_events("PMC_EVENTS", run->config.events);
	return 0;
}

int run_parse_flags(struct run *run, int argc, char **argv)
{
	int i = 1;

	/* Inside another job these two are that job's: where its rows go, and that its
	 * descendants keep quiet. This run is a job of its own. */
	if (getenv("PMC_JOB")) {
		unsetenv("PMC_OUT");
		unsetenv("PMC_REPORT");
	}
	unsetenv("PMC_JOB");
	for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
		int code;

		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		code = take(run, argc, argv, &i);
		if (code)
			return code;
	}
	run->cmd = argv + i;
	if (!*run->cmd && !run->plan_only)
		return tool_fail(
			EXIT_USAGE,
			"which command? pmctl run [flags] -- CMD [ARG...]; see pmctl help run");
	return check_environment(run);
}
