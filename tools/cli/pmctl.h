/* SPDX-License-Identifier: MIT */
/* pmctl.h - common parts of pmctl's commands: entry points, exit codes, errors, output, help. */
#pragma once

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* 125 to 127 as in env(1), for run: until CMD has started it fails with 125, not 1. */
enum { EXIT_OK = 0, EXIT_FAIL = 1, EXIT_USAGE = 2, EXIT_OURS = 125, EXIT_CANNOT_RUN, EXIT_NO_CMD };

/* The commands. argv[0] is the command's name; the result is the exit code. */
#define X(name, ...) int cmd_##name(int argc, char **argv);
#include "tools/cli/commands.def"
#undef X

/* Not every libc declares it. */
extern char **environ;

struct tool_flag;
struct tool_command {
	const char *name, *group, *synopsis, *summary;
	struct {
		const char *purpose, *line;
	} examples[2];
	int (*run)(int argc, char **argv);
	const struct tool_flag *flags;
};
extern const struct tool_command tool_commands[];
extern const unsigned tool_n_commands;
const struct tool_command *tool_find_command(const char *name); /* NULL: there is none */

/* All of pmctl but main(). Reports an error if the output could not be written. */
int tool_main(int argc, char **argv);

/* The running command, for messages; NULL: none yet. */
extern const char *tool_command_name;
/* pmctl ignores SIGPIPE and SIGXFSZ, so that a write fails instead. What they were when it was
 * started, which programs it starts get back. */
enum { TOOL_IGNORED = 2 };
extern const int tool_ignored[TOOL_IGNORED];
extern struct sigaction tool_ignored_was[TOOL_IGNORED];
void tool_restore_signals(void); /* async-signal-safe */

/* ---- errors: one line on stderr, "pmctl <command>: text"; control characters and direction
 * overrides in it are escaped -------------------------------------------------------------- */
/* Errors and warnings are JSON objects; set by the command's --json or --format json. */
extern bool tool_json_errors;
/* Returns `code`, for `return tool_fail(...)`. */
int tool_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Output failed with this errno. Silent if it was a pipe whose reader has gone, as with | head. The
 * exit code. */
int tool_fail_write(const char *where, int error);
/* From now on errors and warnings go to this text, the newest only; NULL: to stderr again. */
void tool_keep_errors(char *text, size_t cap);
void tool_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "<what> '<word>'; did you mean '<nearest>'?", or "<what> '<word>'; <otherwise>". */
int tool_fail_unknown(const char *what, const char *word, const char *nearest,
		      const char *otherwise);

/* ---- output ------------------------------------------------------------------------------- */
/* One line on stdout, escaped as errors are, wrapped at this width; 0: not. Of more than 2047 bytes
 * the rest is cut off. */
void tool_wrapped_line(int columns, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define tool_line(...) tool_wrapped_line(0, __VA_ARGS__)
/* Of the terminal, else of COLUMNS; 0: neither is known. */
int tool_columns(int fd);

/* ---- help -------------------------------------------------------------------------------- */
void tool_help_all(void);
/* Prints the help of a command to stdout; false: there is no such command. */
bool tool_help(const char *command);

/* Looks for the agent beside pmctl, in `dir`, and in ../lib/pmc from there. */
bool tool_find_agent(char dir[PATH_MAX], char found[PATH_MAX]);
/* The same for another file that permits `mode` of access(2); on Linux. */
bool tool_find_beside(const char *file, int mode, char dir[PATH_MAX], char found[PATH_MAX]);

/* ---- files that are opened for writing: lib/dump/output.h says which are refused --- */
/* For "cannot write FILE: <text>": the reason of an -errno, and the fix where there is one. */
const char *tool_output_why(int error);
/* pmc_dump_open(), which also refuses the file of a standard stream. */
int tool_open_dump(const char *path, bool create, struct stat *st);
/* pmc_text_open(), blocking. /dev/stdout and /dev/stderr are the streams themselves, also where
 * they are files. */
int tool_open_text(const char *path);
/* Opens and empties the file for a flag -o; "-" is standard output. The descriptor; or, with the
 * error printed, -code. */
int tool_open_output(const char *path, int code);
/* Whether both paths name one regular file, or would if they were created; "-" names none. */
bool tool_same_file(const char *a, const char *b);
/* The file of this flag must not be `other` (NULL: none) of the same command: 0, or the exit code
 * with the error printed. `what`: whose file that is. */
int tool_refuse_overwrite(const char *flag, const char *path, const char *other, const char *what);

/* The nearest of n names to a mistyped word, or NULL. */
const char *tool_nearest(const char *word, const char *const *names, unsigned n);
const char *tool_nearest_command(const char *word);
