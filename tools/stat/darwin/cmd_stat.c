/* SPDX-License-Identifier: MIT */
/* cmd_stat.c - pmctl stat on macOS: flags and output. */
#include "agent/core/base/number.h"
#include "agent/core/count/thread_counts.h"
#include "tools/cli/child.h"
#include "tools/cli/pmctl.h"
#include "tools/stat/mac_stat.h"

#include <limits.h>
#include <unistd.h>

struct request {
	struct mac_stat stat;
	const char *output;
};

static int set_flag(void *to, const struct tool_args *args)
{
	static const struct tool_word formats[] = {
		{ "table", false, NULL },
		{ "json", true, NULL },
		{ NULL, 0, NULL },
	};
	struct request *request = to;
	struct mac_stat *stat = &request->stat;
	uint64_t pid = 0;
	int json = 0, code;

	if (!args->flag)
		return tool_fail_operand(args);
	if (tool_args_is(args, "-o")) {
		request->output = args->value;
	} else if (tool_args_is(args, "--pid")) {
		if (!pmc_number(args->value, INT_MAX, &pid) || !pid)
			return tool_fail_value(args, "a process ID");
		stat->pid = (pid_t)pid;
	} else if (tool_args_is(args, "--interval")) {
		return tool_args_time(args, 1, &stat->interval_ns);
	} else if (tool_args_is(args, "--count")) {
		return tool_args_number(args, 1, UINT64_MAX, &stat->count);
	} else if (tool_args_is(args, "--format")) {
		code = tool_args_word(args, formats, &json);
		stat->json = json;
		return code;
	} else {
		return tool_fail(EXIT_USAGE,
				 "%s is not available on macOS: stat has cycles, instructions and "
				 "CPU time of one process; pmctl run counts other events",
				 args->flag);
	}
	return 0;
}

static int parse(struct request *request, int argc, char **argv)
{
	struct mac_stat *stat = &request->stat;
	int code = tool_args_parse(argc, argv, set_flag, request, &stat->cmd);

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
	struct request request = { .stat = { .calls = &pmc_mac_system } };
	struct mac_stat *stat = &request.stat;
	int code = parse(&request, argc, argv), fd;

	if (code)
		return code;
	/* The command's own output is on the standard output. */
	fd = stat->cmd && !stat->json ? STDERR_FILENO : STDOUT_FILENO;
	if (request.output)
		fd = tool_open_output(request.output, EXIT_FAIL);
	if (fd < 0)
		return -fd;
	pmc_out_to_fd(&stat->out, fd, room, sizeof(room));
	code = mac_stat_run(stat);
	if (!code && stat->out.error)
		code = tool_fail_write("the output", -stat->out.error);
	return !code && stat->cmd ? tool_end_as(stat->status) : code;
}
