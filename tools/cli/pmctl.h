/* SPDX-License-Identifier: MIT */
/* pmctl.h - common parts of pmctl's commands: entry points, exit codes, errors, output, help. */
#pragma once

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

/* 125 to 127 as in env(1), for run: until CMD has started it fails with 125, not 1. */
enum { EXIT_OK = 0, EXIT_FAIL = 1, EXIT_USAGE = 2, EXIT_OURS = 125, EXIT_CANNOT_RUN, EXIT_NO_CMD };

/* The commands. argv[0] is the command's name; the result is the exit code. */
#define X(name, ...) int cmd_##name(int argc, char **argv);
#include "tools/cli/commands.def"
#undef X
int cmd_complete(int argc, char **argv); /* for shells, not listed */
/* Whether cmd_run() gets rows of threads: not of a static program, one of another C library, or one
 * in Go. */
bool run_loads_agent(const char *command);
bool run_is_go(const char *path);

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

/* The running program and command, for messages; command NULL: none yet. */
extern const char *tool_program, *tool_command_name;
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

/* ---- memory of the heap: where there is none, pmctl says so and ends ----------------------- */
/* As realloc(3), but never NULL. */
void *tool_realloc(void *old, size_t bytes);

/* The list, moved if item n had no room. */
static inline void *tool_list_grow(void *list, size_t n, size_t *room, size_t item_bytes)
{
	if (n < *room)
		return list;
	*room = *room ? 2 * *room : 64;
	return tool_realloc(list, *room * item_bytes);
}

/* ---- inputs: the dumps that a command reads ------------------------------------------------- */
/* Problems of an input that could be read. */
enum { INPUT_EMPTY = 1, INPUT_FOREIGN, INPUT_FATAL };

/* Reads one input from the descriptor's position: 0, -errno, INPUT_EMPTY, INPUT_FOREIGN (no good
 * frame), or INPUT_FATAL: nothing more can be read, and the error is printed. */
typedef int input_reader(void *to, int fd, const char *name);

/* Reads each of the paths; "-" is standard input, a directory stands for the dumps in it, without
 * sub-directories, and a pattern of glob(7) for what it matches. Inputs that cannot be read, are
 * empty or no dumps, also files of a directory, are named in one warning, unless they are all there
 * are. 0, or the exit code with the error printed. */
int tool_inputs_read(const char *const *paths, unsigned n, input_reader *read, void *to);

/* ---- output ------------------------------------------------------------------------------- */
/* One line on stdout, escaped as errors are, wrapped at this width; 0: not. Of more than 2047 bytes
 * the rest is cut off. */
void tool_indented_line(int columns, int indent, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define tool_wrapped_line(columns, ...) tool_indented_line(columns, 2, __VA_ARGS__)
#define tool_line(...)			tool_wrapped_line(0, __VA_ARGS__)
/* Of the terminal, else of COLUMNS; 0: neither is known. */
int tool_columns(int fd);

/* ---- files of programs ---------------------------------------------------------------------- */
#ifdef __linux__
#define TOOL_AGENT_FILE "libpmcagent.so"
#define TOOL_PRELOAD	"LD_PRELOAD" /* the variable that has programs load it */
#else
#define TOOL_AGENT_FILE "libpmcagent.dylib"
#define TOOL_PRELOAD	"DYLD_INSERT_LIBRARIES"
#endif
bool tool_own_path(char path[PATH_MAX]);
/* Looks for a file that permits `mode` of access(2) beside pmctl, in `dir`, and in PMC_AGENT_DIR
 * (Makefile) from there. */
bool tool_find_beside(const char *file, int mode, char dir[PATH_MAX], char found[PATH_MAX]);
/* The same for the agent. */
bool tool_find_agent(char dir[PATH_MAX], char found[PATH_MAX]);
/* It was not found: prints why, and returns the code. */
int tool_no_agent(int code, const char *dir, const char *fix);
/* Puts a value in front of an environment variable whose values are separated by colons. */
void tool_prepend(const char *variable, const char *value);
/* The file that execvp(3) starts: the first executable one in PATH. */
bool tool_find_command_file(const char *command, char path[PATH_MAX]);
bool tool_is_program(const char *path);
/* Replaces the path of a script by that of its interpreter. */
void tool_follow_scripts(char path[PATH_MAX]);

/* ---- programs that are started: child.c, which is of Linux, has one that waits until its events
 * are open; spawn.c the rest ---- */
/* All zero: none. */
struct tool_child {
	pid_t pid; /* 0: none, or reaped */
	int socket;
	/* Set before the start: a descriptor for its standard output and error, with /dev/null as
	 * its input; 0: those of pmctl. */
	int output;
	void (*before_exec)(void); /* called in the new process; NULL: nothing */
	int status;		   /* of wait(2) */
};

/* Forks; the new process waits for tool_child_go(). 0, or the exit code after a message. */
int tool_child_start(struct tool_child *child, char **command);
/* Starts the exec. 0, or the exit code (126, 127) after a message. */
int tool_child_go(struct tool_child *child, const char *name);
/* Says that exec of the command failed, with this errno: the exit code. */
int tool_fail_exec(const char *command, int error);
/* Whether a command can be started, before an output file is emptied: 0, or the exit code after the
 * message of tool_fail_exec(). */
int tool_check_command(const char *command);
/* Whether it has ended; then it is reaped and `status` set. wait: waits for that. */
bool tool_child_ended(struct tool_child *child, bool wait);
/* Kills a child that did not call exec yet, and reaps it. */
void tool_child_drop(struct tool_child *child);
/* Ends as the process with this status of wait(2): returns its exit code, or raises its signal,
 * without another core dump. */
int tool_end_as(int status);
/* A signal that ends this process leaves no core file. */
void tool_no_core(void);

/* posix_spawn(2); macOS drops DYLD_* on the way through a shell. */
struct tool_spawn {
	char **argv;
	const char *path;     /* NULL: argv[0], found in PATH */
	char **environment;   /* NULL: pmctl's own */
	const int *io;	      /* descriptors from 0 on, -1: pmctl's own; NULL: all are */
	int n_io;	      /* 0: the three standard ones */
	const sigset_t *mask; /* of blocked signals */
	bool group;	      /* becomes a process group of its own */
};

/* Handlers of signals become the default; that of SIGPIPE is as when pmctl was started. 0 and *pid,
 * or a positive errno. */
int tool_spawn(const struct tool_spawn *spawn, pid_t *pid);

/* ---- files that are opened for writing: lib/dump/output.h says which are refused --- */
/* For "cannot write FILE: <text>": the reason of an -errno, and the fix where there is one. */
const char *tool_output_why(int error);
/* pmc_dump_open(), which also refuses the file of a standard stream. */
int tool_open_dump(const char *path, bool create, struct stat *st);
#define TOOL_OLD_MAX (2 * PATH_MAX + 4)
/* Renames an existing dump to PATH.old, with a warning that ends in `otherwise`. 0, or `code` with
 * the error printed. */
int tool_keep_old(const char *path, int code, const char *otherwise);
/* pmc_text_open(), blocking. /dev/stdout and /dev/stderr are the streams themselves, also where
 * they are files. */
int tool_open_text(const char *path);
/* Makes a directory for a dump that is not kept, named pmctl-COMMAND-XXXXXX, in $TMPDIR or /tmp.
 * `keeps`: the flag that makes it unnecessary. 0, or the exit code with the error printed. */
int tool_make_dir(char dir[PATH_MAX], const char *command, const char *keeps);
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
/* An unknown flag of the command, or, with NULL, an unknown command: what was meant, or where else
 * it is. The exit code. */
int tool_refuse_word(const struct tool_command *command, const char *word);
