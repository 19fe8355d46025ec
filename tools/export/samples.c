/* SPDX-License-Identifier: MIT */
/* samples.c - the events of the samples in a dump. */
#include "tools/export/export.h"

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
