/* SPDX-License-Identifier: MIT */
/* flags.c - flags of `pmctl stat`. */
#include "agent/core/base/number.h"
#include "tools/cli/pmctl.h"
#include "tools/stat/stat.h"

#include <limits.h>
#include <string.h>

/* The kernel's tick bounds what shorter intervals could show. */
#define LEAST_INTERVAL_MS 1

static int set_target(struct stat_job *stat, const struct tool_args *args, enum stat_target target)
{
	uint64_t pid = 0;

	if (stat->target != STAT_COMMAND)
		return tool_fail(EXIT_USAGE, "more than one target; give one of -p, -t, -a and "
					     "--cgroup");
	stat->target = target;
	if (target != STAT_MACHINE && (!pmc_number(args->value, INT_MAX, &pid) || !pid))
		return tool_fail_value(args, "a process or thread ID");
	stat->pid = (pid_t)pid;
	return 0;
}

static int set_format(struct stat_job *stat, const struct tool_args *args)
{
	static const struct tool_word formats[] = {
		{ "table", STAT_TABLE, NULL },
		{ "json", STAT_JSON, NULL },
		{ "csv", STAT_CSV, NULL },
		{ NULL, 0, NULL },
	};
	int word = 0, code = tool_args_word(args, formats, &word);

	stat->format = (enum stat_format)word;
	return code;
}

/* --by KEY, or --per-KEY */
static int set_by(struct stat_job *stat, const struct tool_args *args)
{
	static const struct tool_word keys[] = {
		{ "thread", BY_THREAD, NULL },
		{ "pool", BY_POOL, NULL },
		{ "cpu", BY_CPU, NULL },
		{ "core", BY_CORE, NULL },
		{ "socket", BY_SOCKET, NULL },
		{ "node", BY_NODE, NULL },
		{ NULL, 0, NULL },
	};
	struct tool_args by = *args;
	int word = 0, code;

	if (strncmp(args->flag, "--per-", 6) == 0)
		by.value = args->flag + 6;
	if (stat->by != BY_TOTAL)
		return tool_fail(EXIT_USAGE,
				 "more than one kind of rows; give one --per flag or --by");
	code = tool_args_word(&by, keys, &word);
	stat->by = (enum stat_by)word;
	return code;
}

static int set_flag(void *to, const struct tool_args *args)
{
	struct stat_job *stat = to;

	if (!args->flag)
		return tool_fail_operand(args);
	if (tool_args_is(args, "--pid"))
		return set_target(stat, args, STAT_PROCESS);
	if (tool_args_is(args, "--tid"))
		return set_target(stat, args, STAT_THREAD);
	if (tool_args_is(args, "--all-cpus"))
		return set_target(stat, args, STAT_MACHINE);
	if (tool_args_is(args, "--cgroup")) {
		stat->cgroup = args->value;
		return set_target(stat, args, STAT_MACHINE);
	}
	if (tool_args_is(args, "--format"))
		return set_format(stat, args);
	if (tool_args_is(args, "--events"))
		stat->events = args->value;
	else if (tool_args_is(args, "-o"))
		stat->output = args->value;
	else if (tool_args_is(args, "--cumulative"))
		stat->cumulative = true;
	else if (tool_args_is(args, "--clear"))
		stat->clear = true;
	else if (tool_args_is(args, "--interval"))
		return tool_args_time(args, LEAST_INTERVAL_MS, &stat->interval_ns);
	else if (tool_args_is(args, "--count"))
		return tool_args_number(args, 1, UINT64_MAX, &stat->count);
	else if (tool_args_is(args, "--by") || strncmp(args->flag, "--per-", 6) == 0)
		return set_by(stat, args);
	return 0;
}

static int check(const struct stat_job *stat)
{
	if (stat->target == STAT_COMMAND && !stat->cmd)
		return tool_fail(EXIT_USAGE, "no target; pmctl stat -- CMD [ARG...], -p PID, "
					     "-t TID, -a, or --cgroup NAME");
	if ((stat->count || stat->cumulative || stat->clear) && !stat->interval_ns)
		return tool_fail(EXIT_USAGE, "-n, --cumulative and --clear need an interval; "
					     "give -I TIME");
	if (stat->by >= BY_CPU && stat->target != STAT_MACHINE)
		return tool_fail(EXIT_USAGE, "rows of CPUs are for -a and --cgroup; add -a");
	if (stat_has_waits(stat) && stat->target == STAT_COMMAND)
		return tool_fail(EXIT_USAGE,
				 "rows of threads are for -p PID; pmctl run -- CMD counts "
				 "each thread of a command");
	if (stat_has_waits(stat) && stat->target == STAT_MACHINE)
		return tool_fail(EXIT_USAGE,
				 "rows of threads are for -p PID; give -p instead of -a");
	return 0;
}

int stat_flags(struct stat_job *stat, int argc, char **argv)
{
	int code = tool_args_parse(argc, argv, set_flag, stat, &stat->cmd);

	if (code)
		return code;
	if (stat->target == STAT_THREAD)
		stat->by = BY_THREAD;
	code = check(stat);
	/* A command goes on after its first interval. */
	if (stat->count == 1 && stat->target != STAT_COMMAND) {
		stat->duration_ns = stat->interval_ns;
		stat->interval_ns = 0;
	}
	return code;
}
