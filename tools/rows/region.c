/* SPDX-License-Identifier: MIT */
/* region.c - REGION frames: the newest per thread and name, less the cost of marking. */
#include "tools/rows/tables.h"

static uint64_t value_of(const struct pmc_count *count)
{
	return pmc_count_has_value(count) ? pmc_count_value(count) : 0;
}

/* Of each part that many counts. */
static void take_off(const struct pmc_region_fixed *fixed, bool exclusive, unsigned n_shown,
		     unsigned n, struct pmc_count *parts)
{
	for (unsigned i = 0; i < n_shown; i++) {
		struct pmc_count *count = &parts[(exclusive ? EXCLUSIVE : INCLUSIVE) * n + i];
		uint64_t cost =
			pmc_region_overhead(fixed, exclusive, value_of(&parts[INSIDE * n + i]),
					    value_of(&parts[AROUND * n + i]));

		/* An event that ran half of the time saw half of the cost. */
		if (count->state == PMC_SCALED)
			cost = (uint64_t)((unsigned __int128)cost * count->running_ns /
					  count->enabled_ns);
		if (pmc_count_has_value(count))
			count->raw = pmc_sub_sat(count->raw, cost);
	}
}

static void fill(struct pmc_profile *profile, struct pmc_p_region *region,
		 struct pmc_cursor *cursor)
{
	const struct pmc_region_fixed *fixed = &region->fixed;
	struct pmc_p_eventset *set = NULL;
	struct pmc_count *counts;
	unsigned n; /* from one part to the next */

	if (fixed->eventset)
		set = profile_find_set(profile, fixed->eventset);
	if (!set)
		return;
	n = set->n_parts;
	counts = pmc_arena_alloc(&profile->arena, (REGION_PARTS * n + 1) * sizeof(*counts));
	for (unsigned part = 0; part < REGION_PARTS; part++)
		profile_take_counts(set, fixed->n_groups, cursor, false, counts + part * n);
	if (fixed->flags & PMC_REGION_COST) {
		take_off(fixed, false, set->view.count, n, counts);
		take_off(fixed, true, set->view.count, n, counts);
		region->around = counts + AROUND * n;
	}
	region->set = &set->view;
	region->counts = counts;
	region->self_counts = counts + EXCLUSIVE * n;
}

void profile_list_region(struct pmc_profile *profile, const struct table_frame *kept)
{
	struct pmc_p_region *region;
	struct pmc_region_fixed now, *fixed;
	struct pmc_cursor cursor = profile_parts(&kept->frame, &now, sizeof(now));
	const char *name;
	size_t len;

	/* Cleared by a reset. */
	if (!now.calls && !now.open)
		return;
	region = pmc_arena_alloc(&profile->arena, sizeof(*region));
	fixed = &region->fixed;
	*fixed = now;
	pmc_cursor_str(&cursor, &name, &len);
	region->process = kept->process;
	region->row = profile_find_row(region->process, fixed->seq);
	region->name = kept->key->text;
	region->name_len = kept->text_len;
	if (fixed->flags & PMC_REGION_COST) {
		fixed->cpu_ns = pmc_sub_sat(fixed->cpu_ns,
					    pmc_region_overhead(fixed, false, fixed->inside_cpu_ns,
								fixed->around_cpu_ns));
		fixed->self_cpu_ns = pmc_sub_sat(
			fixed->self_cpu_ns, pmc_region_overhead(fixed, true, fixed->inside_cpu_ns,
								fixed->around_cpu_ns));
	}
	profile->regions[profile->n_regions++] = region;
	fill(profile, region, &cursor);
}
