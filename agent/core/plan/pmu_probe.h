/* SPDX-License-Identifier: MIT */
/*
 * pmu_probe.h - which events the PMU runs at once: not what open() accepts, but what runs.
 *
 * The kernel takes groups that it never schedules: it does not know of counters that others hold
 * (pinned per-CPU events, the NMI watchdog), and arm64 leaves a disabled leader out when it
 * validates. A pinned group that cannot run reads 0 bytes; so one is opened running, and read.
 *
 * Nor is a counter that runs one that counts. A hypervisor may give a guest as many as the
 * processor has while the host needs one of them itself (KVM: each of the guest's is an event of
 * the host's, and what the host has no room for stays at 0). Which one that is changes, how many
 * does not.
 */
#ifndef PMC_CORE_PLAN_PMU_PROBE_H
#define PMC_CORE_PLAN_PMU_PROBE_H

#include "agent/core/plan/plan.h"

/* A pinned group that grows as long as it fits. It runs, and is read, with each event that comes;
 * or it waits until pmc_fit_go, which is cheaper: where access to the PMU traps, each event that
 * joins a running group costs as much as all of them. */
struct pmc_fit {
	pmc_probe_open probe;	 /* NULL: all are known to run at once, so any of them do */
	bool waiting;
	unsigned most;		 /* counters it may take; 0: all */
	int fds[PMC_EVENTS_MAX]; /* the leader first */
	unsigned n, counters;
	bool takes_counter[PMC_EVENTS_MAX];
};

/* Adds the event. False: with it the group would not run, as far as that can be told, and it is
 * left as it was. A group's first event stays in any case: alone it is what it is. */
bool pmc_fit_add(struct pmc_fit *fit, const struct pmc_planned *event);
/* Has a waiting group run. False: as a whole it does not. */
bool pmc_fit_go(struct pmc_fit *fit);
/* Takes the last event out again. */
void pmc_fit_drop(struct pmc_fit *fit);
/* Whether the pinned group of this leader runs. */
bool pmc_fit_runs(int leader);
void pmc_fit_end(struct pmc_fit *fit);

/* Has a waiting group run for a moment in which there is work to count, and stops it. False: as a
 * whole it does not run. *counted: its events, as bits, that counted; 0: it cannot be told. */
bool pmc_fit_try(struct pmc_fit *fit, uint64_t *counted);
/* Whether that moment has work for this event: if it counted nothing, its counter did not count. */
bool pmc_fit_has_work(const struct pmc_event *event);
/* And even a hypervisor that hides events from its guests lets this one count. */
bool pmc_fit_is_sure(const struct pmc_event *event);
/* Whether a group of some of these events takes any of them for its leader. Events that a PMU has
 * for itself may insist on one: those of topdown want slots. */
bool pmc_fit_alike(const struct pmc_planned *events, unsigned n);
/* How many of n counters count when all are in use; n where no more is known, or fewer would run.
 */
unsigned pmc_fit_alive(pmc_probe_open probe, unsigned n);

/* Whether two events of metrics.def form a ratio, which is exact only if they run together. */
bool pmc_fit_ratio(const struct pmc_event *a, const struct pmc_event *b);

#endif
