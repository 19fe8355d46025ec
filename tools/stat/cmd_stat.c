/* SPDX-License-Identifier: MIT */
/* cmd_stat.c - pmctl stat: counts of a command, a process, a thread, or the machine over time. */
#include "tools/stat/stat.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#define FLAG_OPTIONS struct stat_job
#define ROWS	     "kind of rows"
#define PER(key, value, what)                                                                      \
	FLAG_CONSTANT(0, "--per-" key, by, value, "a row for each " what ", for -a", .once = ROWS)

static const char *const keys[] = {
	[BY_THREAD] = "thread", [BY_POOL] = "pool",	[BY_CPU] = "cpu",
	[BY_CORE] = "core",	[BY_SOCKET] = "socket", [BY_NODE] = "node",
};
static const struct table_column columns[] = {
#define X(field, title, ...) { .name = #field, .head = title },
#include "tools/stat/columns.def"
#undef X
};
const struct tool_flag cmd_stat_flags[] = {
	FLAG_PROCESSES(pids, "processes and their later children, not running ones: 12,34"),
	FLAG_NAMED(name, "processes whose program has that name, as -p"),
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
	FLAG_ROW(0, "--prometheus", "FILE",
		 "a text file for Prometheus, replaced each interval (default: 15s)",
		 FLAG_TYPE_FILE, prometheus),
	FLAG_BOOL(0, "--clear", clear, "each interval on a cleared screen"),
	FLAG_SORT(0, output.choice.sort, "order of the rows (default: as they were found)"),
	FLAG_TOP(output.choice.top, "number of rows (default: all)"),
	FLAG_ROWS_CHOICE(output, columns, .counts = true),
	FLAG_FORMAT(output.format, TABLE_FORMATS),
	FLAG_ROWS_OUTPUT(output),
	OPERAND_NO_NUMBER,
	OPERAND_COMMAND(cmd),
	FLAG_END,
};

static int check(const struct stat_job *stat)
{
	const struct table_choice *choice = &stat->output.choice;

	if (!!stat->pids + !!stat->name + !!stat->tid + stat->machine + !!stat->cgroup > 1)
		return tool_fail(EXIT_USAGE, "more than one target; give one of -p, --name, -t, "
					     "-a and --cgroup");
	if (stat->target == STAT_COMMAND && !stat->cmd)
		return tool_fail(EXIT_USAGE, "no target; pmctl stat -- CMD [ARG...], -p PID, "
					     "--name GLOB, -t TID, -a, or --cgroup NAME");
	if (stat->prometheus &&
	    (choice->sort || choice->top || choice->n_where || choice->columns || stat->clear ||
	     stat->output.output || stat->output.format || stat->output.width))
		return tool_fail(EXIT_USAGE,
				 "--prometheus cannot be combined with flags of rows or output; "
				 "use it with -e, -I, -n and --by");
	if ((stat->count || stat->cumulative || stat->clear) && !stat->interval_ns)
		return tool_fail(EXIT_USAGE, "-n, --cumulative and --clear need an interval; "
					     "give -I TIME");
	if ((choice->sort || choice->top || choice->n_where) && stat->by == BY_TOTAL && !stat->tid)
		return tool_fail(EXIT_USAGE, "--sort, --top and --where are for rows; add --by");
	if (stat->by >= BY_CPU && stat->target != STAT_MACHINE)
		return tool_fail(EXIT_USAGE, "rows of CPUs are for -a and --cgroup; add -a");
	if (stat_has_waits(stat) && stat->target != STAT_PROCESS && stat->target != STAT_THREAD)
		return tool_fail(EXIT_USAGE,
				 "rows of threads are for -p PID; pmctl run -- CMD counts "
				 "each thread of a command");
	return 0;
}

static int parse(struct stat_job *stat, int argc, char **argv)
{
	int code = tool_args_parse(argc, argv, stat);

	if (code)
		return code;
	stat->target = stat->pids || stat->name	     ? STAT_PROCESS :
		       stat->tid		     ? STAT_THREAD :
		       stat->machine || stat->cgroup ? STAT_MACHINE :
						       STAT_COMMAND;
	if (stat->tid)
		stat->by = BY_THREAD;
	if (stat->prometheus && !stat->interval_ns)
		stat->interval_ns = 15000000000u;
	if (stat->prometheus && stat->target == STAT_PROCESS && stat->by == BY_TOTAL)
		stat->by = BY_POOL;
	code = check(stat);
	if (!code && stat->cmd && stat->output.output)
		code = tool_check_command(stat->cmd[0]);
	/* A command goes on after its first interval. */
	if (stat->count == 1 && stat->target != STAT_COMMAND && !stat->prometheus) {
		stat->duration_ns = stat->interval_ns;
		stat->interval_ns = 0;
	}
	/* The command's own output is on the standard output. */
	if (tool_rows_is_table(&stat->output) && stat->cmd && !stat->output.output)
		stat->output.output = "/dev/stderr";
	return code;
}

#define SWITCHES "context-switches,cpu-migrations,page-faults"

static int plan(struct stat_job *stat)
{
	const char *text = stat->events			? stat->events :
			   stat->target == STAT_MACHINE ? "cpu-clock," SWITCHES "," LIVE_HARDWARE :
							  "task-clock," SWITCHES "," LIVE_HARDWARE;
	struct live_events *live = &stat->live;
	int code = live_events_plan(live, text, !stat->events, stat->target == STAT_MACHINE,
				    &stat->arena);

	/* Events of the OS: of rows of threads, and of a command that has ended. */
	if (code || live_events_any(live, false) || stat_has_waits(stat) ||
	    (stat->target == STAT_COMMAND && live->plan.os & ~(1u << PMC_OS_RUN_DELAY)))
		return code;
	if (live->view.count && live->view.events[0].def.type == PMC_TYPE_OS)
		return tool_fail(EXIT_USAGE, "%s is counted for threads only; %s",
				 live->view.events[0].name,
				 stat->target == STAT_PROCESS ? "add --per-thread or --by pool" :
				 stat->cmd ? "pmctl run -e counts each thread of a command" :
					     "give -p PID --per-thread");
	return live_events_fail(live, text, stat->cmd ? EXIT_OURS : EXIT_FAIL);
}

static void warn(const struct stat_job *stat)
{
	if (stat->unsettled)
		tool_warn("threads were started during each of %u attempts to attach: some may be "
			  "counted in part",
			  stat->restarts);
	if (stat->lacks_ns)
		tool_warn("%.3f s of the command's CPU time were not counted, counts are lower "
			  "bounds (+): a program that runs as another user (setuid) ends the "
			  "counting at its exec; run pmctl stat as that user, or pmctl stat -a",
			  (double)stat->lacks_ns / 1e9);
	if (stat->running)
		tool_warn("child processes that ran already are not counted: %u; -p with their "
			  "IDs, --name and --cgroup count them, pmctl top -p %d shows them",
			  stat->running, stat->pid);
	if (stat->children)
		tool_warn("child processes of %d are not counted: rows are of its own threads; "
			  "pmctl top -p %d shows children, pmctl stat --cgroup counts them",
			  stat->pid, stat->pid);
	if (stat->unread_ns && !stat->prometheus)
		tool_warn("the process ended %llu ms after its last reading: threads that started "
			  "and %s of the others in that time are missing",
			  (unsigned long long)(stat->unread_ns / 1000000u + 1),
			  stat->clock == UINT_MAX ? "times, waits and switches" :
						    "waits and switches");
	if (stat->error)
		tool_warn("some threads or CPUs are not counted: %s", strerror(-stat->error));
}

int cmd_stat(int argc, char **argv)
{
	static struct stat_job stat = { .clock = UINT_MAX, .output.streams = true };
	int code = parse(&stat, argc, argv);

	if (!code)
		code = plan(&stat);
	if (!code)
		code = stat_columns(&stat);
	if (!code)
		code = stat.prometheus ? stat_prometheus_open(&stat) : tool_rows_open(&stat.output);
	if (!code)
		code = stat_run(&stat);
	stat_close(&stat);
	/* After a failure nothing is counted: see stat_prometheus_end(). */
	if (code && stat.exposition)
		unlink(stat.prometheus);
	if (!code) {
		warn(&stat);
		code = stat.prometheus ? 0 : tool_rows_close(&stat.output);
	}
	/* Also of a command that gives the duration, unless it was ended. */
	if (!code && stat.cmd && (stat.target == STAT_COMMAND || !stat.child.pid))
		code = tool_end_as(stat.child.status);
	pmc_arena_free(&stat.arenas[0]);
	pmc_arena_free(&stat.arenas[1]);
	pmc_arena_free(&stat.arena);
	return code;
}
