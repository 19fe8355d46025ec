/* SPDX-License-Identifier: MIT */
/* task.h - threads of other processes as /proc shows them: IDs, times, switches. */
#pragma once

#include "lib/base/out.h"

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

/* 0; an exit status after an error message if the process is not there, or has ended and only
 * waits for its parent to reap it. */
int live_refuse_ended(pid_t pid);
/* 0; -ESRCH: there is no such process; -errno. Memory is used again by the next call. */
int live_tids_read(pid_t pid, struct live_tids *tids);
/* The same with the threads of all its descendants, as far as the kernel lists them
 * (CONFIG_PROC_CHILDREN). */
int live_tree_read(pid_t pid, struct live_tids *tids);
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

/* ---- the files, for callers that read them -------------------------------------------------- */

bool live_parse_schedstat(const char *text, struct live_waits *waits);
/* The number behind "key:" in a status file. */
bool live_parse_status(const char *text, const char *key, uint64_t *value);
void live_parse_switches(const char *status, struct live_waits *waits);

#define LIVE_NAME 64 /* names of kernel threads have more than 15 bytes */
struct live_stat {
	char name[LIVE_NAME]; /* any bytes */
	char state;	      /* of proc_pid_stat(5): R S D T t Z X I */
	uint64_t parent, minor_faults, major_faults;
	uint64_t user_ticks, system_ticks; /* of 10 ms */
	uint64_t child_faults;		   /* minor ones of children that it has waited for */
	uint64_t start_ticks; /* since boot: tells threads apart whose ID is the same */
};
bool live_parse_stat(const char *text, struct live_stat *stat);

#define LIVE_TICK_NS 10000000u /* USER_HZ of include/asm-generic/param.h */
/* On CLOCK_MONOTONIC, at most a tick before the start of the thread. */
uint64_t live_start_ns(const struct live_stat *stat);
