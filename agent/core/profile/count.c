/* SPDX-License-Identifier: MIT */
/* count.c - one count: whether there is a value, and which. */
#include "agent/core/count/perf.h"
#include "agent/core/profile/profile.h"

#include <errno.h>

bool pmc_count_has_value(const struct pmc_count *count)
{
	return count->state == PMC_COUNTED || count->state == PMC_SCALED;
}

int pmc_scale(uint64_t raw, uint64_t enabled, uint64_t running, uint64_t *value)
{
	unsigned __int128 product = (unsigned __int128)raw * enabled;

	if (running == 0)
		return -EAGAIN;
	*value = raw;
	if (running >= enabled)
		return 0;
	product = (product + running / 2) / running;
	*value = product > UINT64_MAX ? UINT64_MAX : (uint64_t)product;
	return product > UINT64_MAX ? -EOVERFLOW : 0;
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
