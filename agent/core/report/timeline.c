/* SPDX-License-Identifier: MIT */
/*
 * timeline.c - what a thread did between two of its snapshots.
 *
 * The first step of a thread starts at its birth, so that its steps add up to its row.
 */
#include "agent/core/report/view.h"

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* One count of the step: not counted if the event was never on the PMU in it. */
static void count_step(struct pmc_count *step, const struct pmc_count *now,
		       const struct pmc_count *before)
{
	*step = *now;
	if (!pmc_count_has_value(now) || !before || !pmc_count_has_value(before))
		return;
	step->raw = minus(now->raw, before->raw);
	if (now->added)
		step->added = minus(now->added, pmc_count_value(before));
	step->enabled_ns = minus(now->enabled_ns, before->enabled_ns);
	step->running_ns = minus(now->running_ns, before->running_ns);
	if (step->enabled_ns && !step->running_ns) {
		step->state = PMC_NOT_COUNTED;
		step->error = PMC_REASON_NEVER_RAN;
	} else {
		step->state = step->running_ns < step->enabled_ns ? PMC_SCALED : PMC_COUNTED;
	}
}

/* The count of the same event in the snapshot before, which may have other groups. */
static const struct pmc_count *count_before(const struct pmc_p_thread *before,
					    const struct pmc_p_thread *now, unsigned i)
{
	const struct pmc_p_event *was, *is;

	if (!before || !before->counts || !before->set || i >= before->set->count)
		return NULL;
	was = &before->set->events[i];
	is = &now->set->events[i];
	return was->def.position == is->def.position && strcmp(was->name, is->name) == 0 &&
			       strcmp(was->core_type, is->core_type) == 0 ?
		       &before->counts[i] :
		       NULL;
}

void pmc_step_row(struct pmc_view *view, const struct pmc_step *step, struct pmc_step_buf *buf,
		  struct pmc_row *row)
{
	const struct pmc_p_thread *now, *before = NULL;
	struct pmc_thread_fixed *fixed = &buf->thread.fixed;
	uint64_t t_ns, since;

	now = pmc_profile_thread(view->profile, step->now, &buf->now);
	if (step->before)
		before = pmc_profile_thread(view->profile, step->before, &buf->before);
	buf->thread = *now;
	t_ns = fixed->time_ns;
	since = before ? before->fixed.time_ns : fixed->start_ns;
	if (now->set && now->counts) {
		for (unsigned i = 0; i < now->set->count && i < PMC_SET_EVENTS_MAX; i++)
			count_step(&buf->counts[i], &now->counts[i], count_before(before, now, i));
		buf->thread.counts = buf->counts;
	}
	if (before) {
		const struct pmc_thread_fixed *was = &before->fixed;

		fixed->cpu_ns = minus(fixed->cpu_ns, was->cpu_ns);
		fixed->minor_faults = minus(fixed->minor_faults, was->minor_faults);
		fixed->major_faults = minus(fixed->major_faults, was->major_faults);
		fixed->voluntary_switches =
			minus(fixed->voluntary_switches, was->voluntary_switches);
		fixed->involuntary_switches =
			minus(fixed->involuntary_switches, was->involuntary_switches);
		/* A difference needs both ends. */
		fixed->flags |= was->flags & (PMC_THREAD_NO_CPU | PMC_THREAD_NO_RUSAGE);
	}
	pmc_row_of(view, &buf->thread, row);
	row->step = true;
	row->t_ns = t_ns;
	row->dt_ns = minus(t_ns, since);
}
