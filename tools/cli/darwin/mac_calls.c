/* SPDX-License-Identifier: MIT */
/* mac_calls.c - the system calls of mac_usage.h on a Mac. */
#include "tools/cli/mac_usage.h"

#include <errno.h>
#include <libproc.h>
#include <mach/mach_time.h>
#include <sys/resource.h>

_Static_assert(sizeof(struct rusage_info_v4) == MAC_USAGE_BYTES, "layout of the kernel's reply");

static int usage_of(pid_t pid, uint8_t bytes[MAC_USAGE_BYTES])
{
	return proc_pid_rusage(pid, RUSAGE_INFO_V4, (rusage_info_t *)(void *)bytes) == 0 ? 0 :
											     -errno;
}

static void timebase(uint32_t *numer, uint32_t *denom)
{
	mach_timebase_info_data_t base = { 1, 1 };

	mach_timebase_info(&base);
	*numer = base.numer;
	*denom = base.denom;
}

const struct mac_usage_calls mac_usage_system = {
	.usage = usage_of,
	.timebase = timebase,
};
