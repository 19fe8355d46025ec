/* SPDX-License-Identifier: MIT */
/*
 * child.h - what each OS does for the child of `pmctl run`.
 *
 * Private to this folder.
 */
#pragma once

#include "tools/run/run.h"

#include <signal.h>

/* How the loader is told to load the agent. */
struct run_preload {
	const char *variable;	/* a list of libraries */
	const char *separators; /* of the list, which no path in it can have */
	const char *separator_names;
	const char *library; /* file name of the agent */
	bool must_load;	     /* a program that cannot load a library of the list ends */
};
extern const struct run_preload run_preload;

/* Signals that are blocked while the child runs, and what was before. */
struct run_signals {
	sigset_t set, mask_was;
	struct sigaction chld_was;
};

/* Starts run->cmd, with the mask and the dispositions that pmctl was started with. On return
 * child.exec_errno and child.refused are known. 0 or -errno: no process could be started. */
int run_start(const struct run_signals *signals, struct run *run);
/* Waits for a signal of the set. *from_terminal: the child has got it, too. 0: none yet. */
int run_next_signal(const sigset_t *set, bool *from_terminal);
/* Reads what is known of the ended child, and reaps it: cpu_ns, max_rss_bytes, status, usage. */
void run_reap(struct run_child *child);
/* The identity of the running kernel; "": unknown. */
void run_boot_id(char *text, size_t cap);
