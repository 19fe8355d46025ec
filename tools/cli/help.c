/* SPDX-License-Identifier: MIT */
/* help.c - help, printed from the tables of commands, flags, knobs and examples. */
#include "agent/core/base/config.h"
#include "tools/cli/pmctl.h"

#include <stdio.h>
#include <string.h>

static const struct flag {
	const char *command;
	char letter;
	const char *flag, *argument, *help;
} flags[] = {
#define X(command, letter, flag, argument, help) { #command, letter, flag, argument, help },
#include "tools/cli/flags.def"
#undef X
};

static const struct example {
	const char *command, *what, *line;
} examples[] = {
#define X(command, what, line) { #command, what, line },
#include "tools/cli/examples.def"
#undef X
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LEFT	     28 /* columns of a flag and its argument */

static bool same(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static void put_flag(char letter, const char *flag, const char *argument, const char *help,
		     const char *def)
{
	char left[96];
	int n = 0;

	if (letter)
		n = snprintf(left, sizeof(left), "-%c%s", letter, flag ? ", " : "");
	else
		n = snprintf(left, sizeof(left), "    ");
	n += snprintf(left + n, sizeof(left) - (size_t)n, "%s%s%s", flag ? flag : "",
		      argument ? " " : "", argument ? argument : "");
	if (n < LEFT)
		printf("  %-*s%s", LEFT, left, help);
	else
		printf("  %s\n  %*s%s", left, LEFT, "", help);
	if (def)
		printf(" (default: %s)", def);
	putchar('\n');
}

static void put_flags(const char *command)
{
	puts("\nFlags:");
	if (same(command, "run"))
		for (unsigned i = 0; i < pmc_n_knobs; i++)
			put_flag(pmc_knobs[i].letter, pmc_knobs[i].flag, "VALUE", pmc_knobs[i].help,
				 same(pmc_knobs[i].env, "PMC_REPORT") ? "threads" :
									pmc_knobs[i].def);
	for (unsigned i = 0; i < COUNT(flags); i++)
		if (same(flags[i].command, command))
			put_flag(flags[i].letter, flags[i].flag, flags[i].argument, flags[i].help,
				 NULL);
	put_flag('h', "--help", NULL, "this text", NULL);
	if (same(command, "run"))
		puts("\nEach flag but --agent, -n and -h is also an environment variable "
		     "(libpmcagent(7)).");
}

bool tool_help(const char *command)
{
	const struct tool_command *row = NULL;

	for (unsigned i = 0; i < tool_n_commands; i++)
		if (same(tool_commands[i].name, command))
			row = &tool_commands[i];
	if (!row)
		return false;
	printf("Usage: pmctl %s %s\n\n%s: %s.\n", row->name, row->synopsis, row->name,
	       row->summary);
	put_flags(command);
	puts("\nExamples:");
	for (unsigned i = 0; i < COUNT(examples); i++)
		if (same(examples[i].command, command))
			printf("  # %s\n  %s\n", examples[i].what, examples[i].line);
	return true;
}

void tool_help_all(void)
{
	const char *group = "";

	puts("pmctl counts what every thread of an unmodified program did to the CPU.\n\n"
	     "Usage: pmctl COMMAND [ARGUMENTS]");
	for (unsigned i = 0; i < tool_n_commands; i++) {
		if (!same(tool_commands[i].group, group))
			printf("\n%s:\n", tool_commands[i].group);
		group = tool_commands[i].group;
		printf("  %-10s%s\n", tool_commands[i].name, tool_commands[i].summary);
	}
	puts("\npmctl help COMMAND tells its flags, pmctl --version the version.\n\n"
	     "Examples:\n"
	     "  # Every thread of a program, in a table, when it ends\n"
	     "  pmctl run -- ./app\n"
	     "  # Why there are no hardware counts here\n"
	     "  pmctl doctor");
}

bool tool_wants_help(const char *command, int argc, char **argv)
{
	for (int i = 1; i < argc && !same(argv[i], "--"); i++)
		if (same(argv[i], "--help") || same(argv[i], "-h"))
			return tool_help(command);
	return false;
}

const char *tool_nearest_flag(const char *command, const char *flag)
{
	const char *names[128] = { "--help" };
	unsigned n = 1;

	for (unsigned i = 0; i < COUNT(flags) && n < COUNT(names); i++)
		if (same(flags[i].command, command) && flags[i].flag)
			names[n++] = flags[i].flag;
	for (unsigned i = 0; same(command, "run") && i < pmc_n_knobs && n < COUNT(names); i++)
		names[n++] = pmc_knobs[i].flag;
	return tool_nearest(flag, names, n);
}
