/* SPDX-License-Identifier: MIT */
/*
 * group.h - a group of perf events on one thread or CPU: open, move, enable, read, close.
 *
 * Implemented in agent/core/count/linux/group.c. All but the probe is async-signal-safe: raw system
 * calls, the caller's memory. Functions return 0 or -errno. fds start and end at -1.
 */
#ifndef PMC_CORE_COUNT_GROUP_H
#define PMC_CORE_COUNT_GROUP_H

#include "agent/core/count/perf.h"
#include "agent/core/plan/plan.h"

#include <pmc/dump.h>

enum pmc_group_kind {
	PMC_GROUP_OWN,	   /* inherit=0: the thread's row */
	PMC_GROUP_THREADS, /* inherit=1, inherit_thread=1: all threads of the process */
	PMC_GROUP_PLAIN,   /* inherit=1: threads and forked children; kernels before 5.13 */
	PMC_GROUP_EXEC,	   /* inherit=1, disabled, enable_on_exec: exec'd descendants */
};

/* The attr of one event of a plan as this kind of group opens it. */
void pmc_group_attr(const struct pmc_planned *event, enum pmc_group_kind kind, bool leader,
		    struct pmc_attr *attr);
/* The probe for pmc_plan_make: perf_event_open on the calling thread. */
int pmc_group_probe(struct pmc_attr *attr, int leader);

/* Opens group g of the plan on pid/cpu into fds[0..n). move_to > 0: each descriptor is moved to
 * the lowest free number >= move_to. Siblings follow their disabled leader; enable starts all.
 * *id gets the leader's kernel id. On failure nothing is left open. */
int pmc_group_open(const struct pmc_plan *plan, unsigned g, enum pmc_group_kind kind, int pid,
		   int cpu, int move_to, int *fds, uint64_t *id);
int pmc_group_enable(int leader);
int pmc_group_disable(int leader);

/* What every group reads. */
#define PMC_GROUP_FORMAT                                                                           \
	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID |        \
	 PERF_FORMAT_GROUP)
/* Words that reading a group of n takes: what the kernel writes. */
#define PMC_GROUP_WORDS(n) (3 + 2 * (n))

/* A reading of the group, and its values in words[0..n). If the descriptor is not the group any
 * more (id), or was never scheduled, reading->error says so and n is 0. */
void pmc_group_read(int leader, uint64_t id, unsigned n, struct pmc_reading *reading,
		    uint64_t *words);
void pmc_group_close(int *fds, unsigned n);

#endif
