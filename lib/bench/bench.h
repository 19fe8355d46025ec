/* SPDX-License-Identifier: MIT */
/* bench.h - struct pmc_bench. Private to this folder. */
#pragma once

#include "lib/base/out.h"
#include "lib/plan/plan.h"

#include <pmc/bench.h>

struct bench_result {
	struct pmc_bench_result is;
	struct bench_result *next;
};

struct pmc_bench {
	struct pmc_arena arena;
	struct pmc_bench_options options; /* with defaults filled in */
	struct pmc_plan plan;
	unsigned *order; /* indexes into plan.events, in the order of the options */
	struct bench_result *first, *last;
	size_t n, baseline;
};
