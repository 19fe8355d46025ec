/* SPDX-License-Identifier: MIT */
/* seccomp_probe.h - how events may be tried here without the attempt killing the host. */
#ifndef PMC_AGENT_BASE_SECCOMP_PROBE_H
#define PMC_AGENT_BASE_SECCOMP_PROBE_H

#include "agent/core/plan/plan.h"

/* Whether perf_event_open may be called without a seccomp filter killing us for it. Asked at the
 * start and again where a filter may have come since; async-signal-safe. */
bool agent_perf_allowed(void);
/* The same, false also where it would have to be tried first. */
bool agent_perf_allowed_known(void);
/* The host has put a filter on itself. */
void agent_perf_filtered(void);
/* The probe for pmc_plan_make: perf_event_open, or its refusal where it is not allowed. */
pmc_perf_opener agent_probe(void);

#endif
