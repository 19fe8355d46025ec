/* SPDX-License-Identifier: MIT */
/* flags.c - flags of `pmctl stat`. */
#include "tools/cli/flags.h"
#include "tools/stat/stat.h"

#define FLAG_OPTIONS struct stat_job
#define ROWS	     "kind of rows"
#define PER(key, value, what)                                                                      \
	FLAG_CONSTANT(0, "--per-" key, by, value, "a row for each " what ", for -a", .once = ROWS)

static const char *const keys[] = {
	[BY_THREAD] = "thread", [BY_POOL] = "pool",	[BY_CPU] = "cpu",
	[BY_CORE] = "core",	[BY_SOCKET] = "socket", [BY_NODE] = "node",
};
const struct tool_flag cmd_stat_flags[] = {
	FLAG_PROCESS(pid, "process, its threads, and child processes that start later"),
	FLAG_ID('t', "--tid", "TID", tid, "thread", "thread"),
	FLAG_MACHINE(machine, "the whole machine"),
	FLAG_TEXT(0, "--cgroup", "NAME", cgroup, "a cgroup, by path or by name below its mount",
		  .once = "cgroup"),
	FLAG_EVENTS(events),
	/* The kernel's tick bounds what shorter intervals could show. */
	FLAG_INTERVAL(interval_ns, FLAG_MS, "time between lines (default: one summary)"),
	FLAG_COUNT(count, "number of lines with -I"),
	FLAG_CONSTANT(0, "--per-thread", by, BY_THREAD,
		      "rows of threads, with waits, for -p, without child processes", .once = ROWS),
	PER("cpu", BY_CPU, "CPU"),
	PER("core", BY_CORE, "core"),
	PER("socket", BY_SOCKET, "socket"),
	PER("node", BY_NODE, "memory node"),
	FLAG_BY(by, keys, .once = ROWS),
	FLAG_BOOL(0, "--cumulative", cumulative, "counts since the start in each interval"),
	FLAG_BOOL(0, "--clear", clear, "each interval on a cleared screen"),
	FLAG_SORT(0, sort, "order of the rows (default: as they were found)"),
	FLAG_TOP(top, "number of rows (default: all)"),
	FLAG_WHERE(where, n_where),
	FLAG_COLUMNS(chosen),
	FLAG_FORMAT(format, TABLE_FORMATS),
	FLAG_WIDTH(width),
	FLAG_OUTPUT(output, "output file instead of standard output"),
	OPERAND_NO_NUMBER,
	OPERAND_COMMAND(cmd),
	FLAG_END,
};

static int check(const struct stat_job *stat)
{
	if (!!stat->pid + !!stat->tid + stat->machine + !!stat->cgroup > 1)
		return tool_fail(EXIT_USAGE, "more than one target; give one of -p, -t, -a and "
					     "--cgroup");
	if (stat->target == STAT_COMMAND && !stat->cmd)
		return tool_fail(EXIT_USAGE, "no target; pmctl stat -- CMD [ARG...], -p PID, "
					     "-t TID, -a, or --cgroup NAME");
	if ((stat->count || stat->cumulative || stat->clear) && !stat->interval_ns)
		return tool_fail(EXIT_USAGE, "-n, --cumulative and --clear need an interval; "
					     "give -I TIME");
	if ((stat->sort || stat->top || stat->n_where) && stat->by == BY_TOTAL && !stat->tid)
		return tool_fail(EXIT_USAGE, "--sort, --top and --where are for rows; add --by");
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
	int code = tool_args_parse(argc, argv, stat);

	if (code)
		return code;
	stat->target = stat->pid		     ? STAT_PROCESS :
		       stat->tid		     ? STAT_THREAD :
		       stat->machine || stat->cgroup ? STAT_MACHINE :
						       STAT_COMMAND;
	if (stat->tid)
		stat->by = BY_THREAD;
	code = check(stat);
	if (stat->tid)
		stat->pid = stat->tid;
	/* A command goes on after its first interval. */
	if (stat->count == 1 && stat->target != STAT_COMMAND) {
		stat->duration_ns = stat->interval_ns;
		stat->interval_ns = 0;
	}
	return code;
}
