/* SPDX-License-Identifier: MIT */
/* flags.c - flags of `pmctl top`. */
#include "agent/core/base/number.h"
#include "tools/cli/pmctl.h"
#include "tools/top/top.h"

#include <limits.h>
#include <string.h>

/* The kernel's tick bounds what shorter intervals could show. */
#define LEAST_INTERVAL_MS 10

static bool is_pid_list(const char *at)
{
	uint64_t pid;

	do
		if (!pmc_number_take(&at, NULL, 10, &pid) || !pid || pid > INT_MAX)
			return false;
	while (*at++ == ',');
	return !at[-1];
}

static int set_pids(struct top_flags *flags, const struct tool_args *args)
{
	if (flags->pids)
		return tool_fail(EXIT_USAGE,
				 "more than one list of processes: '%.60s'; give -p PID,PID",
				 args->value);
	if (is_pid_list(args->value)) {
		flags->pids = args->value;
		return 0;
	}
	return args->flag ? tool_fail_value(args, "process IDs such as 12 or 12,34") :
			    tool_fail(EXIT_USAGE,
				      "invalid process ID '%.60s'; write -- before a command",
				      args->value);
}

static int set_by(struct top_flags *flags, const struct tool_args *args)
{
	static const struct tool_word words[] = {
		{ "thread", TOP_THREAD, NULL },
		{ "pool", TOP_POOL, NULL },
		{ "process", TOP_PROCESS, NULL },
		{ NULL, 0, NULL },
	};
	int word = 0, code = tool_args_word(args, words, &word);

	flags->by = (enum top_by)word;
	return code;
}

static int set_flag(void *to, const struct tool_args *args)
{
	struct top_flags *flags = to;

	if (!args->flag || tool_args_is(args, "--pid"))
		return set_pids(flags, args);
	if (tool_args_is(args, "--all"))
		flags->all = true;
	else if (tool_args_is(args, "--batch"))
		flags->batch = true;
	else if (tool_args_is(args, "--reverse"))
		flags->reverse = true;
	else if (tool_args_is(args, "--command-line"))
		flags->commands = true;
	else if (tool_args_is(args, "--events"))
		flags->events = args->value;
	else if (tool_args_is(args, "--sort"))
		flags->sort = args->value;
	else if (tool_args_is(args, "--filter"))
		flags->filter = args->value;
	else if (tool_args_is(args, "--output"))
		flags->output = args->value;
	else if (tool_args_is(args, "--by"))
		return set_by(flags, args);
	else if (tool_args_is(args, "--interval"))
		return tool_args_time(args, LEAST_INTERVAL_MS, &flags->interval_ns);
	else if (tool_args_is(args, "--count"))
		return tool_args_number(args, 1, UINT64_MAX, &flags->count);
	return 0;
}

static int check(const struct top_flags *flags)
{
	if (flags->all + (flags->pids != NULL) + (flags->cmd != NULL) > 1)
		return tool_fail(EXIT_USAGE, "more than one target; give one of -p PID, -a "
					     "and -- CMD");
	if (!flags->all && !flags->pids && !flags->cmd)
		return tool_fail(EXIT_USAGE, "no target; pmctl top -p PID, -a, or -- CMD [ARG...]");
	if (flags->output && !flags->cmd)
		return tool_fail(EXIT_USAGE, "-o is for the output of a command; add -- CMD");
	if (flags->filter && strlen(flags->filter) >= sizeof(((struct top_look *)0)->filter))
		return tool_fail(EXIT_USAGE, "--filter is longer than 63 bytes");
	return 0;
}

int top_flags(struct top_flags *flags, int argc, char **argv)
{
	int code;

	*flags = (struct top_flags){ .interval_ns = 1000000000u };
	code = tool_args_parse(argc, argv, set_flag, flags, &flags->cmd);
	return code ? code : check(flags);
}
