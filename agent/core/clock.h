/* SPDX-License-Identifier: MIT */
/*
 * clock.h - what the kernel accounts without any perf event: times, faults, switches.
 *
 * Implemented in agent/core/linux/clock.c; raw system calls or vDSO, async-signal-safe.
 */
#ifndef PMC_CORE_CLOCK_H
#define PMC_CORE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct pmc_usage {
	uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
	uint64_t max_rss_bytes;
};

uint64_t pmc_now_ns(void); /* CLOCK_MONOTONIC */
/* CPU time of a thread of this process; 0 and false when it is gone. tid 0: the caller. */
bool pmc_thread_cpu_ns(int tid, uint64_t *ns);
uint64_t pmc_process_cpu_ns(void);
void pmc_usage_thread(struct pmc_usage *usage);  /* getrusage(RUSAGE_THREAD): the caller */
void pmc_usage_process(struct pmc_usage *usage); /* getrusage(RUSAGE_SELF) */

#endif
