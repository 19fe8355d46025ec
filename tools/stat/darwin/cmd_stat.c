/* SPDX-License-Identifier: MIT */
/* cmd_stat.c - pmctl stat on macOS: flags and output. */
#include "agent/core/base/config.h"
#include "agent/core/base/file.h"
#include "agent/core/base/number.h"
#include "agent/core/count/thread_counts.h"
#include "tools/cli/child.h"
#include "tools/cli/pmctl.h"
#include "tools/stat/mac_stat.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

static int set_flag(struct mac_stat *stat, const struct tool_args *args, const char **output)
{
	uint64_t pid;

	if (tool_args_is(args, "-o")) {
		*output = args->value;
	} else if (tool_args_is(args, "--pid")) {
		if (!pmc_number(args->value, INT_MAX, &pid) || !pid)
			return tool_fail(EXIT_USAGE, "invalid --pid '%.60s'; give a process ID",
					 args->value);
		stat->pid = (pid_t)pid;
	} else if (tool_args_is(args, "--interval")) {
		if (pmc_config_time(args->value, &stat->interval_ns) != 0 ||
		    stat->interval_ns < 1000000)
			return tool_fail(EXIT_USAGE,
					 "invalid --interval '%.60s'; give a time of at least 1ms, "
					 "such as 100ms or 1s",
					 args->value);
	} else if (tool_args_is(args, "--count")) {
		if (!pmc_number(args->value, UINT64_MAX, &stat->count) || !stat->count)
			return tool_fail(EXIT_USAGE,
					 "invalid --count '%.60s'; give a number from 1",
					 args->value);
	} else if (tool_args_is(args, "--format")) {
		stat->json = strcmp(args->value, "json") == 0;
		if (!stat->json && strcmp(args->value, "table") != 0)
			return tool_fail(EXIT_USAGE,
					 "invalid --format '%.60s'; give table or json on macOS",
					 args->value);
	} else {
		return tool_fail(EXIT_USAGE,
				 "%s is not available on macOS: stat has cycles, instructions and "
				 "CPU time of one process; pmctl run counts other events",
				 args->flag);
	}
	return 0;
}

static int parse(struct mac_stat *stat, int argc, char **argv, const char **output)
{
	struct tool_args args;
	int code = 0;

	tool_args_init(&args, argc, argv);
	while (!code && tool_args_next(&args)) {
		if (args.flag) {
			code = set_flag(stat, &args, output);
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
	struct mac_stat stat = { .calls = &pmc_mac_system };
	const char *output = NULL;
	int code = parse(&stat, argc, argv, &output), fd;

	if (code)
		return code;
	/* The command's own output is on the standard output. */
	fd = stat.cmd && !stat.json ? STDERR_FILENO : STDOUT_FILENO;
	if (output) {
		fd = tool_open_report(output);
		if (fd < 0)
			return tool_fail(EXIT_FAIL, "cannot write %s: %s", output,
					 tool_dump_open_error(-fd));
		pmc_file_empty(fd);
	}
	pmc_out_to_fd(&stat.out, fd, room, sizeof(room));
	code = mac_stat_run(&stat);
	if (!code && stat.out.error)
		code = tool_fail_write("the output", -stat.out.error);
	return !code && stat.cmd ? tool_end_as(stat.status) : code;
}
