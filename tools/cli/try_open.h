/* SPDX-License-Identifier: MIT */
/* try_open.h - perf_event_open(2) where a seccomp filter may kill its callers. */
#pragma once

#include "lib/count/group.h"

#include <stdbool.h>

/* Beside 0 and -errno: the attempt would be killed. */
#define TOOL_PROBE_KILLED (-4096)
#define TOOL_KILLED_TEXT  "a seccomp filter kills processes that call perf_event_open"

/* Opens the event on this thread and closes it. 0, -errno or TOOL_PROBE_KILLED. */
int tool_perf_try(const struct perf_event_attr *attr);
/* Whether perf_event_open kills its callers; found out once, by a child. */
bool tool_perf_killed(void);
/* A pmc_perf_opener: pmc_perf_open_self(), or -EPERM where the call kills. */
int tool_perf_open(struct pmc_attr *attr, int leader);
/* Opens an event on this thread or, with cpu >= 0, for that CPU, and closes it. 0 or -errno; -EPERM
 * where the call kills. */
int tool_event_try(const struct pmc_event *event, enum pmc_scope scope, int cpu);
