/* SPDX-License-Identifier: MIT */
/*
 * uncore.c - events of the whole machine: lines under the table.
 *
 * They are in no thread's row and in no sum: all processes are in them, while the first one ran.
 */
#include "agent/core/report/view.h"

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
