/* SPDX-License-Identifier: MIT */
/*
 * plan.h - the events that each thread opens, and their groups: decided once per job.
 *
 * Events are ordered by group; those that cannot be opened come last, with the reason. EVENTSET
 * frames and PMC_JOB carry the plan.
 */
#pragma once

#include "lib/base/advice.h"
#include "lib/count/group.h"
#include "lib/dump/frame.h"

struct pmc_planned {
	struct pmc_event event;
	uint16_t group; /* PMC_NO_GROUP: not opened, see state and error */
	uint8_t scope;	/* enum pmc_scope, after any fallback */
	uint8_t state;	/* PMC_COUNTED, or why not; with a group: its reading has no meaning */
	uint16_t flags; /* PMC_EVENT_* */
	int error;	/* errno of the refused open, or enum pmc_reason */
};

struct pmc_plan {
	struct pmc_planned *events;
	unsigned count;	 /* all events */
	unsigned opened; /* the first so many, which have a group of perf events */
	unsigned groups;
	/* Groups in a row: those, and one for each account that has events. */
	unsigned readings;
	unsigned first[PMC_EVENTS_MAX + 1]; /* group g is events[first[g] .. first[g+1]) */
	bool hardware;			    /* an opened event takes a counter of a PMU */
	bool traces;			    /* an opened event is a tracepoint */
	bool stops;  /* groups are disabled before a thread's end is handled */
	unsigned os; /* bits 1 << enum pmc_os_event: in the list, not among the opened ones */
	struct pmc_attr *attrs; /* of the opened events, as own groups take them */
	const void *frame;	/* EVENTSET; NULL if count is 0 */
	size_t frame_bytes;
	uint64_t hash; /* of the frame; 0 if count is 0 */
};

/* Tries each event (all modes, else user mode only) and packs those that open into groups that the
 * PMU runs. No descriptor stays open. 0 or -ENOMEM. */
int pmc_plan_make(const struct pmc_events *events, pmc_perf_opener open, struct pmc_arena *arena,
		  struct pmc_plan *plan);
/* Tries one event and sets its scope, flags, state and error. Returns its descriptor, disabled, or
 * a negative number. */
int pmc_plan_try(pmc_perf_opener open, struct pmc_planned *planned);
/* Copies the tried events to plan->events, which has room and is empty: group by group, as many as
 * plan->groups says, then those that have no group. */
void pmc_plan_order(struct pmc_plan *plan, const struct pmc_planned *tried, unsigned count);
/* Makes the frame and the attrs of a plan whose other members are set. 0, -ENOMEM or -E2BIG. */
int pmc_plan_seal(struct pmc_plan *plan, struct pmc_arena *arena);
/* The same plan restricted to user mode; count 0 if it has no event that can be. 0 or -ENOMEM. */
int pmc_plan_user(const struct pmc_plan *plan, struct pmc_arena *arena, struct pmc_plan *user);
/* A plan of task-clock alone, which needs no PMU. 0 or -ENOMEM. */
int pmc_plan_clock(struct pmc_arena *arena, struct pmc_plan *plan);

/* The events of the plan that count for the whole machine, one for each CPU that stands for it:
 * event i is for cpus[i]. They have no group yet: the caller opens them, sets the groups and seals
 * the plan. 0 or -ENOMEM. */
int pmc_plan_uncore(const struct pmc_plan *plan, struct pmc_arena *arena, struct pmc_plan *uncore,
		    int cpus[PMC_EVENTS_MAX]);

/* The state of an event whose open failed with this errno. */
enum pmc_state pmc_plan_refusal(int error);
/* The request that failed, for pmc_advise(); refers to *attr. */
struct pmc_tried pmc_plan_tried(const struct pmc_planned *planned, struct pmc_attr *attr);
/* Why such an event has no value, with the fix: an errno of its open, or an enum pmc_reason. Not
 * for signal handlers. */
void pmc_plan_why(const struct pmc_planned *planned, int error, char *text, size_t cap);
/* Whether all events run twice at the same time, so that own and inherit groups do not share. */
bool pmc_plan_fits_twice(const struct pmc_plan *plan, pmc_perf_opener open);

/* Opens group g of the plan; see pmc_perf_group_open(). */
static inline int pmc_plan_open_group(const struct pmc_plan *plan, unsigned g,
				      const struct pmc_perf_target *target, int *fds, uint64_t *id)
{
	unsigned first = plan->first[g];

	return pmc_perf_group_open(&plan->attrs[first], plan->first[g + 1] - first, target, fds,
				   id);
}

/* Sets the group of each event that is in state PMC_COUNTED; those of braces that do not run
 * together become PMC_NOT_COUNTED. Returns the number of groups. */
unsigned pmc_plan_pack(pmc_perf_opener open, struct pmc_planned *events, unsigned count);

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

/* The plan as text for PMC_JOB, empty if descendants have to plan anew; and back: 0, -EINVAL (also
 * for an empty text) or -ENOMEM. */
void pmc_plan_encode(const struct pmc_plan *plan, struct pmc_out *out);
int pmc_plan_decode(const char *text, size_t len, struct pmc_arena *arena, struct pmc_plan *plan);
/* From an EVENTSET frame, which need not be sound: 0, -EINVAL or -ENOMEM. */
int pmc_plan_from_frame(const void *bytes, size_t len, struct pmc_arena *arena,
			struct pmc_plan *plan);
/* The event as it is in a frame. */
struct pmc_event_def pmc_plan_def(const struct pmc_planned *planned);
/* Appends the EVENTSET frame; returns its hash, 0 if it did not fit. Async-signal-safe. */
uint64_t pmc_plan_frame(const struct pmc_plan *plan, struct pmc_frame_buf *buf);
