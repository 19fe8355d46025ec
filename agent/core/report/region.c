/* SPDX-License-Identifier: MIT */
/* region.c - marked regions in the views: rows to group, the cost of marking. */
#include "agent/core/report/view.h"

#include <errno.h>

/* A region in one thread, as a thread that did nothing else. */
static void as_thread(struct pmc_profile *profile, const struct pmc_p_region *region,
		      struct pmc_p_thread *row)
{
	struct pmc_thread_buf buf;

	if (region->row)
		*row = *pmc_profile_thread(profile, region->row, &buf);
	row->process = (struct pmc_p_process *)region->process;
	row->module = row->symbol = "";
	row->fixed.seq = region->fixed.seq;
	row->fixed.flags = PMC_THREAD_NO_RUSAGE | (region->has_cpu ? 0 : PMC_THREAD_NO_CPU);
	row->fixed.start_ns = row->fixed.end_ns = 0;
	row->fixed.cpu_ns = region->cpu_ns;
	row->set = region->set;
	row->counts = region->counts;
	row->region = region;
}

int pmc_view_regions(struct pmc_view *view)
{
	struct pmc_profile *profile = view->profile;
	bool all = view->rows == profile->threads;

	view->regions =
		pmc_arena_alloc(view->arena, (profile->n_regions + 1) * sizeof(*view->regions));
	if (!view->regions)
		return -ENOMEM;
	for (uint64_t i = 0; i < profile->n_regions; i++) {
		const struct pmc_p_region *region = profile->regions[i];

		if (all || (region->row && pmc_view_selects(view, region->row)))
			as_thread(profile, region, &view->regions[view->n_regions++]);
	}
	return 0;
}

/* ---- under the table -----------------------------------------------------------------------*/

static void pair_cost(struct pmc_view *view, const struct pmc_p_region *region)
{
	struct pmc_out *out = view->out;

	pmc_out_str(out, view->glyphs->dot);
	pmc_out_str(out, "begin and end cost ");
	pmc_show_time(out, (double)region->fixed.around_cpu_ns, view->glyphs->micro);
	for (unsigned i = 0; region->set && region->around && i < region->set->count; i++) {
		const struct pmc_count *count = &region->around[i];

		if (strcmp(region->set->events[i].name, "instructions") ||
		    !pmc_count_has_value(count))
			continue;
		pmc_out_str(out, " and ");
		pmc_show_integer(out, pmc_count_value(count));
		pmc_out_str(out, " instructions");
		break;
	}
	pmc_out_str(out, region->fixed.flags & PMC_REGION_USER_READS ?
				 " (read in user space), subtracted" :
				 ", subtracted");
}

void pmc_view_region_line(struct pmc_view *view)
{
	const struct pmc_p_region *dearest = NULL;
	struct pmc_out *out = view->out;

	if (view->by != PMC_BY_REGION) {
		if (view->n_regions)
			pmc_out_str(out,
				    " it marks regions: pmctl report --by region shows them\n");
		return;
	}
	if (!view->n_regions) {
		pmc_out_str(out, " no regions marked in these threads; see pmc_region(3)\n");
		return;
	}
	/* The cost is the same in all threads read in the same way: the highest stands for it. */
	for (uint64_t i = 0; i < view->n_regions; i++) {
		const struct pmc_p_region *region = view->regions[i].region;

		if ((region->fixed.flags & PMC_REGION_COST) &&
		    (!dearest || region->fixed.around_cpu_ns > dearest->fixed.around_cpu_ns))
			dearest = region;
	}
	pmc_out_str(out, " regions include inner regions; self excludes them");
	if (dearest)
		pair_cost(view, dearest);
	pmc_out_char(out, '\n');
}
