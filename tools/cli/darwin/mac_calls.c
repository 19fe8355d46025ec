/* SPDX-License-Identifier: MIT */
/* mac_calls.c - the system calls of mac_usage.h on a Mac: those of the agent. */
#include "agent/core/count/thread_counts.h"
#include "tools/cli/mac_usage.h"

#include <sys/resource.h>

_Static_assert(sizeof(struct rusage_info_v4) == MAC_USAGE_BYTES, "layout of the kernel's reply");

static int usage_of(pid_t pid, uint8_t bytes[MAC_USAGE_BYTES])
{
	return pmc_mac_system.process_usage(pid, RUSAGE_INFO_V4, bytes, MAC_USAGE_BYTES);
}

static void timebase(uint32_t *numer, uint32_t *denom)
{
	pmc_mac_system.timebase(numer, denom);
}

const struct mac_usage_calls mac_usage_system = {
	.usage = usage_of,
	.timebase = timebase,
};
