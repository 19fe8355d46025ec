/* SPDX-License-Identifier: MIT */
/* count.c - one count: whether there is a value, and which. */
#include "agent/core/profile.h"

bool pmc_count_has_value(const struct pmc_count *count)
{
	return count->state == PMC_COUNTED || count->state == PMC_SCALED;
}

uint64_t pmc_count_value(const struct pmc_count *count)
{
	unsigned __int128 product;

	if (count->state != PMC_SCALED || count->running_ns == 0)
		return count->raw;
	product = (unsigned __int128)count->raw * count->enabled_ns;
	product = (product + count->running_ns / 2) / count->running_ns;
	return product > UINT64_MAX ? UINT64_MAX : (uint64_t)product;
}
