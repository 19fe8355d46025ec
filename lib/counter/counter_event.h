/* SPDX-License-Identifier: MIT */
/* counter_event.h - events by name, with the roots of sysfs and tracefs as a parameter for tests.
 */
#pragma once

#include "lib/counter/counter.h"
#include "lib/event/event.h"

#include <pmc/counter_event.h>

/* A parsed event as a counter takes it. */
void counter_event_of(const struct pmc_event *from, struct pmc_counter_event *event);
/* What excluding a mode does to the event. */
enum pmc_filter counter_filter(const struct pmc_counter_event *event);
/* A parse error as -ENOENT, -ENOMEM or -EINVAL. */
int counter_event_error(const struct pmc_parse_error *error);

/* pmc_counter_event_parse() with other roots. what: the name in the failure; NULL: the text. */
int counter_event_text(struct pmc_counter_event *event, const char *text, const char *what,
		       const struct pmc_event_roots *roots, struct pmc_failure *failure);
int counter_event_trace(struct pmc_counter_event *event, const char *system, const char *name,
			const struct pmc_event_roots *roots, struct pmc_failure *failure);
int counter_event_pmu(struct pmc_counter_event *event, const char *pmu,
		      const struct pmc_counter_field *fields, size_t n,
		      const struct pmc_event_roots *roots, struct pmc_failure *failure);
