/* SPDX-License-Identifier: MIT */
/* cmd_stat.c - pmctl stat on macOS: flags and output. */
#include "tools/cli/flags.h"
#include "tools/stat/mac_stat.h"

#include <unistd.h>

#define FLAG_OPTIONS struct mac_stat

const struct tool_flag cmd_stat_flags[] = {
	FLAG_PROCESS(pid, "process"),
	FLAG_INTERVAL(interval_ns, FLAG_MS, "time between lines (default: one summary)"),
	FLAG_COUNT(count, "number of lines with -I"),
	FLAG_FORMAT(json, "table", "json"),
	FLAG_OUTPUT(output, "output file instead of standard output"),
	OPERAND_NO_NUMBER,
	OPERAND_COMMAND(cmd),
	FLAG_END,
};

static int parse(struct mac_stat *stat, int argc, char **argv)
{
	int code = tool_args_parse(argc, argv, stat);

	if (code)
		return code;
	if (!stat->cmd == !stat->pid)
		return tool_fail(EXIT_USAGE, "%s; pmctl stat -- CMD [ARG...], or -p PID",
				 stat->cmd ? "more than one target" : "no target");
	if (stat->count && !stat->interval_ns)
		return tool_fail(EXIT_USAGE, "-n needs an interval; give -I TIME");
	return 0;
}

int cmd_stat(int argc, char **argv)
{
	static char room[8192];
	struct mac_stat stat = { .cmd = NULL };
	int code = parse(&stat, argc, argv), fd;

	if (code)
		return code;
	/* The command's own output is on the standard output. */
	fd = stat.cmd && !stat.json ? STDERR_FILENO : STDOUT_FILENO;
	if (stat.output)
		fd = tool_open_output(stat.output, EXIT_FAIL);
	if (fd < 0)
		return -fd;
	pmc_out_to_fd(&stat.out, fd, room, sizeof(room));
	code = mac_stat_run(&stat);
	if (!code && stat.out.error)
		code = tool_fail_write("the output", -stat.out.error);
	return !code && stat.cmd ? tool_end_as(stat.status) : code;
}
