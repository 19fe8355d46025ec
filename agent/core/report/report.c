/* SPDX-License-Identifier: MIT */
/* report.c - one view of a profile: what all of them need, then the one that was asked for. */
#include "agent/core/report/view.h"

#include <errno.h>
#include <string.h>

const char *pmc_by_name(enum pmc_report_by by)
{
	static const char *const names[] = {
		[PMC_BY_NONE] = "",
#define X(name, value, doc) [value] = #name,
#include "agent/core/report/by.def"
#undef X
	};

	return names[by];
}

static int view_events(struct pmc_view *view)
{
	struct pmc_profile *profile = view->profile;
	const struct pmc_p_set_view *last = NULL;
	int err = pmc_union_init(&view->events, view->arena);

	for (unsigned i = 0; !err && i < profile->n_sets; i++)
		err = pmc_union_add(&view->events, profile->sets[i], true);
	for (uint64_t i = 0; !err && i < profile->n_timeline; i++) {
		const struct pmc_p_thread *thread = pmc_view_thread(view, profile->timeline[i]);

		if (thread->set != last)
			err = pmc_union_add(&view->events, last = thread->set, true);
	}
	for (uint64_t i = 0; !err && i < profile->n_processes; i++) {
		err = pmc_union_add(&view->events, profile->processes[i]->unattributed.set, false);
		if (!err)
			err = pmc_union_add(&view->events, profile->processes[i]->descendants.set,
					    false);
		if (!err)
			err = pmc_union_add(&view->events, profile->processes[i]->machine.set,
					    false);
	}
	return err;
}

/* The job's first process, and of that the image it ended as: a shell or a launcher in front of
 * the program is not what was asked about. The first in order if nobody says so. */
static const struct pmc_p_process *first_process(const struct pmc_profile *profile)
{
	const struct pmc_p_process *first = NULL;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		if (!process->known || !(process->fixed.flags & PMC_PROCESS_FIRST))
			continue;
		if (!first || (first->fixed.how_ended == PMC_ENDED_EXEC &&
			       process->fixed.pid == first->fixed.pid &&
			       !memcmp(process->fixed.job, first->fixed.job, 16) &&
			       process->fixed.start_ns > first->fixed.start_ns))
			first = process;
	}
	return first || !profile->n_processes ? first : profile->processes[0];
}

static int view_groups(struct pmc_view *view)
{
	pmc_fold_begin(&view->groups, &view->events, view->options->by);
	view->groups.spread = true;
	if (view->options->by == PMC_BY_NONE || view->options->timeline)
		return 0;
	if (view->options->by == PMC_BY_REGION) {
		for (uint64_t i = 0; i < view->n_regions; i++)
			if (pmc_fold_thread(&view->groups, view->regions[i]))
				return -ENOMEM;
		return 0;
	}
	for (uint64_t i = 0; i < view->n_threads; i++)
		if (pmc_fold_thread(&view->groups, pmc_view_thread(view, view->threads[i])))
			return -ENOMEM;
	return 0;
}

static int view_print(struct pmc_view *view)
{
	if (view->options->timeline)
		return pmc_view_timeline(view);
	switch (view->options->format) {
	case PMC_FORMAT_JSON:
		return pmc_view_json(view);
	case PMC_FORMAT_CSV:
		return pmc_view_csv(view);
	default:
		return pmc_view_table(view);
	}
}

int pmc_report(struct pmc_profile *profile, const struct pmc_report_options *options,
	       struct pmc_out *out, const char **problem)
{
	struct pmc_arena arena = { 0 };
	struct pmc_view view = {
		.profile = profile, .options = options, .out = out, .arena = &arena
	};
	unsigned columns;
	int err;

	view.first = first_process(profile);
	err = view_events(&view);
	for (uint64_t i = 0; !err && i < profile->n_regions; i++)
		err = pmc_union_add(&view.events, profile->regions[i]->set, true);
	if (err)
		goto done;
	columns = view.events.set.count ? view.events.set.count : 1;
	view.counts = pmc_arena_alloc(&arena, columns * sizeof(*view.counts));
	view.metric_applies = pmc_arena_alloc(&arena, pmc_n_metrics * sizeof(bool));
	err = view.counts && view.metric_applies ? pmc_fold_init(&view.scratch, &view.events) :
						   -ENOMEM;
	for (unsigned i = 0; !err && i < pmc_n_metrics; i++)
		view.metric_applies[i] = pmc_metric_applies(i, &view.events.set);
	if (!err)
		err = pmc_view_select(&view);
	if (!err && !options->timeline)
		err = pmc_view_regions(&view);
	if (!err)
		err = view_groups(&view);
	if (!err)
		err = view_print(&view);
	if (!err)
		err = pmc_out_flush(out);
done:
	pmc_arena_free(&arena);
	if (problem)
		*problem = view.problem;
	return err;
}
