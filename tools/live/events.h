/* SPDX-License-Identifier: MIT */
/* events.h - events that are counted from outside: their plan, open groups, counts and metrics. */
#pragma once

#include "lib/plan/plan.h"
#include "tools/live/task.h"
#include "tools/rows/metrics.h"
#include "tools/table/table.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The machine lacks it. */
#define LIVE_ABSENT UINT_MAX

struct live_events {
	struct pmc_plan plan;
	struct pmc_p_set_view view;	  /* in the user's order */
	struct pmc_p_event *list;	  /* those of the view */
	unsigned view_of[PMC_EVENTS_MAX]; /* of each event of the plan, or LIVE_ABSENT */
};

/* Counted by default where the machine has them. */
#define LIVE_HARDWARE                                                                              \
	"cycles,instructions,branches,branch-misses,stalled-cycles-frontend,"                      \
	"stalled-cycles-backend"

/* optional: events that this machine does not have are left out. machine: uncore events are
 * counted. 0, or the exit code after printing the error. */
int live_events_plan(struct live_events *events, const char *text, bool optional, bool machine,
		     struct pmc_arena *arena);
/* No event of a PMU or the kernel is counted, for this error. */
void live_events_refuse(struct live_events *events, int error);
/* The events of an agent's EVENTSET frame, for groups that it has opened. The frame is not trusted,
 * so no event of it is opened here. 0 or -errno. */
int live_events_of_agent(struct live_events *events, const void *frame, size_t len,
			 struct pmc_arena *arena);
/* Whether any event can be counted; os: events of the OS, too. */
bool live_events_any(const struct live_events *events, bool os);
/* Whether an event of a PMU or the kernel is open. */
static inline bool live_event_is_open(const struct live_events *events, unsigned event)
{
	const struct pmc_event_def *def = &events->view.events[event].def;

	return !def->state && def->type != PMC_TYPE_OS;
}
/* None can be counted: prints why the first cannot. Returns the code. */
int live_events_fail(const struct live_events *events, const char *text, int code);

/* ---- groups ------------------------------------------------------------------------------- */

/* Events first .. first + n of the plan, or an uncore event alone, open on a thread or CPU. */
struct live_group {
	unsigned first, n;
	int cpu;  /* -1: any */
	int *fds; /* NULL: closed; the counts stay */
	uint64_t id, *words, *words_before;
	struct pmc_reading now, before;
};

/* Those of a row. All zero: none. */
struct live_groups {
	struct live_group *list;
	unsigned n;
};

/* Adds a group that another process has opened, by a duplicate of its leader's descriptor, which
 * becomes that of the group. */
void live_groups_take(struct live_groups *groups, unsigned first, unsigned n, int leader,
		      uint64_t id);
/* Adds one group, or all that the CPU can count, disabled. 0 or -errno. */
int live_groups_add(struct live_groups *groups, const struct live_events *events, unsigned first,
		    unsigned n, enum pmc_perf_group_kind kind, pid_t pid, int cpu);
int live_groups_open(struct live_groups *groups, const struct live_events *events,
		     enum pmc_perf_group_kind kind, pid_t pid, int cpu);
void live_groups_enable(const struct live_groups *groups);
void live_groups_free(struct live_groups *groups);
/* False: it cannot be read, and the counts stay; now.error says why. */
bool live_group_read(struct live_group *group);
/* The next interval begins with this reading. */
void live_group_step(struct live_group *group);
void live_group_close(struct live_group *group);
/* Adds counts of the last interval, or since the opening, to those of the view. */
void live_group_add(const struct live_group *group, const struct live_events *events,
		    bool cumulative, struct pmc_count *counts);

/* ---- counts of the view ------------------------------------------------------------------- */

void live_counts_clear(const struct live_events *events, struct pmc_count *counts);
/* Adds the counts of a row to those of a sum. */
void live_counts_add(const struct live_events *events, struct pmc_count *to,
		     const struct pmc_count *more);
/* Sets those of events of the OS; waits: run delay, too. */
void live_counts_os(const struct live_events *events, const struct live_span *span, bool waits,
		    struct pmc_count *counts);
/* In the event's unit: a whole number where it is one. */
struct table_cell live_event_cell(const struct live_events *events, const struct pmc_count *counts,
				  unsigned event);
/* Which metrics of metrics.def a table shows. */
bool live_shows_metric(const struct live_events *events, unsigned metric);
struct table_cell live_metric_cell(const struct live_events *events, const struct pmc_count *counts,
				   unsigned metric);
