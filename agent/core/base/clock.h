/* SPDX-License-Identifier: MIT */
/*
 * clock.h - what the kernel accounts without any perf event: times, faults, switches.
 *
 * Implemented in agent/core/base/linux/clock.c and task.c; raw system calls or vDSO,
 * async-signal-safe.
 */
#ifndef PMC_CORE_BASE_CLOCK_H
#define PMC_CORE_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pmc_usage {
	uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
	uint64_t max_rss_bytes;
};

uint64_t pmc_now_ns(void); /* CLOCK_MONOTONIC */
/* CPU time of a thread of this process; 0 and false when it is gone. tid 0: the caller. */
bool pmc_thread_cpu_ns(int tid, uint64_t *ns);
/* The caller's tid as libc knows it, without a system call. 0: libc does not say. Wrong in the
 * child of a raw clone. */
uint32_t pmc_thread_tid(void);
uint64_t pmc_process_cpu_ns(void);
void pmc_usage_thread(struct pmc_usage *usage);  /* getrusage(RUSAGE_THREAD): the caller */
/* The same of another thread of this process, from /proc: two files, some 20 us. room: scratch, of
 * PMC_TASK_ROOM bytes at least. False: it cannot be had; usage is then of no use. */
#define PMC_TASK_ROOM ((size_t)4096)
bool pmc_usage_of_task(uint32_t tid, char *room, size_t bytes, struct pmc_usage *usage);
/* What the two files say: false if they do not, or are of another thread. */
bool pmc_task_stat(const char *text, struct pmc_usage *usage);
bool pmc_task_status(const char *text, uint32_t tid, struct pmc_usage *usage);
void pmc_usage_process(struct pmc_usage *usage); /* getrusage(RUSAGE_SELF) */

#endif
