/* SPDX-License-Identifier: MIT */
/* spawn.h - starting a program by posix_spawn(2): macOS drops DYLD_* on the way through a shell. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

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
