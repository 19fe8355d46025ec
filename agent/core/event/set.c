/* SPDX-License-Identifier: MIT */
/* set.c - the rows of sets.def. */
#include "agent/core/event/event.h"

#include <string.h>

const struct pmc_event_set pmc_event_sets[] = {
#define X(name, events, metrics, doc) { #name, events, metrics, doc },
#include "agent/core/event/sets.def"
#undef X
};

const unsigned pmc_n_event_sets = sizeof(pmc_event_sets) / sizeof(pmc_event_sets[0]);

_Static_assert(sizeof(pmc_event_sets) / sizeof(pmc_event_sets[0]) <= 32,
	       "pmc_events.sets has a bit per row");

const char pmc_events_default[] = PMC_EVENTS_DEFAULT;

int pmc_event_set_find(const char *name, size_t len)
{
	for (unsigned i = 0; i < pmc_n_event_sets; i++)
		if (strlen(pmc_event_sets[i].name) == len &&
		    !memcmp(pmc_event_sets[i].name, name, len))
			return (int)i;
	return -1;
}
