/* SPDX-License-Identifier: MIT */
/* region.c - REGION frames: the newest per thread and name, less the cost of marking. */
#include "tools/rows/tables.h"
#include "lib/base/number.h"

#include <errno.h>

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* What marking adds to the inclusive or exclusive sum; see pmc/dump.h. */
static uint64_t cost_of(const struct pmc_region_fixed *fixed, bool exclusive, uint64_t inside,
			uint64_t around)
{
	if (exclusive)
		return add(times(fixed->calls, inside),
			   times(fixed->direct, pmc_sub_sat(around, inside)));
	return add(times(fixed->outermost, inside), times(fixed->nested, around));
}

/* The cost in raw counts: an event that ran half of the time saw half of the cost. */
static uint64_t as_raw(const struct pmc_count *count, uint64_t cost)
{
	if (count->state != PMC_SCALED)
		return cost;
	return (uint64_t)((unsigned __int128)cost * count->running_ns / count->enabled_ns);
}

static void take_off(const struct pmc_region_fixed *fixed, bool exclusive, unsigned n,
		     struct pmc_count *counts, const struct pmc_count *inside,
		     const struct pmc_count *around)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t cost;

		if (!pmc_count_has_value(&counts[i]))
			continue;
		cost = cost_of(fixed, exclusive,
			       pmc_count_has_value(&inside[i]) ? pmc_count_value(&inside[i]) : 0,
			       pmc_count_has_value(&around[i]) ? pmc_count_value(&around[i]) : 0);
		counts[i].raw = pmc_sub_sat(counts[i].raw, as_raw(&counts[i], cost));
	}
}

static int fill(struct pmc_profile *profile, struct pmc_p_region *region, struct pmc_cursor *cursor)
{
	const struct pmc_region_fixed *fixed = &region->fixed;
	struct pmc_p_eventset *set = NULL;
	struct pmc_count *counts;
	unsigned n; /* from one part to the next */

	if (fixed->eventset)
		set = profile_find_set(profile, fixed->eventset);
	if (!set)
		return 0;
	n = set->n_parts;
	counts = pmc_arena_alloc(&profile->arena, (REGION_PARTS * n + 1) * sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	for (unsigned part = 0; part < REGION_PARTS; part++)
		profile_take_counts(set, fixed->n_groups, cursor, false, counts + part * n);
	if (fixed->flags & PMC_REGION_COST) {
		take_off(fixed, false, set->view.count, counts, counts + INSIDE * n,
			 counts + AROUND * n);
		take_off(fixed, true, set->view.count, counts + EXCLUSIVE * n, counts + INSIDE * n,
			 counts + AROUND * n);
		region->around = counts + AROUND * n;
	}
	region->set = &set->view;
	region->counts = counts;
	region->self_counts = counts + EXCLUSIVE * n;
	return 0;
}

int profile_list_region(struct pmc_profile *profile, const struct table_frame *kept)
{
	struct pmc_p_region *region;
	struct pmc_region_fixed now, *fixed;
	struct pmc_cursor cursor;
	const char *name;
	size_t len;

	pmc_frame_fixed(&kept->frame, &now, sizeof(now));
	/* Cleared by a reset. */
	if (!now.calls && !now.open)
		return 0;
	region = pmc_arena_alloc(&profile->arena, sizeof(*region));
	if (!region)
		return -ENOMEM;
	fixed = &region->fixed;
	*fixed = now;
	pmc_cursor_init(&cursor, &kept->frame);
	pmc_cursor_str(&cursor, &name, &len);
	region->process = &kept->process->pub;
	region->row = profile_find_row(region->process, fixed->seq);
	region->name = kept->key->text;
	region->name_len = kept->text_len;
	region->has_cpu = fixed->flags & PMC_REGION_CPU;
	region->cpu_ns = fixed->cpu_ns;
	region->self_cpu_ns = fixed->self_cpu_ns;
	if (fixed->flags & PMC_REGION_COST) {
		region->cpu_ns =
			pmc_sub_sat(region->cpu_ns, cost_of(fixed, false, fixed->inside_cpu_ns,
							    fixed->around_cpu_ns));
		region->self_cpu_ns =
			pmc_sub_sat(region->self_cpu_ns, cost_of(fixed, true, fixed->inside_cpu_ns,
								 fixed->around_cpu_ns));
	}
	profile->regions[profile->n_regions++] = region;
	return fill(profile, region, &cursor);
}
