/* SPDX-License-Identifier: MIT */
/* beside.c - lines under a table about what is in none of its rows of threads. */
#include "lib/base/number.h"
#include "tools/view/view.h"

/* ---- events of the whole machine --------------------------------------------------------- */

/* They are in no sum either: all processes are in them, while the first one ran. */

/* Counts of several first processes may overlap in time: each is shown with its pid. */
static bool is_ambiguous(const struct pmc_view *view)
{
	const struct pmc_profile *profile = view->profile;
	unsigned n = 0;

	for (uint64_t i = 0; i < profile->n_processes && n < 2; i++)
		n += profile->processes[i]->machine.set != NULL;
	return n > 1;
}

static void uncore_value(struct pmc_view *view, const struct pmc_p_event *event,
			 const struct pmc_count *count)
{
	struct pmc_out *out = view->out;
	double value = (double)pmc_count_value(count) * pmc_event_scale(event);

	if (!strcmp(event->unit, "ns")) {
		pmc_show_time(out, value, view->glyphs->micro);
		return;
	}
	pmc_show_number(out, value);
	if (event->unit[0]) {
		pmc_out_char(out, ' ');
		pmc_view_text(view, event->unit, 24);
	}
}

static void uncore_why_not(struct pmc_out *out, const struct pmc_count *count)
{
	pmc_out_str(out, pmc_state_name(count->state));
	if (count->state == PMC_NOT_PERMITTED)
		pmc_out_str(out, ": needs kernel.perf_event_paranoid=0 or CAP_PERFMON");
	else if (count->error)
		pmc_outf(out, ": %s", pmc_reason_text(count->error));
}

void pmc_footer_uncore(struct pmc_view *view)
{
	const struct pmc_profile *profile = view->profile;
	bool ambiguous = is_ambiguous(view);
	struct pmc_out *out = view->out;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];
		const struct pmc_p_set_view *set = process->machine.set;

		for (unsigned e = 0; set && e < set->count; e++) {
			const struct pmc_p_event *event = &set->events[e];
			const struct pmc_count *count = &process->machine.counts[e];

			pmc_out_str(out, " whole machine: ");
			pmc_view_text(view, event->name, 60);
			pmc_out_char(out, ' ');
			if (pmc_count_has_value(count))
				uncore_value(view, event, count);
			else
				uncore_why_not(out, count);
			if (count->state == PMC_SCALED)
				pmc_out_str(out, ", scaled");
			if (ambiguous && process->known)
				pmc_outf(out, ", while process %u ran", process->fixed.pid);
			pmc_footer_end_line(view);
		}
	}
}

/* ---- marked regions ---------------------------------------------------------------------- */

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

/* ---- CPU time outside the event that stands for it ---------------------------------------- */

/* Where task-clock is in the place of the CPU time: what the title has more than the total. */
void pmc_footer_outside_clock(struct pmc_view *view, const struct pmc_footer *footer)
{
	const uint64_t cpu_ns = footer->coverage->shown_cpu_ns;
	const struct pmc_fold_stat *clock;
	uint64_t outside_ns;

	if (view->clock_event < 0 || view->options->timeline || view->by == PMC_BY_REGION)
		return;
	clock = &footer->all->events[view->clock_event];
	outside_ns = pmc_sub_sat(cpu_ns, clock->sum);
	if (clock->rows < footer->all->rows + clock->extra || outside_ns < cpu_ns / 100 ||
	    !outside_ns)
		return;
	pmc_out_char(view->out, ' ');
	pmc_show_time(view->out, (double)outside_ns, view->glyphs->micro);
	pmc_footer_line(view, " CPU is not in task-clock, which does not count the start and "
			      "end of programs and threads");
}

/* ---- values that lack a part -------------------------------------------------------------- */

/* Which part is missing in values that are printed with a +. */
void pmc_footer_partial(struct pmc_view *view, const struct pmc_footer *footer)
{
	const struct pmc_coverage *coverage = footer->coverage;

	pmc_out_str(view->out, " +: at least this much; ");
	if (view->n_where || coverage->threads_uncounted ||
	    footer->all->usage_rows < footer->all->rows)
		pmc_footer_line(view, "some rows could not be counted");
	else if (coverage->ended_elsewhere)
		pmc_footer_line(view, "rows of ended threads are in another dump");
	else
		pmc_footer_line(view, "work outside thread rows was not counted in full");
}

/* ---- threads that are in another dump ---------------------------------------------------- */

void pmc_footer_ended(struct pmc_view *view, const struct pmc_coverage *coverage)
{
	if (!coverage->ended_elsewhere)
		return;
	pmc_out_char(view->out, ' ');
	pmc_show_count(view->out, coverage->ended_elsewhere, "thread", "threads");
	pmc_footer_line(view, " had ended before the snapshot: rows and samples of these are only "
			      "in the dump that the process writes itself");
}
