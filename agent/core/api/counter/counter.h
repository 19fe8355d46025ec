/* SPDX-License-Identifier: MIT */
/*
 * counter.h - the opaque types of pmc/counter.h, for the folders of agent/core/api.
 *
 * Library code for programs that link libpmc: it may use malloc and is not part of the agent.
 */
#ifndef PMC_CORE_API_COUNTER_H
#define PMC_CORE_API_COUNTER_H

#include "agent/core/count/perf.h"

#include <pmc/counter.h>

/* A counter's reading at its last reset. */
struct counter_zero {
	uint64_t count, enabled_ns, running_ns;
};

struct pmc_counter {
	int fd;
	struct pmc_attr attr;
	struct pmc_counter_group *group; /* NULL: on its own */
	uint64_t id;			 /* of a group member: the kernel's */
	uint64_t member_id;		 /* of an adopted member; 0: a leader or on its own */
	struct counter_zero zero;
	struct counter_zero group_zero; /* the times of the group it leads */
};

struct pmc_counter_group {
	struct pmc_open open; /* for new members */
	struct pmc_counter **members;
	struct pmc_perf_value *zero; /* of each member, at the group's last reset */
	size_t count, room;
};

/* ---- counter_open.c ----------------------------------------------------------------------- */
/* Fills *failure unless NULL; the advice is cut to fit. Returns the (negative) error. */
int counter_fail(struct pmc_failure *failure, int error, const char *what, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* What to open, in this library's version of the struct. */
struct counter_request {
	struct pmc_counter_event event;
	struct pmc_open open;
};

/* Converts the caller's version of struct pmc_open. 0, -EINVAL: not from PMC_OPEN_INIT, -E2BIG:
 * unknown members are set. */
int counter_request_make(struct counter_request *request, const struct pmc_counter_event *event,
			 const struct pmc_open *open, struct pmc_failure *failure);
/* Opens it as a sibling of the leader (NULL: alone). The caller frees the counter. */
int counter_request_open(const struct counter_request *request, const struct pmc_counter *leader,
			 struct pmc_counter **counter, struct pmc_failure *failure);
/* Closes and frees, group member or not. */
void counter_free(struct pmc_counter *counter);

/* ---- counter_option.c --------------------------------------------------------------------- */
/* The descriptor of a request, or -errno. */
int counter_try(const struct counter_request *request, const struct pmc_counter *leader,
		struct pmc_attr *attr);
/* Finds out why the kernel refused: tries again without one option after the other, newest first.
 */
void counter_explain(const struct counter_request *request, const struct pmc_counter *leader,
		     int error, struct pmc_failure *failure);

/* ---- counter_read.c ----------------------------------------------------------------------- */
/* The raw reading now. Stores the first max values. */
int counter_fetch(const struct pmc_counter *counter, struct pmc_perf_head *head,
		  struct pmc_perf_value *values, size_t max);
/* The raw running time now; 0 if it cannot be read. */
uint64_t counter_running_ns(const struct pmc_counter *counter);
/* Its own readings start from this one. */
int counter_zero_here(struct pmc_counter *counter);
/* The group's readings start from now; its members' own go on. Async-signal-safe. */
int counter_group_zero(struct pmc_counter_group *group);

#endif
