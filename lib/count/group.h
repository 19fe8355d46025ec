/* SPDX-License-Identifier: MIT */
/*
 * group.h - perf event groups on one thread or CPU: open, enable, read, close.
 *
 * Implemented in lib/count/linux/group.c. Async-signal-safe: raw system calls, the caller's
 * memory. Functions return 0 or -errno. Descriptors start and end at -1.
 */
#pragma once

#include "lib/count/perf.h"
#include "lib/event/sample.h"

#include <pmc/dump.h>

enum pmc_perf_group_kind {
	PMC_PERF_GROUP_OWN,	/* inherit=0: one thread or CPU */
	PMC_PERF_GROUP_THREADS, /* inherit=1, inherit_thread=1: all threads of the process */
	PMC_PERF_GROUP_PLAIN,	/* inherit=1: threads and forked children; kernels before 5.13 */
	PMC_PERF_GROUP_EXEC,	/* inherit=1, disabled, enable_on_exec: exec'd descendants */
	PMC_PERF_GROUP_CGROUP,	/* inherit=0: pid is the descriptor of a cgroup, on one CPU */
};

/* The attr of one event of an own group that counts this scope. Leaders are disabled, and pinned
 * if the event is. */
void pmc_perf_group_attr(const struct pmc_event *event, enum pmc_scope scope, bool leader,
			 struct pmc_attr *attr);

/* The attr of an event that is sampled in user mode, as asked. */
void pmc_perf_sample_attr(const struct pmc_event *event, const struct pmc_config_sample *asked,
			  struct pmc_attr *attr);

/* The target of a group. */
struct pmc_perf_target {
	enum pmc_perf_group_kind kind;
	int pid, cpu; /* as of perf_event_open(2) */
	int move_to;  /* > 0: each descriptor is moved to the lowest free number from this on */
};
/* An own group of the calling thread. */
#define PMC_PERF_SELF ((const struct pmc_perf_target){ .cpu = -1 })

/* Opens n events as one group into fds[0..n), the leader first and disabled. The attrs are those of
 * an own group; other kinds change a copy. *id gets the leader's kernel id. On failure nothing is
 * left open. */
int pmc_perf_group_open(const struct pmc_attr *attrs, unsigned n,
			const struct pmc_perf_target *target, int *fds, uint64_t *id);
int pmc_perf_group_enable(int leader);
int pmc_perf_group_disable(int leader);

/* The format of a group's reading. */
#define PMC_PERF_GROUP_FORMAT                                                                      \
	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID |        \
	 PERF_FORMAT_GROUP)
/* Words in a reading of n events. */
#define PMC_PERF_GROUP_WORDS(n) (3 + 2 * (n))

/* Reads the group: its times into *reading, its values into words[0..n). If the descriptor no
 * longer is the group (id), or a pinned group lost its counters, reading->error says so and n is
 * 0. */
void pmc_perf_group_read(int leader, uint64_t id, unsigned n, struct pmc_reading *reading,
			 uint64_t *words);
void pmc_perf_group_close(int *fds, unsigned n);
