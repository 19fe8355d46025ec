/* SPDX-License-Identifier: MIT */
/* region.c - what a table says about marked regions. */
#include "agent/core/report/view.h"

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

void pmc_footer_regions(struct pmc_view *view)
{
	const struct pmc_p_region *dearest = NULL;
	struct pmc_out *out = view->out;

	if (view->by != PMC_BY_REGION) {
		if (view->n_regions)
			pmc_footer_line(view,
					" it marks regions: pmctl report --by region shows them");
		return;
	}
	if (!view->n_regions) {
		pmc_footer_line(view, " no regions marked in these threads; see pmc_region(3)");
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
	pmc_footer_end_line(view);
}
