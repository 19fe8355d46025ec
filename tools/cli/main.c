/* SPDX-License-Identifier: MIT */
/* main.c - runs a command, then checks that its output was written. */
#include "lib/base/arena.h"
#include "tools/cli/flags.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
	for (;;) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return;
		if (fd > 2) {
			close(fd);
			return;
		}
	}
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
		tool_help_all();
		return EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 ||
	    strcmp(argv[1], "version") == 0) {
		printf("pmctl %s\n", PMC_VERSION);
		return EXIT_OK;
	}
	command = tool_find_command(argv[1]);
	if (!command)
		return tool_refuse_word(NULL, argv[1]);
	tool_command_name = command->name;
	if (tool_args_scan(argc - 1, argv + 1)) {
		tool_help(command->name);
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
