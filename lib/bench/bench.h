/* SPDX-License-Identifier: MIT */
/* bench.h - a bench and its results. Private to this folder. */
#pragma once

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
