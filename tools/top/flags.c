/* SPDX-License-Identifier: MIT */
/* flags.c - flags of `pmctl top`. */
#include "tools/cli/flags.h"
#include "tools/top/top.h"

#include <string.h>

#define FLAG_OPTIONS struct top_flags

static const char *const keys[] = {
	[TOP_THREAD] = "thread", [TOP_POOL] = "pool", [TOP_PROCESS] = "process"
};
const struct tool_flag cmd_top_flags[] = {
	FLAG_PROCESSES(pids, "process IDs: 12 or 12,34 (-p is optional for one)"),
	FLAG_MACHINE(all, "all processes of the machine"),
	FLAG_EVENTS(events),
	/* The kernel's tick bounds what shorter intervals could show. */
	FLAG_INTERVAL(interval_ns, 10 * FLAG_MS, "time between two readings (default: 1s)"),
	FLAG_COUNT(count, "end after so many readings"),
	FLAG_SORT('s', sort, "column to sort by (default: cpu)"),
	FLAG_BOOL('r', "--reverse", reverse, "smallest first"),
	FLAG_BY(by, keys),
	FLAG_TOP(top, "number of rows with -b (default: all)"),
	FLAG_WHERE(where, n_where),
	FLAG_COLUMNS(columns),
	FLAG_FORMAT(format, TABLE_FORMATS),
	FLAG_WIDTH(width),
	FLAG_TEXT(0, "--filter", "GLOB", filter, "rows whose name matches, or contains the word"),
	FLAG_BOOL('c', "--command-line", commands, "show the command line of each process"),
	FLAG_BOOL('b', "--batch", batch, "tables as plain text instead of a screen"),
	FLAG_OUTPUT(output, "output of CMD (default: discarded)"),
	OPERAND_PIDS(pids),
	OPERAND_COMMAND(cmd),
	FLAG_END,
};

static int check(const struct top_flags *flags)
{
	if (flags->all + (flags->pids != NULL) + (flags->cmd != NULL) > 1)
		return tool_fail(EXIT_USAGE, "more than one target; give one of -p PID, -a "
					     "and -- CMD");
	if (!flags->all && !flags->pids && !flags->cmd)
		return tool_fail(EXIT_USAGE, "no target; pmctl top -p PID, -a, or -- CMD [ARG...]");
	if ((flags->format != TABLE_PLAIN || flags->width || flags->top) && !flags->batch)
		return tool_fail(EXIT_USAGE, "--format, --top and --width are for -b; add -b");
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
	code = tool_args_parse(argc, argv, flags);
	return code ? code : check(flags);
}
