/* SPDX-License-Identifier: MIT */
/* mac_usage.c - decodes struct rusage_info_v4 of <sys/resource.h>, by its offsets. */
#include "tools/cli/mac_usage.h"

#include <string.h>

enum {
	USER_TIME = 16, /* times are in units of mach_absolute_time() */
	SYSTEM_TIME = 24,
	RESIDENT_SIZE = 64,
	PROC_EXIT_ABSTIME = 88,
	LIFETIME_MAX_PHYS_FOOTPRINT = 240,
	INSTRUCTIONS = 248,
	CYCLES = 256,
};

static uint64_t word(const uint8_t *bytes, unsigned at)
{
	uint64_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

static uint64_t ns_of(uint64_t units, uint32_t numer, uint32_t denom)
{
	return denom ? (uint64_t)((unsigned __int128)units * numer / denom) : 0;
}

int mac_usage_read(const struct mac_usage_calls *calls, pid_t pid, struct mac_usage *usage)
{
	uint8_t bytes[MAC_USAGE_BYTES];
	uint32_t numer = 1, denom = 1;
	int error = calls->usage(pid, bytes);

	memset(usage, 0, sizeof(*usage));
	if (error)
		return error;
	calls->timebase(&numer, &denom);
	usage->timed = denom != 0;
	usage->user_ns = ns_of(word(bytes, USER_TIME), numer, denom);
	usage->system_ns = ns_of(word(bytes, SYSTEM_TIME), numer, denom);
	usage->resident_bytes = word(bytes, RESIDENT_SIZE);
	usage->ended = word(bytes, PROC_EXIT_ABSTIME) != 0;
	usage->peak_footprint_bytes = word(bytes, LIFETIME_MAX_PHYS_FOOTPRINT);
	usage->instructions = word(bytes, INSTRUCTIONS);
	usage->cycles = word(bytes, CYCLES);
	/* Kernels without counters leave both 0. */
	usage->counted = usage->instructions && usage->cycles;
	return 0;
}
