/* SPDX-License-Identifier: MIT */
/*
 * counter.h - what is behind the opaque types of pmc/counter.h.
 *
 * Private to agent/core/api: library code for programs that link libpmc, which may use malloc and
 * is never part of the agent.
 */
#ifndef PMC_CORE_API_COUNTER_H
#define PMC_CORE_API_COUNTER_H

#include "agent/core/count/perf.h"

#include <pmc/counter.h>

/* Where a counter's own readings start: the last reset. */
struct counter_zero {
	uint64_t count, enabled_ns, running_ns;
};

/* The same of the group it leads; values as long as the group was then. */
struct group_zero {
	struct pmc_perf_head head;
	size_t room;
	struct pmc_perf_value *values;
};

struct pmc_counter {
	int fd;
	struct pmc_attr attr;
	struct pmc_counter_group *group; /* NULL: on its own */
	uint64_t id;			 /* of a group member: the kernel's */
	uint64_t member_id;		 /* of one that was adopted; 0: it leads what it reads */
	struct counter_zero zero;
	struct group_zero group_zero;
};

struct pmc_counter_group {
	struct pmc_open open; /* for members to come */
	struct pmc_counter **members;
	size_t count, room;
};

/* ---- counter_open.c ----------------------------------------------------------------------- */
/* What is to be opened, in our version of the struct. */
struct counter_request {
	struct pmc_counter_event event;
	struct pmc_open open;
};

/* The caller's idea of a struct pmc_open in ours. 0, -EINVAL: not from PMC_OPEN_INIT; -E2BIG: it
 * has members set that we do not know. */
int counter_request_make(struct counter_request *request, const struct pmc_counter_event *event,
			 const struct pmc_open *open, struct pmc_failure *failure);
/* Opens it behind the leader (NULL: alone). The counter is the caller's to free. */
int counter_request_open(const struct counter_request *request, const struct pmc_counter *leader,
			 struct pmc_counter **counter, struct pmc_failure *failure);
/* Closes and frees, group member or not. */
void counter_free(struct pmc_counter *counter);

/* ---- counter_option.c --------------------------------------------------------------------- */
/* The descriptor of a request, or -errno. */
int counter_try(const struct counter_request *request, const struct pmc_counter *leader,
		struct pmc_attr *attr);
/* Says why the kernel refused it. Tries again without options, the newest first. */
void counter_explain(const struct counter_request *request, const struct pmc_counter *leader,
		     int error, struct pmc_failure *failure);

/* ---- counter_failure.c -------------------------------------------------------------------- */
/* Fills *failure, if there is one; returns the error, which is negative. The advice is cut to
 * what fits. */
int counter_fail(struct pmc_failure *failure, int error, const char *what, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* ---- counter_read.c ----------------------------------------------------------------------- */
/* What the descriptor says now, nothing taken off. The first max values are stored. */
int counter_fetch(const struct pmc_counter *counter, struct pmc_perf_head *head,
		  struct pmc_perf_value *values, size_t max);
/* Its own readings start from now. */
int counter_zero_here(struct pmc_counter *counter);

/* Readings of the leader's group start from now. Does not allocate if there is room. */
int counter_group_zero(struct pmc_counter *leader);
/* Room for what a reset of n members keeps. 0 or -ENOMEM. */
int counter_group_zero_room(struct pmc_counter *leader, size_t n);

/* ---- counter_group.c ---------------------------------------------------------------------- */
/* The group's readings start from now; its members' own go on. Async-signal-safe. */
int counter_group_zero_here(struct pmc_counter_group *group);

static inline bool counter_is_grouped(const struct pmc_counter *counter)
{
	return counter->group || counter->attr.base.read_format & PERF_FORMAT_GROUP;
}

#endif
