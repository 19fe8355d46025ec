/* SPDX-License-Identifier: MIT */
/*
 * pmu_probe.h - which events the PMU counts at the same time.
 *
 * perf_event_open(2) accepts groups that never run: the kernel does not know of counters that
 * others hold (pinned events of a CPU, the NMI watchdog). A probe is a pinned group that is enabled
 * and read at once; if the PMU cannot run it, the read returns 0 bytes.
 *
 * A scheduled counter may still read 0: a hypervisor can offer more counters than its host has
 * free (under KVM each counter of the guest is an event of the host). Which counter is dead
 * changes, how many are does not. So a probe runs over a workload that default events count.
 */
#pragma once

#include "lib/count/group.h"
#include "lib/event/event.h"

/* A group of the calling thread that grows event by event. Set `open`, the rest is 0. */
struct pmc_probe {
	pmc_perf_opener open;
	unsigned n;
	uint64_t pmu; /* bits: events that take a counter of a PMU */
	int fds[PMC_EVENTS_MAX];
};

/* Opens one more event; 0 or -errno. */
int pmc_probe_add(struct pmc_probe *probe, const struct pmc_event *event, enum pmc_scope scope);
/* Closes the newest event. */
void pmc_probe_drop(struct pmc_probe *probe);
/* Runs the group over the workload. False: the PMU cannot run it. *silent: how many of its
 * counters have not counted since it was opened. */
bool pmc_probe_run(struct pmc_probe *probe, unsigned *silent);
void pmc_probe_close(struct pmc_probe *probe);

/* Whether the events run at the same time, on counters that count: 1, 0, or -errno if that cannot
 * be told. Events of several PMUs are no group: 0. */
int pmc_probe_together(pmc_perf_opener open, const struct pmc_event *const *events,
		       const enum pmc_scope *scopes, unsigned n);

struct pmc_counters {
	unsigned accepted; /* in one group, by perf_event_open(2) */
	unsigned running;  /* at the same time */
	unsigned counting; /* of those, the ones that do not stay at 0 */
};

/* Counts the PMU's counters, `most` of them at most: a group of one `leader` and else `sibling`
 * events that count user mode. 0; -EMFILE or another -errno if the descriptors ran out first. */
int pmc_probe_counters(pmc_perf_opener open, const struct pmc_event *leader,
		       const struct pmc_event *sibling, unsigned most,
		       struct pmc_counters *counters);
/* How many of n counters count when all are in use; n if none is known to be dead. */
unsigned pmc_probe_alive(pmc_perf_opener open, unsigned n);
