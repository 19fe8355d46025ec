/* SPDX-License-Identifier: MIT */
/* bench_stat.c - median, spread and range of samples; also in pmctl for macOS. */
#include "lib/base/number.h"
#include "lib/base/sort.h"
#include "lib/bench/bench.h"

static int by_value(const void *a, const void *b, const void *unused)
{
	double x = *(const double *)a, y = *(const double *)b;

	(void)unused;
	return (x > y) - (x < y);
}

void bench_stat(double *values, double *scratch, size_t n, double mean, struct pmc_bench_stat *stat)
{
	double middle = 0, squares = 0;

	pmc_sort(values, scratch, n, sizeof(*values), by_value, NULL);
	/* Relative to the minimum: equal values have no rounding error. */
	for (size_t i = 0; i < n; i++)
		middle += values[i] - values[0];
	middle = values[0] + middle / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - middle) * (values[i] - middle);
	*stat = (struct pmc_bench_stat){
		.median = n % 2 ? values[n / 2] : values[n / 2 - 1] / 2 + values[n / 2] / 2,
		.mean = mean,
		.stddev = n > 1 ? pmc_square_root(squares / (double)(n - 1)) : 0,
		.min = values[0],
		.max = values[n - 1],
	};
}
