/* SPDX-License-Identifier: MIT */
/*
 * mac_stat.h - pmctl stat on macOS: cycles, instructions and CPU time of a command or a process.
 *
 * Implemented in darwin/mac_stat.c, by proc_pid_rusage() alone: no privilege for processes of the
 * same user, no children, no other events.
 *
 * Private to this folder.
 */
#pragma once

#include "lib/base/out.h"
#include "tools/cli/mac_usage.h"

struct mac_stat {
	char **cmd;	      /* NULL: pid */
	pid_t pid;	      /* of the command once it runs */
	uint64_t interval_ns; /* 0: one summary */
	uint64_t count;	      /* of intervals; 0: until the end */
	bool json;
	const char *output; /* NULL: standard output */
	struct pmc_out out;
	int status; /* of the command, as of wait(2) */
};

/* Until the command or process ends, count is reached, or SIGINT comes for a process. 0, or the
 * exit code of an error that has been printed. */
int mac_stat_run(struct mac_stat *stat);
