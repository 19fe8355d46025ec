/* SPDX-License-Identifier: MIT */
/*
 * plan.h - which events each thread opens, in which groups: decided once per job.
 *
 * The plan keeps the user's events in plan order (grouped), those that can't be opened last with
 * their reason. It is what EVENTSET frames and PMC_JOB carry.
 */
#ifndef PMC_CORE_PLAN_PLAN_H
#define PMC_CORE_PLAN_PLAN_H

#include "agent/core/event/event.h"
#include "agent/core/dump/frame.h"
#include "agent/core/base/out.h"
#include "agent/core/count/group.h"

struct pmc_planned {
	struct pmc_event event;
	uint16_t group; /* PMC_NO_GROUP: not opened, see state and error */
	uint8_t scope;	/* enum pmc_scope, after any fallback */
	uint8_t state;	/* PMC_COUNTED or why not */
	uint16_t flags; /* PMC_EVENT_* */
	int error;	/* errno of the refused open, or enum pmc_reason */
};

struct pmc_plan {
	struct pmc_planned *events;
	unsigned count;	 /* all, opened or not */
	unsigned opened; /* of these have a group; they come first */
	unsigned groups;
	unsigned first[PMC_EVENTS_MAX + 1]; /* group g is events[first[g] .. first[g+1]) */
	bool hardware;			    /* some opened event needs a PMU counter */
	bool stops;	   /* and has company: groups are stopped before they are closed */
	uint64_t hash;	   /* of its EVENTSET frame; 0 if count is 0 */
	const void *frame; /* that frame, in the arena; NULL if count is 0 */
	size_t frame_bytes;
	struct pmc_attr *attrs; /* of the opened events, as a thread's own groups take them */
};

/* Opens group g of the plan; see pmc_group_open(). */
static inline int pmc_plan_open_group(const struct pmc_plan *plan, unsigned g,
				      enum pmc_group_kind kind, int pid, int cpu, int move_to,
				      int *fds, uint64_t *id)
{
	unsigned first = plan->first[g];

	return pmc_group_open(&plan->attrs[first], plan->first[g + 1] - first, kind, pid, cpu,
			      move_to, fds, id);
}

/* Opens each event to learn what this kernel gives (all, user only, nothing) and packs those
 * that open into groups which the PMU runs now (see pmu_probe.h). Returns 0 or -ENOMEM. Leaves no
 * descriptor open. */
int pmc_plan_make(const struct pmc_events *events, pmc_perf_opener open, struct pmc_arena *arena,
		  struct pmc_plan *plan);

/* What an open that failed with this errno says of the event. */
enum pmc_state pmc_plan_refusal(int error);

/* Whether every group runs twice beside itself: own groups and inherit groups need no sharing. */
bool pmc_plan_fits_twice(const struct pmc_plan *plan, pmc_perf_opener open);

/* Events that count for the whole machine: in no group of a thread's. */
bool pmc_event_is_machine(const struct pmc_event *event);
/* These events of the plan, each once for every CPU that stands for the machine: which, in
 * cpus[]. They are in no group yet: whoever opens them says which are, and seals the plan. 0 or
 * -ENOMEM. */
int pmc_plan_machine(const struct pmc_plan *plan, struct pmc_arena *arena, struct pmc_plan *machine,
		     int cpus[PMC_EVENTS_MAX]);

/* The plan as text for PMC_JOB, and back. Decode returns 0, -EINVAL or -ENOMEM. */
void pmc_plan_encode(const struct pmc_plan *plan, struct pmc_out *out);
int pmc_plan_decode(const char *text, size_t len, struct pmc_arena *arena, struct pmc_plan *plan);

/* Appends the plan's EVENTSET frame; returns its hash (0: it did not fit). Async-signal-safe. */
uint64_t pmc_plan_frame(const struct pmc_plan *plan, struct pmc_frame_buf *buf);
/* Makes the plan's frame and its threads' attrs; the last step of making one. 0, -ENOMEM or
 * -E2BIG. */
int pmc_plan_seal(struct pmc_plan *plan, struct pmc_arena *arena);
/* The same plan with what counts the kernel too counting user mode only; count 0 if nothing in it
 * can. 0 or -ENOMEM. */
int pmc_plan_user(const struct pmc_plan *plan, struct pmc_arena *arena, struct pmc_plan *user);
/* A plan of one event that opens without a PMU: task-clock of the whole thread. */
int pmc_plan_clock(struct pmc_arena *arena, struct pmc_plan *plan);

#endif
