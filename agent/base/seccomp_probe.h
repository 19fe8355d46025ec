/* SPDX-License-Identifier: MIT */
/* seccomp_probe.h - which calls filters permit, found out without risk to the host. */
#pragma once

#include "lib/plan/plan.h"

/* Whether perf_event_open may be called without being killed by a seccomp filter. Probes the first
 * filter that is there. Async-signal-safe. */
bool agent_perf_allowed(void);
/* From now on it may not. */
void agent_perf_forbid(void);
/* Makes the call in a throwaway clone. */
void agent_perf_try(void);
/* The same for process_vm_readv on the own process. */
bool agent_read_allowed(void);
void agent_read_try(void);
/* Before signals of the agent come: remembers whether there is a filter. Once. */
void agent_filters_at_start(void);
/* Whether a filter was installed since then without a hook seeing it; false under a filter from
 * before, where the kernel shows no difference. One system call. */
bool agent_unseen_filter(void);
/* The probe for pmc_plan_make: perf_event_open, or its refusal where it is not allowed. */
pmc_perf_opener agent_probe(void);
