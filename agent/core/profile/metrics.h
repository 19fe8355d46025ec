/* SPDX-License-Identifier: MIT */
/*
 * metrics.h - metrics derived from counts: one row each in metrics.def.
 *
 * A metric is null (false) when an event it needs is missing or not counted, or its divisor is 0.
 * Events are recognised by type and config of perf's generic events, with or without :u, not by
 * the requested name.
 */
#ifndef PMC_CORE_PROFILE_METRICS_H
#define PMC_CORE_PROFILE_METRICS_H

#include "agent/core/profile/profile.h"

#include <stdbool.h>

struct pmc_metric {
	const char *name;   /* JSON and CSV: "ipc" */
	const char *column; /* table head: "IPC" */
	const char *unit;   /* "", "%", "/ki", "/s" */
	int decimals;
	bool table; /* shown in the default table */
	const char *doc;
};

struct pmc_metric_input {
	const struct pmc_p_set_view *set; /* may be NULL */
	const struct pmc_count *counts;	  /* set->count */
	bool has_cpu, has_switches;
	uint64_t cpu_ns, wall_ns; /* wall_ns 0: unknown */
	uint64_t switches;	  /* voluntary + involuntary */
};

extern const struct pmc_metric pmc_metrics[];
extern const unsigned pmc_n_metrics;

/* Whether the events the metric needs are in the set at all (then its column makes sense). */
bool pmc_metric_applies(unsigned metric, const struct pmc_p_set_view *set);
bool pmc_metric_compute(unsigned metric, const struct pmc_metric_input *input, double *value);

/* The events of the set that a metric is made of, for callers with many rows. */
struct pmc_metric_events {
	bool applies;
	bool many; /* other events of the set would do too: try pmc_metric_compute */
	unsigned a, b;
};
void pmc_metric_events(unsigned metric, const struct pmc_p_set_view *set,
		       struct pmc_metric_events *events);
/* pmc_metric_compute for these events. *estimate: they were scaled or counted in different groups.
 */
bool pmc_metric_of(unsigned metric, const struct pmc_metric_events *events,
		   const struct pmc_metric_input *input, double *value, bool *estimate);

#endif
