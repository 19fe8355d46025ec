/* SPDX-License-Identifier: MIT */
/* cmd_help.c - pmctl help [COMMAND]. */
#include "tools/cli/flags.h"

struct request {
	const char *command;
};

#define FLAG_OPTIONS struct request

const struct tool_flag cmd_help_flags[] = { OPERAND_TEXT(command, .once = "command"), FLAG_END };

int cmd_help(int argc, char **argv)
{
	struct request request = { NULL };
	int code = tool_args_parse(argc, argv, &request);

	if (code)
		return code;
	if (!request.command)
		tool_help_all();
	else if (!tool_help(request.command))
		return tool_fail_unknown("unknown command", request.command,
					 tool_nearest_command(request.command),
					 "pmctl help lists the commands");
	return EXIT_OK;
}
