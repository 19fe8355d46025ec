/* SPDX-License-Identifier: MIT */
/* bench_stat.c - median, spread and range of samples; also in pmctl for macOS. */
#include "lib/base/number.h"
#include "lib/bench/bench.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void bench_stat(double *values, size_t n, struct pmc_bench_stat *stat)
{
	double mean = 0, squares = 0;

	qsort(values, n, sizeof(*values), by_value);
	/* Relative to the minimum: equal values have no rounding error. */
	for (size_t i = 0; i < n; i++)
		mean += values[i] - values[0];
	mean = values[0] + mean / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	*stat = (struct pmc_bench_stat){
		.median = n % 2 ? values[n / 2] : values[n / 2 - 1] / 2 + values[n / 2] / 2,
		.mean = mean,
		.stddev = n > 1 ? pmc_square_root(squares / (double)(n - 1)) : 0,
		.min = values[0],
		.max = values[n - 1],
	};
}
