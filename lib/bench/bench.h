/* SPDX-License-Identifier: MIT */
/* bench.h - statistics of samples, for the library and for pmctl bench. */
#pragma once

#include <pmc/bench.h>

/* Statistics of n >= 1 values, which are sorted. */
void bench_stat(double *values, size_t n, struct pmc_bench_stat *stat);
