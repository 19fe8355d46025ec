/* SPDX-License-Identifier: MIT */
/*
 * mac_usage.h - what macOS knows of a process without privilege: proc_pid_rusage(), version 4.
 *
 * Implemented in darwin/mac_usage.c. The counts are of the process alone; its children have theirs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mac_usage {
	bool timed; /* false: the times are not known, under Rosetta */
	uint64_t user_ns, system_ns;
	uint64_t resident_bytes, peak_footprint_bytes;
	bool ended;
	bool counted; /* false: a virtual machine, or a process that has not run */
	uint64_t instructions, cycles;
};

/* Also of a process that has ended but was not waited for. 0, or -errno: *usage is all 0 then.
 * -ESRCH: there is none; -EPERM: it is of another user. */
int mac_usage_read(pid_t pid, struct mac_usage *usage);
