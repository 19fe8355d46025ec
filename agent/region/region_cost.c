/* SPDX-License-Identifier: MIT */
/* region_cost.c - what marking a region costs, measured by marking empty ones. */
#include "agent/base/agent.h"
#include "agent/base/fork_guard.h"
#include "agent/core/base/sys.h"
#include "agent/region/region.h"

#include <signal.h>
#include <string.h>

#define PMC_REGION_API_ONLY
#include <pmc/region.h>

#include "agent/base/poison.h"

#define TRIES 32u

/* What a pair costs, by mode and by whether the groups count user mode only: measured once. */
enum { COST_NONE, COST_BEING_STORED, COST_KNOWN };
AGENT_ROOMY static struct cost {
	_Atomic uint32_t state;
	uint64_t inside[REGION_WORDS], around[REGION_WORDS];
} costs[REGION_MODES][2];

const _Atomic uint32_t region_unready;

/* As programs have it: pmc/region.h looks twice whether there is an agent, once what it offers. */
static const struct pmc_region_api *volatile const offered = &pmc_region_api;

static inline void begin(const char *name)
{
	const struct pmc_region_api *api = offered ? offered : NULL;

	if (api->begin)
		api->begin(name);
}

static inline void end(void)
{
	const struct pmc_region_api *api = offered ? offered : NULL;

	if (api->end)
		api->end();
}

/* One empty region in another, the least of many tries of each figure. */
static void measure(struct region_area *area, uint32_t first)
{
	const unsigned n = area->words;
	uint64_t *inside = area->inside, *around = area->around;

	for (unsigned try = 0; try < TRIES; try++) {
		const uint64_t *outer, *inner;

		for (uint32_t i = first; i < area->n_records; i++)
			memset(region_record(area, i)->words, 0, 2 * n * sizeof(uint64_t));
		/* No program's names. */
		begin("\001ar");
		begin("\001in");
		end();
		end();
		outer = region_record(area, first)->words;
		inner = region_record(area, first + 1)->words;
		for (unsigned i = 0; i < n; i++) {
			if (try == 0 || (int64_t)inner[i] < (int64_t)inside[i])
				inside[i] = inner[i];
			if (try == 0 || (int64_t)outer[i] < (int64_t)around[i])
				around[i] = outer[i];
		}
	}
	for (unsigned i = 0; i < n; i++) {
		inside[i] = (int64_t)inside[i] < 0 ? 0 : inside[i];
		around[i] = (int64_t)(around[i] - inside[i]) < 0 ? 0 : around[i] - inside[i];
	}
}

/* The records from `first` on were made for measuring only. */
static void drop_records(struct region_area *area, uint32_t first, uint32_t names_used)
{
	uint16_t *order = region_order(area);
	uint32_t kept = 0;

	region_unsettle(area);
	for (uint32_t i = 0; i < area->n_records - 1; i++)
		if (order[i] < first)
			order[kept++] = order[i];
	while (area->used_frames)
		region_frame(area, --area->used_frames)->record = NULL;
	area->n_records = first;
	area->names_used = names_used;
	region_settle(area);
}

static void known(struct region_area *area)
{
	area->uncalibrated = false;
	area->ready = &agent_alive[1];
}

void region_calibrate(struct region_area *area)
{
	const bool user = area->slot->flags & SLOT_USER_ONLY;
	struct cost *cost = &costs[area->mode][user];
	uint32_t expected = COST_NONE, records, names;
	/* Where a group was split reading takes longer: those measure for themselves. */
	bool shared = area->groups == agent.plan.groups;
	uint64_t mask;

	/* Groups that wait would cost nothing. */
	if ((area->mode != REGION_CLOCK && !atomic_load(&pmc_agent_control.counting)) ||
	    area->n_records + 2 > region_layout.max_records)
		return;
	if (shared && atomic_load(&cost->state) == COST_KNOWN) {
		memcpy(area->inside, cost->inside, sizeof(area->inside));
		memcpy(area->around, cost->around, sizeof(area->around));
		known(area);
		return;
	}
	if (region_depth(area))
		return;
	mask = region_block();
	/* Not before: a handler may have marked regions of new names. */
	records = area->n_records;
	names = area->names_used;
	area->ready = &agent_alive[1];
	measure(area, records);
	area->ready = &region_unready;
	drop_records(area, records, names);
	region_unblock(mask);
	/* Groups that did not count meanwhile tell nothing. */
	if (area->inside[REGION_CPU] == 0)
		return;
	known(area);
	if (!shared || !atomic_compare_exchange_strong(&cost->state, &expected, COST_BEING_STORED))
		return;
	memcpy(cost->inside, area->inside, sizeof(area->inside));
	memcpy(cost->around, area->around, sizeof(area->around));
	atomic_store(&cost->state, COST_KNOWN);
}

void region_costs_forked(void)
{
	/* Another thread may have been about to store one. */
	for (unsigned mode = 0; mode < REGION_MODES; mode++)
		for (unsigned user = 0; user < 2; user++)
			if (atomic_load(&costs[mode][user].state) == COST_BEING_STORED)
				atomic_store(&costs[mode][user].state, COST_NONE);
}
