/* SPDX-License-Identifier: MIT */
/* test_bench_stat.c - median, mean, standard deviation and range, calculated independently. */
#include "lib/bench/bench.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>

static void assert_near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-12 * fabs(want)))
		fail_msg("got %.17g, want %.17g", got, want);
}

static void few_values(void **state)
{
	double odd[] = { 5, 1, 4, 2, 3 }, even[] = { 4, 1, 3, 2 }, one[] = { 7 }, two[] = { 3, 1 };
	struct pmc_bench_stat stat;

	bench_stat(odd, 5, &stat);
	assert_near(stat.median, 3);
	assert_near(stat.mean, 3);
	assert_near(stat.stddev, sqrt(2.5));
	assert_near(stat.min, 1);
	assert_near(stat.max, 5);
	bench_stat(even, 4, &stat);
	assert_near(stat.median, 2.5);
	assert_near(stat.stddev, sqrt(5.0 / 3));
	bench_stat(one, 1, &stat);
	assert_near(stat.median, 7);
	assert_near(stat.stddev, 0);
	bench_stat(two, 2, &stat);
	assert_near(stat.median, 2);
	assert_near(stat.stddev, sqrt(2));
}

static void equal_values_have_no_spread(void **state)
{
	double values[1000];
	struct pmc_bench_stat stat;

	for (int i = 0; i < 1000; i++)
		values[i] = 0.5;
	bench_stat(values, 1000, &stat);
	assert_near(stat.median, 0.5);
	assert_near(stat.stddev, 0);
	for (int i = 0; i < 1000; i++)
		values[i] = 0;
	bench_stat(values, 1000, &stat);
	assert_near(stat.median, 0);
	assert_near(stat.stddev, 0);
	assert_near(stat.max, 0);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Many sizes and magnitudes, compared with qsort and sqrt. */
static void many_values(void **state)
{
	static double values[5000], sorted[5000];
	struct pmc_bench_stat stat;
	uint64_t seed = 1;

	for (size_t n = 1; n <= 5000; n = n * 3 / 2 + 1) {
		double scale = pow(10, (double)(n % 19) - 9), sum = 0, squares = 0, mean;

		for (size_t i = 0; i < n; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			values[i] = sorted[i] = scale * (double)(seed >> 44);
			sum += values[i];
		}
		mean = sum / (double)n;
		for (size_t i = 0; i < n; i++)
			squares += (values[i] - mean) * (values[i] - mean);
		qsort(sorted, n, sizeof(*sorted), by_value);
		bench_stat(values, n, &stat);
		for (size_t i = 0; i < n; i++)
			assert_true(values[i] == sorted[i]);
		assert_near(stat.mean, mean);
		assert_true(stat.min == sorted[0] && stat.max == sorted[n - 1]);
		assert_near(stat.median, (sorted[(n - 1) / 2] + sorted[n / 2]) / 2);
		if (n > 1 && fabs(stat.stddev / sqrt(squares / (double)(n - 1)) - 1) > 1e-9)
			fail_msg("n %zu: stddev %g", n, stat.stddev);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_values),
		cmocka_unit_test(equal_values_have_no_spread),
		cmocka_unit_test(many_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
