/* SPDX-License-Identifier: MIT */
/* limit.h - the limit of CPU time that a process's cgroup has. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct live_cpu_limit {
	double cpus; /* 0: none */
	/* Periods in which its threads ran, and those in which they were held back, since the
	 * cgroup was made; and for how long, the sum over the CPUs. */
	uint64_t periods, throttled, throttled_ns;
};

/* The tightest limit of the process's cgroup and those above it, of cgroup v2 or v1
 * (Documentation/admin-guide/cgroup-v2.rst, Documentation/scheduler/sched-bwc.rst). */
void live_cpu_limit_read(pid_t pid, struct live_cpu_limit *limit);
/* What came since an earlier reading. */
void live_cpu_limit_since(struct live_cpu_limit *now, const struct live_cpu_limit *before);
