/* SPDX-License-Identifier: MIT */
/* help.c - pmctl help, and --help: printed from the tables of commands and flags. */
#include "tools/cli/flags.h"

#include <stdio.h>
#include <string.h>

#define LEFT 28 /* columns of a flag and its argument */

static void put_flag(const struct tool_flag *flag)
{
	char left[96], letter[5] = "    ", words[160];
	int n;

	if (!flag->letter && !flag->name)
		return;
	if (flag->letter)
		snprintf(letter, sizeof(letter), "-%c%s", flag->letter, flag->name ? ", " : "");
	n = snprintf(left, sizeof(left), "%s%s%s%s", letter, flag->name ? flag->name : "",
		     flag->argument ? " " : "", flag->argument ? flag->argument : "");
	if (n < LEFT)
		printf("  %-*s%s", LEFT, left, flag->help);
	else
		printf("  %s\n  %*s%s", left, LEFT, "", flag->help);
	if (flag->words) {
		tool_words_text(flag, true, words, sizeof(words));
		printf(": %s", words);
	}
	if (flag->name && strcmp(flag->name, "--report") == 0)
		printf(" (default: threads)");
	else if (flag->def)
		printf(" (default: %s)", flag->def);
	putchar('\n');
}

bool tool_help(const char *command)
{
	const struct tool_command *row = tool_find_command(command);

	if (!row)
		return false;
	printf("Usage: pmctl %s %s\n\n%s: %s.\n\nFlags:\n", row->name, row->synopsis, row->name,
	       row->summary);
	for (const struct tool_flag *flag = row->flags; flag; flag = tool_flag_next(flag))
		put_flag(flag);
	if (strcmp(command, "run") == 0)
		puts("\nEach flag before --agent is also an environment variable, see "
		     "libpmcagent(7).");
	puts("\nExamples:");
	for (unsigned i = 0; i < 2; i++)
		printf("  # %s\n  %s\n", row->examples[i].purpose, row->examples[i].line);
	return true;
}

void tool_help_all(void)
{
	const char *group = "";

	puts("pmctl: per-thread performance counts for unmodified programs\n\n"
	     "Usage: pmctl COMMAND [ARGUMENTS]");
	for (unsigned i = 0; i < tool_n_commands; i++) {
		if (strcmp(tool_commands[i].group, group) != 0)
			printf("\n%s:\n", tool_commands[i].group);
		group = tool_commands[i].group;
		printf("  %-10s%s\n", tool_commands[i].name, tool_commands[i].summary);
	}
	puts("\npmctl help COMMAND shows a command's flags, pmctl --version the version.\n\n"
	     "Examples:\n"
	     "  # A table of every thread when a program ends\n"
	     "  pmctl run -- ./app\n"
	     "  # Why there are no hardware counts here\n"
	     "  pmctl doctor");
}

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
		return tool_refuse_word(NULL, request.command);
	return EXIT_OK;
}
