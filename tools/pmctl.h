/* SPDX-License-Identifier: MIT */
/* pmctl.h - what the commands of pmctl share: entry points, exit codes, errors. */
#ifndef PMC_TOOLS_PMCTL_H
#define PMC_TOOLS_PMCTL_H

#include <stdbool.h>

enum { EXIT_OK = 0, EXIT_FAIL = 1, EXIT_USAGE = 2 };

/* argv[0] is the command's name. Returns the exit code. */
#define X(name, group, synopsis, summary) int cmd_##name(int argc, char **argv);
#include "tools/commands.def"
#undef X

/* Set once a command knows its --format: errors are then JSON objects on stderr. */
extern bool tool_json_errors;

/* One line on stderr: "pmctl <command>: text". Returns `code`, so that `return tool_fail(...)`. */
int tool_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tool_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Whether argv asks for --help or -h before any "--"; prints it if so. */
bool tool_wants_help(const char *command, int argc, char **argv);

/* The nearest of n names to `word` (edit distance), or NULL if none is near. */
const char *tool_nearest(const char *word, const char *const *names, unsigned n);

#endif
