/* SPDX-License-Identifier: MIT */
/* breakpoints.h - whether hardware breakpoints count here: some hypervisors accept them, and never
 * report that one was hit. Asked of the kernel, past the library. */
#ifndef PMC_TEST_BREAKPOINTS_H
#define PMC_TEST_BREAKPOINTS_H

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline bool breakpoints_count(void)
{
	static volatile uint64_t watched;
	struct perf_event_attr attr = { .type = PERF_TYPE_BREAKPOINT, .size = sizeof(attr) };
	uint64_t count = 0;
	int fd;

	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = (uint64_t)(uintptr_t)&watched;
	attr.bp_len = 8;
	attr.exclude_kernel = 1;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		printf("skip: this machine has no breakpoint registers left\n");
		return false;
	}
	watched = 1;
	if (read(fd, &count, sizeof(count)) != sizeof(count))
		count = 0;
	close(fd);
	if (!count)
		printf("skip: hardware breakpoints are never hit on this virtual machine\n");
	return count;
}

#endif
