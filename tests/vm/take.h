/* SPDX-License-Identifier: MIT */
/* take.h - takes counters of CPU 0 by pinned per-CPU events, as any other user of the PMU may at
 * any time; the NMI watchdog of a PC does. */
#ifndef TAKE_H
#define TAKE_H

#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 0, or -1 with errno. Not close-on-exec: what follows keeps them. */
static inline int take_counters(int n)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_RAW;
	attr.config = 0x08; /* INST_RETIRED: a programmable counter, never the cycle counter */
	attr.pinned = 1;
	while (n-- > 0)
		if (syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0) < 0)
			return -1;
	return 0;
}

#endif
