/* SPDX-License-Identifier: MIT */
/* cmd_help.c - pmctl help [COMMAND]. */
#include "tools/cli/pmctl.h"

#include <string.h>

int cmd_help(int argc, char **argv)
{
	const char *names[64];
	const char *near;
	unsigned n = 0;

	if (tool_wants_help("help", argc, argv))
		return EXIT_OK;
	if (argc < 2) {
		tool_help_all();
		return EXIT_OK;
	}
	if (argc > 2)
		return tool_fail(EXIT_USAGE, "one command at a time: pmctl help %s", argv[1]);
	if (tool_help(argv[1]))
		return EXIT_OK;
	for (; n < tool_n_commands && n < 64; n++)
		names[n] = tool_commands[n].name;
	near = tool_nearest(argv[1], names, n);
	return tool_fail(EXIT_USAGE, "there is no command '%s'; %s%s%s", argv[1],
			 near ? "did you mean '" : "pmctl help lists them", near ? near : "",
			 near ? "'?" : "");
}
