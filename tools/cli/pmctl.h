/* SPDX-License-Identifier: MIT */
/* pmctl.h - what the commands of pmctl share: entry points, exit codes, errors, help. */
#ifndef PMC_TOOLS_CLI_PMCTL_H
#define PMC_TOOLS_CLI_PMCTL_H

#include <signal.h>
#include <stdbool.h>

/* 125 to 127 as env(1) has them; only commands that start a program use them. */
enum { EXIT_OK = 0, EXIT_FAIL = 1, EXIT_USAGE = 2, EXIT_OURS = 125, EXIT_CANNOT_RUN, EXIT_NO_CMD };

/* argv[0] is the command's name. Returns the exit code. */
#define X(name, group, synopsis, summary) int cmd_##name(int argc, char **argv);
#include "tools/cli/commands.def"
#undef X

/* Set once a command knows its --format: errors are then JSON objects on stderr. */
extern bool tool_json_errors;

/* One line on stderr: "pmctl <command>: text". Returns `code`, so that `return tool_fail(...)`.
 * Control characters come out as '?': names of files and programs are not to be trusted. */
int tool_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tool_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Whether argv asks for --help or -h before any "--"; prints it if so. */
bool tool_wants_help(const char *command, int argc, char **argv);

/* The nearest of n names to `word` (edit distance), or NULL if none is near. */
const char *tool_nearest(const char *word, const char *const *names, unsigned n);

struct tool_command {
	const char *name, *group, *synopsis, *summary;
	int (*run)(int argc, char **argv);
};
extern const struct tool_command tool_commands[];
extern const unsigned tool_n_commands;

/* Which command speaks in tool_fail and tool_warn; NULL: pmctl itself. */
extern const char *tool_command_name;
/* How SIGPIPE stood when pmctl was started: a program we start gets it back. */
extern struct sigaction tool_sigpipe_was;

/* All of pmctl but main(): dispatch, and the check that what was printed has gone out. */
int tool_main(int argc, char **argv);
/* The list of commands, or the help of one, on stdout. False: there is no such command. */
void tool_help_all(void);
bool tool_help(const char *command);
/* The nearest flag of a command to a mistyped one, or NULL. */
const char *tool_nearest_flag(const char *command, const char *flag);

#endif
