/* SPDX-License-Identifier: MIT */
/* task.h - threads of other processes as /proc shows them: IDs, times, switches. */
#pragma once

#include "lib/base/out.h"
#include "lib/base/proc.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- the threads of a process ------------------------------------------------------------- */

/* All zero: empty. */
struct live_tids {
	pid_t *list; /* ascending */
	unsigned n;
	size_t room;
};

/* 0; the exit code after an error message if the process is not there, or has ended and only waits
 * for its parent to reap it. */
int live_refuse_ended(pid_t pid);
/* 0; -ESRCH: there is no such process; -errno. Memory is used again by the next call. */
int live_tids_read(pid_t pid, struct live_tids *tids);
/* The same with the threads of all its descendants, as far as the kernel lists them
 * (CONFIG_PROC_CHILDREN). */
int live_tree_read(pid_t pid, struct live_tids *tids);
/* The processes of a list such as "12,34" and those whose program has that name, by its comm or its
 * file; either may be NULL. 0, or the exit code after an error message. */
int live_find(const char *list, const char *glob, struct live_tids *found);
/* Whether it has child processes, as far as the kernel lists them. */
bool live_has_children(pid_t pid);
/* How many there are, which is read in one call; 0: unknown. */
unsigned live_tids_count(pid_t pid);
bool live_tids_have(const struct live_tids *tids, pid_t tid);
void live_tids_free(struct live_tids *tids);

/* ---- times and switches ------------------------------------------------------------------- */

/* Since the start of a thread. */
struct live_waits {
	bool known;
	/* On a CPU, waiting for one, and how often it got one, from schedstat
	 * (Documentation/scheduler/sched-stats.rst): up to date as of the last tick or switch. A
	 * wait that goes on is not included. */
	uint64_t cpu_ns, delay_ns, slices;
	uint64_t voluntary, involuntary; /* switches */
	uint64_t user_ns, system_ns;	 /* from stat, in units of 10 ms */
	uint64_t blocked_ns; /* of watch.h; there delay_ns too is since the first reading, and
			      * includes the wait that goes on */
};

/* CPU time of a process with its ended threads, up to date; 0: unknown, as after its end. */
uint64_t live_process_cpu_ns(pid_t pid);

#define LIVE_NAME    PMC_PROC_NAME
#define LIVE_TICK_NS PMC_TICK_NS
/* On CLOCK_MONOTONIC, at most a tick before the start of the thread. */
uint64_t live_start_ns(const struct pmc_proc_stat *stat);
