/* SPDX-License-Identifier: MIT */
/* child.h - starting programs; on Linux also one that waits until its events are open. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* All zero: none. */
struct tool_child {
	pid_t pid; /* 0: none, or reaped */
	int socket;
	/* Set before the start: a descriptor for its standard output and error, with /dev/null as
	 * its input; 0: those of pmctl. */
	int output;
	int status; /* of wait(2) */
};

/* Forks; the new process waits for tool_child_go(). 0, or the exit code after a message. */
int tool_child_start(struct tool_child *child, char **command);
/* Starts the exec. 0, or the exit code (126, 127) after a message. */
int tool_child_go(struct tool_child *child, const char *name);
/* Says that exec of the command failed, with this errno: the exit code. */
int tool_fail_exec(const char *command, int error);
/* Whether it has ended; then it is reaped and `status` set. wait: waits for that. */
bool tool_child_ended(struct tool_child *child, bool wait);
/* Kills a child that did not call exec yet, and reaps it. */
void tool_child_drop(struct tool_child *child);
/* Ends as the process with this status of wait(2): returns its exit code, or raises its signal,
 * without another core dump. */
int tool_end_as(int status);
/* A signal that ends this process leaves no core file. */
void tool_no_core(void);

/* Blocks SIGCHLD and those of the list that are not ignored; *was: the mask before. A signalfd. (A
 * blocked signal would be pending even if it is ignored.) */
int tool_signals(const int *signals, unsigned n, sigset_t *was);

/* ---- spawn.c: posix_spawn(2); macOS drops DYLD_* on the way through a shell ---------------- */
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
