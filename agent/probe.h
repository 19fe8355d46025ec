/* SPDX-License-Identifier: MIT */
/* probe.h - how events may be tried here without the attempt killing the host. */
#ifndef PMC_AGENT_PROBE_H
#define PMC_AGENT_PROBE_H

#include "agent/core/plan.h"

/* The probe for pmc_plan_make: perf_event_open, or a refusal if a seccomp filter would kill us
 * for it (then noted). */
pmc_probe_open agent_probe(void);

#endif
