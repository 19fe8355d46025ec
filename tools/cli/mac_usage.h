/* SPDX-License-Identifier: MIT */
/*
 * mac_usage.h - what macOS knows of a process without privilege: proc_pid_rusage(), version 4.
 *
 * Implemented in darwin/mac_usage.c. The counts are of the process alone; its children have theirs.
 */
#ifndef PMC_TOOLS_CLI_MAC_USAGE_H
#define PMC_TOOLS_CLI_MAC_USAGE_H

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

/* Size of struct rusage_info_v4. */
enum { MAC_USAGE_BYTES = 296 };

/* The system calls; tests have a double. */
struct mac_usage_calls {
	/* proc_pid_rusage(RUSAGE_INFO_V4): 0 or -errno. */
	int (*usage)(pid_t pid, uint8_t bytes[MAC_USAGE_BYTES]);
	/* mach_timebase_info(): nanoseconds are units * numer / denom. denom 0:
	 * unknown. */
	void (*timebase)(uint32_t *numer, uint32_t *denom);
};
extern const struct mac_usage_calls mac_usage_system;

/* Also of a process that has ended but was not waited for. 0, or -errno: *usage is all 0 then.
 * -ESRCH: there is none; -EPERM: it is of another user. */
int mac_usage_read(const struct mac_usage_calls *calls, pid_t pid, struct mac_usage *usage);

#endif
