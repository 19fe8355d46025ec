/* SPDX-License-Identifier: MIT */
/* bench.h - struct pmc_bench; statistics, for the library and for pmctl bench. */
#pragma once

#include "lib/base/out.h"
#include "lib/plan/plan.h"

#include <pmc/bench.h>

struct pmc_bench {
	struct pmc_arena arena;
	struct pmc_bench_options options; /* with defaults filled in */
	struct pmc_plan plan;
	unsigned *order; /* indexes into plan.events, in the order of the options */
	struct pmc_bench_result *results;
	size_t n, room, baseline;
};

/* Statistics of n >= 1 values, which are sorted; scratch has room for n too. The caller gives the
 * mean, which is exact only as a quotient of sums. */
void bench_stat(double *values, double *scratch, size_t n, double mean,
		struct pmc_bench_stat *stat);
