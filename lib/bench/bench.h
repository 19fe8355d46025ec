/* SPDX-License-Identifier: MIT */
/* bench.h - a bench and its results. Private to this folder. */
#pragma once

#include "lib/bench/statistics.h"
#include "lib/plan/plan.h"

#include <pmc/bench.h>

struct bench_result {
	struct pmc_bench_result of; /* without what depends on the baseline */
	struct bench_summary time;
	struct bench_mean parts; /* of the samples in the order of time */
};

struct pmc_bench {
	struct pmc_arena arena;
	struct pmc_bench_options options; /* with defaults filled in */
	struct pmc_plan plan;
	unsigned *order; /* indexes into plan.events, in the order of the options */
	struct bench_result *results;
	size_t n, room, baseline;
};

/* Fills in what follows from samples, samples_ns and bytes_per_op. 0 or -ENOMEM. */
int bench_result_judge(struct bench_result *result);
/* The figure of the times that is that of an unstable machine, and its share; NULL: none is. */
const char *bench_unstable(const struct pmc_bench_result *result, double *share);
