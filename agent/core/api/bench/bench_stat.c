/* SPDX-License-Identifier: MIT */
/* bench_stat.c - median, spread and range of samples, without libm. */
#include "agent/core/api/bench/bench.h"

#include <float.h>

/* Heapsort: in place, never quadratic. (qsort() may allocate.) */
static void sift(double *values, size_t root, size_t n)
{
	double value = values[root];

	for (size_t child; (child = 2 * root + 1) < n; root = child) {
		if (child + 1 < n && values[child + 1] > values[child])
			child++;
		if (values[child] <= value)
			break;
		values[root] = values[child];
	}
	values[root] = value;
}

static void sort(double *values, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(values, i, n);
	for (size_t end = n; end-- > 1;) {
		double last = values[end];

		values[end] = values[0];
		values[0] = last;
		sift(values, 0, end);
	}
}

/* Newton's method from above: decreases until it converges. */
static double root(double x)
{
	double guess = x > 1 ? x : 1, better;

	if (!(x > 0) || x > DBL_MAX)
		return x > 0 ? x : 0;
	while ((better = guess / 2 + x / guess / 2) < guess)
		guess = better;
	return guess;
}

void bench_stat(double *values, size_t n, double mean, struct pmc_bench_stat *stat)
{
	double middle = 0, squares = 0;

	sort(values, n);
	/* Relative to the minimum: equal values have no rounding error. */
	for (size_t i = 0; i < n; i++)
		middle += values[i] - values[0];
	middle = values[0] + middle / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - middle) * (values[i] - middle);
	*stat = (struct pmc_bench_stat){
		.median = n % 2 ? values[n / 2] : values[n / 2 - 1] / 2 + values[n / 2] / 2,
		.mean = mean,
		.stddev = n > 1 ? root(squares / (double)(n - 1)) : 0,
		.min = values[0],
		.max = values[n - 1],
	};
}
