/* SPDX-License-Identifier: MIT */
/* pack.h - puts the events that open into groups that the PMU runs. */
#ifndef PMC_CORE_PLAN_PACK_H
#define PMC_CORE_PLAN_PACK_H

#include "agent/core/plan/plan.h"

/* Sets the group of each event that is in state PMC_COUNTED; those of braces that do not run
 * together become PMC_NOT_COUNTED. Returns the number of groups. */
unsigned pmc_plan_pack(pmc_perf_opener open, struct pmc_planned *events, unsigned count);

#endif
