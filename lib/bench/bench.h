/* SPDX-License-Identifier: MIT */
/* bench.h - statistics of samples, for the library and for pmctl bench. */
#pragma once

#include <pmc/bench.h>

/* Statistics of n >= 1 values, which are sorted; scratch has room for n too. The caller gives the
 * mean, which is exact only as a quotient of sums. */
void bench_stat(double *values, double *scratch, size_t n, double mean,
		struct pmc_bench_stat *stat);
