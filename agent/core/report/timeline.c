/* SPDX-License-Identifier: MIT */
/*
 * timeline.c - a line per snapshot: what a thread did since its snapshot before.
 *
 * The first line of a thread starts at its birth, so that its lines add up to its row.
 */
#include "agent/core/report/view.h"
#include "agent/core/base/number.h"

#include <errno.h>
#include <string.h>

/* One count of the interval: nothing if it never was on the PMU in it. */
static void count_step(struct pmc_count *step, const struct pmc_count *now,
		       const struct pmc_count *before)
{
	*step = *now;
	if (!pmc_count_has_value(now) || !before || !pmc_count_has_value(before))
		return;
	step->raw = pmc_sub_sat(now->raw, before->raw);
	if (now->added)
		step->added = pmc_sub_sat(now->added, pmc_count_value(before));
	step->enabled_ns = pmc_sub_sat(now->enabled_ns, before->enabled_ns);
	step->running_ns = pmc_sub_sat(now->running_ns, before->running_ns);
	if (step->enabled_ns && !step->running_ns) {
		step->state = PMC_NOT_COUNTED;
		step->error = PMC_REASON_NEVER_RAN;
	} else {
		step->state = step->running_ns < step->enabled_ns ? PMC_SCALED : PMC_COUNTED;
	}
}

static bool same_thread(const struct pmc_p_row *a, const struct pmc_p_row *b)
{
	return a->process == b->process && a->seq == b->seq;
}

/* The count of the same event in the snapshot before. A thread that got other groups meanwhile has
 * another set, of the same events. */
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

bool pmc_steps_next(struct pmc_view *view, struct pmc_steps *steps)
{
	const struct pmc_p_thread *now, *before = NULL;
	struct pmc_thread_fixed *fixed = &steps->thread.fixed;
	uint64_t since;

	if (steps->at >= view->n_threads)
		return false;
	now = pmc_profile_thread(view->profile, view->threads[steps->at], &steps->now);
	if (steps->at && same_thread(view->threads[steps->at - 1], now->row))
		before = pmc_profile_thread(view->profile, view->threads[steps->at - 1],
					    &steps->before);
	steps->at++;
	steps->thread = *now;
	since = before ? before->fixed.time_ns : now->fixed.start_ns;
	steps->t_ns = fixed->time_ns;
	steps->dt_ns = pmc_sub_sat(fixed->time_ns, since);
	if (now->set && now->counts) {
		for (unsigned i = 0; i < now->set->count && i < PMC_SET_EVENTS_MAX; i++)
			count_step(&steps->counts[i], &now->counts[i],
				   count_before(before, now, i));
		steps->thread.counts = steps->counts;
	}
	if (before) {
		fixed->cpu_ns = pmc_sub_sat(fixed->cpu_ns, before->fixed.cpu_ns);
		fixed->minor_faults = pmc_sub_sat(fixed->minor_faults, before->fixed.minor_faults);
		fixed->major_faults = pmc_sub_sat(fixed->major_faults, before->fixed.major_faults);
		fixed->voluntary_switches =
			pmc_sub_sat(fixed->voluntary_switches, before->fixed.voluntary_switches);
		fixed->involuntary_switches = pmc_sub_sat(fixed->involuntary_switches,
							  before->fixed.involuntary_switches);
		/* A difference needs both ends. */
		fixed->flags |= before->fixed.flags & (PMC_THREAD_NO_CPU | PMC_THREAD_NO_RUSAGE);
	}
	return true;
}

static void json_step(struct pmc_view *view, const struct pmc_steps *steps)
{
	const struct pmc_p_thread *thread = &steps->thread;
	const struct pmc_p_process *process = thread->process;
	struct pmc_json json;

	pmc_json_init(&json, view->out, false);
	pmc_json_object(&json, NULL);
	pmc_json_str(&json, "host", process->known ? process->host : NULL);
	if (process->known)
		pmc_json_u64(&json, "pid", process->fixed.pid);
	else
		pmc_json_null(&json, "pid");
	pmc_json_u64(&json, "tid", thread->fixed.tid);
	pmc_json_u64(&json, "seq", thread->fixed.seq);
	pmc_json_strn(&json, "name", thread->fixed.name,
		      strnlen(thread->fixed.name, sizeof(thread->fixed.name)));
	pmc_json_u64(&json, "t_ns", steps->t_ns);
	pmc_json_u64(&json, "dt_ns", steps->dt_ns);
	if (thread->fixed.flags & PMC_THREAD_NO_CPU)
		pmc_json_null(&json, "cpu_ns");
	else
		pmc_json_u64(&json, "cpu_ns", thread->fixed.cpu_ns);
	pmc_json_array(&json, "events");
	for (unsigned i = 0; thread->set && thread->counts && i < thread->set->count; i++)
		pmc_view_json_event(&json, &thread->set->events[i], &thread->counts[i]);
	pmc_json_array_end(&json);
	pmc_json_object_end(&json);
	pmc_out_char(view->out, '\n');
}

int pmc_view_timeline(struct pmc_view *view)
{
	struct pmc_steps steps = { 0 };

	if (view->options->format == PMC_FORMAT_CSV)
		return pmc_view_csv(view);
	if (view->options->format == PMC_FORMAT_TABLE)
		return pmc_view_table(view);
	while (pmc_steps_next(view, &steps))
		json_step(view, &steps);
	return 0;
}
