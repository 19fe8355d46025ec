/* SPDX-License-Identifier: MIT */
/* args.h - a command's flags, as rows of flags.def and, for run, of config.def. */
#ifndef PMC_TOOLS_CLI_ARGS_H
#define PMC_TOOLS_CLI_ARGS_H

#include <stdbool.h>

struct tool_flag {
	const char *command;
	const char *name;     /* --flag; NULL: a letter only */
	const char *argument; /* NULL: none */
	const char *help;
	char letter; /* 0: none */
	const struct pmc_knob *knob;
};

/* The command's next flag; *at starts as 0. False: no more. */
bool tool_flag_at(const char *command, unsigned *at, struct tool_flag *flag);

#endif
