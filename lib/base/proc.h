/* SPDX-License-Identifier: MIT */
/* proc.h - parses the files that /proc has of a thread or process: stat, status, schedstat.
 * Async-signal-safe. */
#pragma once

#include "lib/base/clock.h"

#define PMC_PROC_NAME 64	/* names of kernel threads have more than 15 bytes */
#define PMC_TICK_NS   10000000u /* USER_HZ of all architectures but alpha and ia64 */

struct pmc_proc_stat {
	char name[PMC_PROC_NAME]; /* any bytes */
	char state;		  /* of proc_pid_stat(5): R S D T t Z X I */
	uint64_t parent, minor_faults, major_faults;
	uint64_t user_ticks, system_ticks; /* rounded down */
	/* Minor faults and CPU time of children that the process has waited for. */
	uint64_t child_faults, child_ticks;
	uint64_t start_ticks; /* since boot: tells threads apart whose ID is the same */
};
bool pmc_proc_stat(const char *text, struct pmc_proc_stat *stat);

/* The text behind "KEY:" or "KEY   :" at the start of a line; NULL: there is none. */
const char *pmc_proc_field(const char *text, const char *key);
/* The number there, and the last one of the line, as of NSpid: that of the innermost namespace. */
bool pmc_proc_number(const char *text, const char *key, uint64_t *value);
bool pmc_proc_last(const char *text, const char *key, uint64_t *value);

/* CPU time, run delay and how often it got a CPU; all 0 without CONFIG_SCHED_INFO. */
struct pmc_proc_sched {
	uint64_t cpu_ns, delay_ns, slices;
};
bool pmc_proc_schedstat(const char *text, struct pmc_proc_sched *sched);

/* pmc_usage_thread() for another thread of this process, from two files of /proc in some 20 us.
 * room: scratch of at least PMC_TASK_ROOM bytes. False: unknown. */
#define PMC_TASK_ROOM ((size_t)4096)
bool pmc_usage_of_task(uint32_t tid, char *room, size_t bytes, struct pmc_usage *usage);
/* Parse the two files; false if malformed or of another thread. */
bool pmc_task_stat(const char *text, struct pmc_usage *usage);
bool pmc_task_status(const char *text, uint32_t tid, struct pmc_usage *usage);
/* Time for which a thread of this process, 0: the caller, has waited for a CPU. False: unknown. */
bool pmc_run_delay(uint32_t tid, uint64_t *ns);
