/* SPDX-License-Identifier: MIT */
/* many_units.h - one group that many_a.c, many_b.c and many_c.cc all include. */
#ifndef MANY_UNITS_H
#define MANY_UNITS_H

#include <pmc/group.h>

#define SHARED(X)                                                                                  \
	X(faults, "page-faults", "", "page faults")                                                \
	X(cpu, "task-clock", "ns", "CPU time")
PMC_GROUP(shared, SHARED)

#ifdef __cplusplus
extern "C" {
#endif
/* many_b.c: opens and enables; many_c.cc: reads and closes. */
int shared_begin(struct shared *group);
int shared_end(struct shared *group, struct shared_values *values);
#ifdef __cplusplus
}
#endif

#endif
