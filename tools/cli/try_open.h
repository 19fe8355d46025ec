/* SPDX-License-Identifier: MIT */
/* try_open.h - perf_event_open where a seccomp filter may kill whoever calls it. */
#ifndef PMC_TOOLS_CLI_TRY_OPEN_H
#define PMC_TOOLS_CLI_TRY_OPEN_H

#include "agent/core/count/perf.h"

#include <stdbool.h>

/* What tool_perf_try says when the attempt was killed. */
#define TOOL_PROBE_KILLED (-4096)

/* Opens the event on this thread and closes it again. 0, -errno or TOOL_PROBE_KILLED. Under
 * seccomp a throwaway child does it. */
int tool_perf_try(const struct perf_event_attr *attr);
/* Whether the call itself is deadly here; found out once. */
bool tool_perf_killed(void);
/* A pmc_perf_opener: pmc_perf_open_self(), or -EPERM where the call is deadly. */
int tool_perf_open(struct pmc_attr *attr, int leader);

#endif
