/* SPDX-License-Identifier: MIT */
/* region_cost.c - the cost of a pair of begin and end, measured with empty regions. */
#include "agent/base/agent.h"
#include "agent/region/region.h"

#include <string.h>

#define PMC_REGION_API_ONLY
#include <pmc/region.h>

#include "agent/base/poison.h"

#define TRIES 16u

/* By address, as programs call it. */
static const struct pmc_region_api *volatile const api = &pmc_region_api;

static void keep_least(uint64_t *least, const uint64_t *words, unsigned n, bool first)
{
	for (unsigned i = 0; i < n; i++)
		if (first || (int64_t)words[i] < (int64_t)least[i])
			least[i] = words[i];
}

void region_measure_cost(struct region_area *area)
{
	struct region_record *outer = region_record(area, REGION_COST_OUTER);
	struct region_record *inner = region_record(area, REGION_COST_INNER);
	const unsigned n = area->words;
	uint64_t mask;

	/* Groups that are stopped would make a pair cost nothing. */
	if (area->cost != REGION_COST_UNKNOWN || !atomic_load(&pmc_agent_control.counting))
		return;
	mask = region_block_signals();
	area->cost = REGION_COST_NONE;
	for (unsigned try = 0; try < TRIES; try++) {
		memset(outer->words, 0, n * sizeof(uint64_t));
		memset(inner->words, 0, n * sizeof(uint64_t));
		api->begin(REGION_COST_OUTER_NAME);
		api->begin(REGION_COST_INNER_NAME);
		api->end();
		api->end();
		keep_least(area->inside, inner->words, n, try == 0);
		keep_least(area->around, outer->words, n, try == 0);
	}
	for (unsigned i = 0; i < n; i++) {
		int64_t inside = (int64_t)area->inside[i], around = (int64_t)area->around[i];

		inside = inside < 0 ? 0 : inside;
		area->inside[i] = (uint64_t)inside;
		area->around[i] = around < inside ? 0 : (uint64_t)(around - inside);
	}
	if (area->inside[REGION_CPU])
		area->cost = REGION_COST_MEASURED;
	region_unblock_signals(mask);
}
