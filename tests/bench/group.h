/* SPDX-License-Identifier: MIT */
/* group.h - a group of four software events, as the agent opens them. */
#ifndef PMC_BENCH_GROUP_H
#define PMC_BENCH_GROUP_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of thread tid; 0: the calling one. Returns the leader's descriptor. */
static inline int open_group(int tid)
{
	static const uint64_t events[4] = { PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
					    PERF_COUNT_SW_CONTEXT_SWITCHES,
					    PERF_COUNT_SW_CPU_MIGRATIONS };
	int leader = -1;

	for (unsigned i = 0; i < 4; i++) {
		struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
						.size = sizeof(attr),
						.config = events[i],
						.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID |
							       PERF_FORMAT_TOTAL_TIME_ENABLED |
							       PERF_FORMAT_TOTAL_TIME_RUNNING };
		int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, leader, 0);

		if (fd < 0) {
			perror("perf_event_open");
			exit(1);
		}
		leader = leader < 0 ? fd : leader;
	}
	return leader;
}

#endif
