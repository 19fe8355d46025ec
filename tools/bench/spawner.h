/* SPDX-License-Identifier: MIT */
/*
 * spawner.h - pmc-spawn, which starts the commands on Linux, and its counters.
 *
 * Private to this folder.
 */
#ifndef PMC_TOOLS_BENCH_SPAWNER_H
#define PMC_TOOLS_BENCH_SPAWNER_H

#include "tools/bench/runner.h"

struct bench_runner {
	pid_t pid; /* of pmc-spawn */
	int socket;
	int fds[PMC_EVENTS_MAX];     /* by event of the plan; -1: not open */
	int anchors[PMC_EVENTS_MAX]; /* of each group; see bench_counters_open() */
	uint64_t ids[PMC_EVENTS_MAX];
};

/* Opens the counters of a pass; they count from the command's exec. 0 or -errno. */
int bench_counters_open(const struct bench *bench, struct bench_runner *runner, unsigned pass);
/* What they counted, into the values of the run's events. */
void bench_counters_read(const struct bench *bench, struct bench_command *command,
			 const struct bench_runner *runner, unsigned pass, double *values);
void bench_counters_close(const struct bench *bench, struct bench_runner *runner);

#endif
