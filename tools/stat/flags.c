/* SPDX-License-Identifier: MIT */
/* flags.c - flags of `pmctl stat`. */
#include "agent/core/base/config.h"
#include "agent/core/base/number.h"
#include "tools/cli/pmctl.h"
#include "tools/stat/stat.h"

#include <limits.h>
#include <string.h>

/* The kernel's tick bounds what shorter intervals could show. */
#define LEAST_INTERVAL_NS 1000000u

static int refuse(const struct tool_args *args, const char *accepted)
{
	return tool_fail(EXIT_USAGE, "invalid %s '%.60s'; give %s", args->flag, args->value,
			 accepted);
}

static int set_target(struct stat_job *stat, const struct tool_args *args, enum stat_target target)
{
	uint64_t pid = 0;

	if (stat->target != STAT_COMMAND)
		return tool_fail(EXIT_USAGE, "more than one target; give one of -p, -t, -a and "
					     "--cgroup");
	stat->target = target;
	if (target != STAT_MACHINE && (!pmc_number(args->value, INT_MAX, &pid) || !pid))
		return refuse(args, "a process or thread ID");
	stat->pid = (pid_t)pid;
	return 0;
}

static int set_format(struct stat_job *stat, const char *word)
{
	static const char *const formats[] = { "table", "json", "csv" };

	for (unsigned i = 0; i < 3; i++) {
		if (!strcmp(word, formats[i])) {
			stat->format = (enum stat_format)i;
			return 0;
		}
	}
	return tool_fail_unknown("invalid --format", word, tool_nearest(word, formats, 3),
				 "one of table, json, csv");
}

static int set_by(struct stat_job *stat, const char *flag)
{
	static const char *const flags[] = { "--per-thread", "--per-cpu", "--per-core",
					     "--per-socket", "--per-node" };

	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (strcmp(flag, flags[i]) != 0)
			continue;
		if (stat->by != BY_TOTAL)
			return tool_fail(EXIT_USAGE, "more than one kind of rows; give one --per "
						     "flag");
		stat->by = i ? (enum stat_by)(BY_CPU + i - 1) : BY_THREAD;
	}
	return 0;
}

/* As the --per flags. */
static int set_key(struct stat_job *stat, const struct tool_args *args)
{
	static const char *const keys[] = { "thread", "pool", "cpu", "core", "socket", "node" };

	if (stat->by != BY_TOTAL)
		return tool_fail(EXIT_USAGE,
				 "more than one kind of rows; give one --per flag or --by");
	for (unsigned i = 0; i < 6; i++)
		if (!strcmp(args->value, keys[i]))
			stat->by = (enum stat_by)(BY_THREAD + i);
	return stat->by != BY_TOTAL ?
		       0 :
		       tool_fail_unknown("invalid --by", args->value,
					 tool_nearest(args->value, keys, 6),
					 "one of thread, pool, cpu, core, socket, node");
}

static int set_flag(struct stat_job *stat, const struct tool_args *args)
{
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
	if (tool_args_is(args, "--by"))
		return set_key(stat, args);
	if (tool_args_is(args, "--format"))
		return set_format(stat, args->value);
	if (tool_args_is(args, "--events"))
		stat->events = args->value;
	else if (tool_args_is(args, "-o"))
		stat->output = args->value;
	else if (tool_args_is(args, "--cumulative"))
		stat->cumulative = true;
	else if (tool_args_is(args, "--clear"))
		stat->clear = true;
	else if (tool_args_is(args, "--interval") &&
		 (pmc_config_time(args->value, &stat->interval_ns) != 0 ||
		  stat->interval_ns < LEAST_INTERVAL_NS))
		return refuse(args, "a time of at least 1ms, such as 100ms or 1s");
	else if (tool_args_is(args, "--count") &&
		 (!pmc_number(args->value, UINT64_MAX, &stat->count) || !stat->count))
		return refuse(args, "a number from 1");
	return set_by(stat, args->flag);
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
	struct tool_args args;
	int code = 0;

	tool_args_init(&args, argc, argv);
	while (!code && tool_args_next(&args)) {
		if (args.flag) {
			code = set_flag(stat, &args);
		} else if (tool_args_are_command(&args)) {
			stat->cmd = argv + args.at - 1;
			break;
		} else {
			code = tool_fail(
				EXIT_USAGE,
				"unexpected argument '%.60s'; give -p %.60s for a process, "
				"or write -- before a command",
				args.value, args.value);
		}
	}
	if (code || args.code)
		return code ? code : args.code;
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
