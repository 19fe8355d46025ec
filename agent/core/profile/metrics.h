/* SPDX-License-Identifier: MIT */
/*
 * metrics.h - figures derived from counts: one row each in metrics.def.
 *
 * A metric is null (false) when an event it needs is missing, not counted, or its divisor is 0:
 * never a 0 or an infinity that nobody measured. Events are known by what they count (type and
 * config of perf's generic events, with or without a :u), not by the name they were asked by.
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

#endif
