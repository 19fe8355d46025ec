/* SPDX-License-Identifier: MIT */
/* mac_usage.c - the fields of proc_pid_rusage() that pmctl shows. */
#include "tools/cli/mac_usage.h"
#include "lib/count/thread_counts.h"

#include <string.h>

int mac_usage_read(pid_t pid, struct mac_usage *usage)
{
	struct pmc_mac_usage raw;
	uint32_t numer = 1, denom = 1;
	int error = pmc_mac_system.process_usage(pid, 4, &raw);

	memset(usage, 0, sizeof(*usage));
	if (error)
		return error;
	pmc_mac_system.timebase(&numer, &denom);
	usage->timed = denom != 0;
	usage->user_ns = pmc_mac_ns(raw.user, numer, denom);
	usage->system_ns = pmc_mac_ns(raw.system, numer, denom);
	usage->resident_bytes = raw.resident_bytes;
	usage->ended = raw.exit != 0;
	usage->peak_footprint_bytes = raw.peak_footprint_bytes;
	usage->instructions = raw.instructions;
	usage->cycles = raw.cycles;
	/* Kernels without counters leave both 0. */
	usage->counted = raw.instructions && raw.cycles;
	return 0;
}
