/* SPDX-License-Identifier: MIT */
/* main.c - runs a command, then checks that its output was written; help, from the tables. */
#include "lib/base/arena.h"
#include "lib/base/show.h"
#include "tools/cli/flags.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- help ----------------------------------------------------------------------------------- */

#define LEFT 28 /* columns of a flag and its argument */

static void put_flag(const struct tool_flag *flag)
{
	char left[96], letter[5] = "    ", words[160], text[1024], wrapped[2 * sizeof(text)];
	struct pmc_out out = pmc_out_mem(text, sizeof(text)), lines;
	const int columns = tool_columns(STDOUT_FILENO);
	int n;

	if (!flag->letter && !flag->name)
		return;
	if (flag->letter)
		snprintf(letter, sizeof(letter), "-%c%s", flag->letter, flag->name ? ", " : "");
	n = snprintf(left, sizeof(left), "%s%s%s%s", letter, flag->name ? flag->name : "",
		     flag->argument ? " " : "", flag->argument ? flag->argument : "");
	pmc_outf(&out, "  %s", left);
	if (n >= LEFT) {
		printf("%s\n", text);
		pmc_out_to_mem(&out, text, sizeof(text));
		n = -2;
	}
	pmc_out_pad(&out, ' ', LEFT - n);
	pmc_out_str(&out, flag->help);
	if (flag->words) {
		tool_words_text(flag, true, words, sizeof(words));
		pmc_outf(&out, ": %s", words);
	}
	if (flag->name && strcmp(flag->name, "--report") == 0)
		pmc_out_str(&out, " (default: threads)");
	else if (flag->def)
		pmc_outf(&out, " (default: %s)", flag->def);
	pmc_out_to_mem(&lines, wrapped, sizeof(wrapped));
	pmc_show_indented(&lines, text, columns ? columns : INT_MAX, LEFT + 1);
	fputs(wrapped, stdout);
}

/* Prints the help of a command; false: there is no such command. */
static bool help(const char *command)
{
	const struct tool_command *row = tool_find_command(command);

	if (!row)
		return false;
	printf("Usage: %s %s %s\n\n%s: %s.\n\nFlags:\n", tool_program, row->name, row->synopsis,
	       row->name, row->summary);
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

static void help_all(void)
{
	const char *group = "";
	int width = 0;

	for (unsigned i = 0; i < tool_n_commands; i++)
		if (width < (int)strlen(tool_commands[i].name))
			width = (int)strlen(tool_commands[i].name);
	puts("pmctl: per-thread performance counts for unmodified programs\n\n"
	     "Usage: pmctl COMMAND [ARGUMENTS]");
	for (unsigned i = 0; i < tool_n_commands; i++) {
		if (strcmp(tool_commands[i].group, group) != 0)
			printf("\n%s:\n", tool_commands[i].group);
		group = tool_commands[i].group;
		printf("  %-*s   %s\n", width, tool_commands[i].name, tool_commands[i].summary);
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

const struct tool_flag cmd_help_flags[] = { OPERAND_TEXT("COMMAND", command, .once = "command"),
					    FLAG_END };

int cmd_help(int argc, char **argv)
{
	struct request request = { NULL };
	int code = tool_args_parse(argc, argv, &request);

	if (code)
		return code;
	if (!request.command)
		help_all();
	else if (!help(request.command))
		return tool_refuse_word(NULL, request.command);
	return EXIT_OK;
}

/* ---- commands ------------------------------------------------------------------------------- */

#define X(name, ...) extern const struct tool_flag cmd_##name##_flags[];
#include "tools/cli/commands.def"
#undef X

const struct tool_command tool_commands[] = {
#define X(name, group, synopsis, summary, purpose1, line1, purpose2, line2)                        \
	{ #name,                                                                                   \
	  group,                                                                                   \
	  synopsis,                                                                                \
	  summary,                                                                                 \
	  { { purpose1, line1 }, { purpose2, line2 } },                                            \
	  cmd_##name,                                                                              \
	  cmd_##name##_flags },
#include "tools/cli/commands.def"
#undef X
};
const unsigned tool_n_commands = sizeof(tool_commands) / sizeof(tool_commands[0]);

const int tool_ignored[TOOL_IGNORED] = { SIGPIPE, SIGXFSZ };
struct sigaction tool_ignored_was[TOOL_IGNORED];

void tool_restore_signals(void)
{
	for (unsigned i = 0; i < TOOL_IGNORED; i++)
		sigaction(tool_ignored[i], &tool_ignored_was[i], NULL);
}

/* Files that are opened must not get a closed 0, 1 or 2. The replacement is read-only, so that
 * output to a closed stdout remains an error. */
static void fill_standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

const struct tool_command *tool_find_command(const char *name)
{
	for (unsigned i = 0; i < tool_n_commands; i++)
		if (strcmp(tool_commands[i].name, name) == 0)
			return &tool_commands[i];
	return NULL;
}

static int dispatch(int argc, char **argv)
{
	const struct tool_command *command;

	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		help_all();
		return EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 ||
	    strcmp(argv[1], "version") == 0) {
		printf("pmctl %s\n", PMC_VERSION);
		return EXIT_OK;
	}
	if (strcmp(argv[1], "complete") == 0)
		return cmd_complete(argc - 1, argv + 1);
	command = tool_find_command(argv[1]);
	if (!command)
		return tool_refuse_word(NULL, argv[1]);
	tool_command_name = command->name;
	if (tool_args_scan(argc - 1, argv + 1)) {
		help(command->name);
		return EXIT_OK;
	}
	return command->run(argc - 1, argv + 1);
}

static void out_of_memory(void)
{
	exit(tool_fail(EXIT_FAIL, "out of memory"));
}

void *tool_realloc(void *old, size_t bytes)
{
	void *memory = realloc(old, bytes ? bytes : 1);

	if (!memory)
		out_of_memory();
	return memory;
}

int tool_main(int argc, char **argv)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	int code, failed = 0;

	fill_standard_fds();
	pmc_arena_exhausted = out_of_memory;
	/* Output to a closed pipe, or beyond RLIMIT_FSIZE, is an error: see tool_fail_write(). */
	for (unsigned i = 0; i < TOOL_IGNORED; i++)
		sigaction(tool_ignored[i], &ignore, &tool_ignored_was[i]);
	code = dispatch(argc, argv);
	errno = 0;
	if (fflush(stdout) != 0 || ferror(stdout))
		failed = tool_fail_write("to standard output", errno ? errno : EIO);
	return code ? code : failed;
}
