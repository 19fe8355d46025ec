/* SPDX-License-Identifier: MIT */
/* samples.c - the events and the pools of the samples in a dump. */
#include "tools/export/export.h"

#include <errno.h>
#include <string.h>

static int find(const struct export *export, const struct pmc_p_event *event)
{
	for (unsigned i = 0; i < export->n_events; i++)
		if (!strcmp(export->events[i]->name, event->name) &&
		    !strcmp(export->events[i]->core_type, event->core_type))
			return (int)i;
	return -1;
}

void export_find_events(struct export *export)
{
	const struct pmc_profile *profile = export->profile;

	for (uint64_t i = 0; i < profile->n_samples; i++) {
		const struct pmc_p_event *event = profile->samples[i]->event;

		if (event && (!export->event || !strcmp(event->name, export->event)) &&
		    export->n_events < EXPORT_EVENTS_MOST && find(export, event) < 0)
			export->events[export->n_events++] = event;
	}
}

int export_event_of(const struct export *export, const struct pmc_p_samples *samples)
{
	return samples->event ? find(export, samples->event) : -1;
}

bool export_has_rows(const struct export *export)
{
	const struct pmc_profile *profile = export->profile;

	for (uint64_t i = 0; i < profile->n_samples; i++)
		if (profile->samples[i]->row && export_event_of(export, profile->samples[i]) >= 0)
			return true;
	return false;
}

bool export_is_time(const struct pmc_p_event *event)
{
	return !strcmp(event->unit, "ns");
}

int export_find_pools(struct export *export, struct export_pools *pools)
{
	const struct pmc_profile *profile = export->profile;
	struct pmc_thread_buf buf;

	pools->of = pmc_arena_alloc(&export->arena, (profile->n_samples + 1) * sizeof(*pools->of));
	if (!pools->of || pmc_union_init(&pools->events, &export->arena))
		return -ENOMEM;
	pmc_fold_begin(&pools->fold, &pools->events, PMC_BY_POOL);
	for (uint64_t i = 0; i < profile->n_samples; i++) {
		const struct pmc_p_samples *samples = profile->samples[i];
		const struct pmc_p_thread *thread;
		struct pmc_fold_row *pool;

		if (!samples->row || export_event_of(export, samples) < 0)
			continue;
		thread = pmc_profile_thread(profile, samples->row, &buf);
		pool = pmc_fold_find(&pools->fold, thread);
		if (!pool)
			return -ENOMEM;
		pmc_fold_add(pool, &pools->events, thread, false);
		pools->of[i] = pool;
	}
	return pmc_fold_end(&pools->fold);
}
