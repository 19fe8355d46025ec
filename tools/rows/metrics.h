/* SPDX-License-Identifier: MIT */
/*
 * metrics.h - metrics derived from counts: one row each in metrics.def.
 *
 * A metric is null (false) when an event it needs is missing or not counted, or its divisor is 0.
 * Events are recognised by type and config of perf's generic events, with or without :u, not by
 * the requested name.
 */
#pragma once

#include "tools/rows/profile.h"

#include <stdbool.h>

struct pmc_metric {
	const char *name;   /* JSON and CSV: "ipc" */
	const char *column; /* table head: "IPC" */
	const char *unit;   /* "", "%", "/ki", "/s" */
	int decimals;
	bool table; /* shown in the default table */
	const char *doc;
};

extern const struct pmc_metric pmc_metrics[];
extern const unsigned pmc_n_metrics;

/* Whether the events the metric needs are in the set at all (then its column makes sense). */
bool pmc_metric_applies(unsigned metric, const struct pmc_p_set_view *set);

/* ---- ratios of two events --------------------------------------------------------------- */

struct pmc_metric_events {
	unsigned a, b; /* if these have no values, other events of the set are tried */
};
/* The first pair; with counts (not NULL): that has values. False: there is none. */
bool pmc_metric_events(unsigned metric, const struct pmc_p_set_view *set,
		       const struct pmc_count *counts, struct pmc_metric_events *events);

/* Of two states the higher one is used for both. */
enum pmc_ratio_state {
	PMC_RATIO_EXACT,
	PMC_RATIO_SCALED, /* of scaled values */
	PMC_RATIO_MIXED,  /* of events in different groups, which do not run at the same time */
};

const char *pmc_ratio_state_name(unsigned state);

/* The two sums of a ratio, over the rows that have both values. All zero: no row. Of OS accounting:
 * CPU time or context switches, and the time for which counting was on. */
struct pmc_ratio {
	uint64_t a, b;
	bool known;
	uint8_t state; /* enum pmc_ratio_state */
};

/* Adds the row of these counts, if it has both values. A metric that is a bound takes only events
 * of one group. */
void pmc_ratio_take(unsigned metric, const struct pmc_metric_events *events,
		    const struct pmc_p_set_view *set, const struct pmc_count *counts,
		    struct pmc_ratio *ratio);
void pmc_ratio_add(struct pmc_ratio *into, const struct pmc_ratio *more);
bool pmc_ratio_value(unsigned metric, const struct pmc_ratio *ratio, double *value);

bool pmc_metric_is_accounting(unsigned metric);
