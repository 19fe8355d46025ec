/* SPDX-License-Identifier: MIT */
/* cmd_help.c - pmctl help [COMMAND]. */
#include "tools/cli/pmctl.h"

#include <stddef.h>

int cmd_help(int argc, char **argv)
{
	const char *command = NULL;
	struct tool_args args;

	tool_args_init(&args, argc, argv);
	while (tool_args_next(&args)) {
		if (command)
			return tool_fail(EXIT_USAGE,
					 "too many arguments; usage: pmctl help [COMMAND]");
		command = args.value;
	}
	if (args.code)
		return args.code;
	if (!command)
		tool_help_all();
	else if (!tool_help(command))
		return tool_fail_unknown("unknown command", command, tool_nearest_command(command),
					 "pmctl help lists the commands");
	return EXIT_OK;
}
