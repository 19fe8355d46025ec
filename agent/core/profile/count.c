/* SPDX-License-Identifier: MIT */
/* count.c - the value of a count that was scaled. */
#include "agent/core/base/number.h"
#include "agent/core/profile/profile.h"

uint64_t pmc_count_scaled(const struct pmc_count *count)
{
	uint64_t value = count->raw;

	if (count->added)
		return count->added;
	pmc_scale(count->raw, count->enabled_ns, count->running_ns, &value);
	return value;
}
