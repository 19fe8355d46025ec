/* SPDX-License-Identifier: MIT */
/* typed.h - opening a typed group from events that are looked up already; private to the API. */
#ifndef PMC_CORE_API_TYPED_H
#define PMC_CORE_API_TYPED_H

#include "agent/core/plan/plan.h"

#include <pmc/group.h>

#define TYPED_READ_FORMAT                                                                          \
	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID |        \
	 PERF_FORMAT_GROUP)

/* ---- typed.c -------------------------------------------------------------------------------*/
/* Nothing open, nothing failed. */
void typed_begin(struct pmc_typed *group, struct pmc_typed_event *events, unsigned n);
/* The events of the rows; *failed is the row that is none. -ENOENT, -EINVAL, -ENOMEM. */
int typed_look_up(const struct pmc_field *fields, unsigned n, struct pmc_arena *arena,
		  struct pmc_planned *planned, int32_t *failed);
/* The next event of the group, as opened: a descriptor or -errno. On failure it is the failed one;
 * the caller closes the group. */
int typed_add(struct pmc_typed *group, struct pmc_typed_event *events, int fd,
	      const struct pmc_attr *attr);
/* Opens planned[0..n), n >= 1, as one disabled group on pid and cpu, each with its own scope.
 * Otherwise as pmc_typed_open(). */
int typed_open_planned(struct pmc_typed *group, struct pmc_typed_event *events,
		       const struct pmc_planned *planned, unsigned n, int pid, int cpu);

#endif
