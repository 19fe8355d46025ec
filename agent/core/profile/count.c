/* SPDX-License-Identifier: MIT */
/* count.c - one count: whether there is a value, and which. */
#include "agent/core/base/number.h"
#include "agent/core/profile/profile.h"

bool pmc_count_has_value(const struct pmc_count *count)
{
	return count->state == PMC_COUNTED || count->state == PMC_SCALED;
}

uint64_t pmc_count_value(const struct pmc_count *count)
{
	uint64_t value = count->raw;

	if (count->state == PMC_SCALED && count->added)
		return count->added;
	if (count->state == PMC_SCALED)
		pmc_scale(count->raw, count->enabled_ns, count->running_ns, &value);
	return value;
}
