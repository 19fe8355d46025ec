/* SPDX-License-Identifier: MIT */
/* test_statistics.c - summaries, Welch's t test, and t quantiles calculated by mpmath. */
#include "tools/bench/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static bool near(double a, double b, double relative)
{
	return fabs(a - b) <= relative * fabs(b);
}

static void t_quantiles(void **state)
{
	static const struct {
		double df, t;
	} of_95[] = {
		{ 1, 12.7062047362 },	    { 1.5, 6.01666310443 },	  { 2, 4.30265272975 },
		{ 3, 3.18244630528 },	    { 4.7, 2.62072607535 },	  { 5, 2.57058183564 },
		{ 10, 2.22813885199 },	    { 28, 2.0484071418 },	  { 29, 2.04522964213 },
		{ 30, 2.0422724563 },	    { 57.25, 2.0022759646 },	  { 100, 1.98397151852 },
		{ 1000, 1.96233908083 },    { 12345.678, 1.96015615705 }, { 100000, 1.95998770753 },
		{ 1000000, 1.95996635681 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(of_95) / sizeof(of_95[0]); i++)
		assert_true(near(bench_t_quantile(0.95, of_95[i].df), of_95[i].t, 1e-9));
	assert_true(near(bench_t_quantile(0.99, 5), 4.03214298356, 1e-9));
	assert_true(near(bench_t_quantile(0.99, 40), 2.70445926743, 1e-9));
	/* Quantiles decrease with the degrees of freedom. */
	for (double df = 1; df < 1e6; df *= 1.7)
		assert_true(bench_t_quantile(0.95, df) > bench_t_quantile(0.95, df * 1.7));
}

static const double slow[] = { 12.1, 14.3, 11.9, 15.2, 13.3, 12.7, 40.0, 13.0 };
static const double fast[] = { 10.2, 10.9, 11.4, 10.1, 9.8 };

static void summarize(const double *values, size_t n, struct bench_summary *summary)
{
	double copy[16];

	for (size_t i = 0; i < n; i++)
		copy[i] = values[i];
	bench_summarize(copy, n, summary);
}

static void summaries(void **state)
{
	const double equal[] = { 0.1, 0.1, 0.1, 0.1 };
	struct bench_summary a, b;

	(void)state;
	summarize(slow, 8, &a);
	summarize(fast, 5, &b);
	assert_int_equal(a.n, 8);
	assert_true(near(a.mean, 16.5625, 1e-14) && near(a.stddev, 9.533390567593763, 1e-14));
	assert_true(near(a.median, 13.15, 1e-14) && a.min == 11.9 && a.max == 40);
	assert_int_equal(a.outliers, 1);
	assert_true(near(b.mean, 10.48, 1e-14) && near(b.stddev, 0.6534523701081818, 1e-14));
	assert_true(b.median == 10.2);
	assert_int_equal(b.outliers, 0);
	summarize(equal, 4, &a);
	assert_true(a.mean == 0.1 && a.stddev == 0 && a.outliers == 0);
	summarize(slow, 1, &a);
	assert_true(a.n == 1 && a.mean == 12.1 && a.stddev == 0 && a.median == 12.1);
	summarize(slow, 0, &a);
	assert_true(a.n == 0 && a.mean == 0);
}

static void differences(void **state)
{
	struct bench_summary a, b;
	struct bench_delta delta;
	double ratio, half;

	(void)state;
	summarize(slow, 8, &a);
	summarize(fast, 5, &b);
	assert_true(near(bench_welch_df(&a, &b), 7.104933027392452, 1e-12));
	bench_compare(&a, &b, &delta);
	assert_true(delta.known && delta.has_ci && !delta.significant);
	assert_true(near(delta.pct, -36.724528301886785, 1e-12));
	assert_true(near(delta.ci_pct, 48.157734063159616, 1e-9));
	assert_true(bench_ratio(&a, &b, &ratio, &half));
	assert_true(near(ratio, 1.5803912213740456, 1e-12));
	assert_true(near(half, 0.7620582456485324, 1e-9));
	/* Without the outlier the difference is significant. */
	summarize(slow, 6, &a);
	bench_compare(&a, &b, &delta);
	assert_true(delta.significant && delta.pct < 0);
}

static void without_an_answer(void **state)
{
	const double ones[] = { 1, 1, 1 }, more[] = { 1.02, 1.02, 1.02 }, some[] = { 1.005, 1.005 };
	struct bench_summary a, b, none, zero = { .n = 3 };
	struct bench_delta delta;
	double ratio, half;

	(void)state;
	summarize(ones, 3, &a);
	summarize(ones, 0, &none);
	bench_compare(&zero, &a, &delta);
	assert_true(!delta.known && !delta.significant);
	bench_compare(&none, &a, &delta);
	assert_false(delta.known);
	bench_compare(&a, &none, &delta);
	assert_false(delta.known);
	assert_false(bench_ratio(&a, &zero, &ratio, &half));
	assert_false(bench_ratio(&a, &none, &ratio, &half));
	/* One run gives a difference, but no interval. */
	summarize(more, 1, &b);
	bench_compare(&a, &b, &delta);
	assert_true(delta.known && !delta.has_ci && !delta.significant && near(delta.pct, 2, 1e-9));
	/* Equal values have no spread; a difference of less than 1 % is not marked. */
	summarize(more, 3, &b);
	bench_compare(&a, &b, &delta);
	assert_true(delta.has_ci && delta.significant && delta.ci_pct == 0);
	summarize(some, 2, &b);
	bench_compare(&a, &b, &delta);
	assert_true(delta.has_ci && !delta.significant);
	bench_compare(&a, &a, &delta);
	assert_true(delta.known && delta.pct == 0 && delta.ci_pct == 0 && !delta.significant);
}

/* Pseudo-random numbers of one distribution: about one interval in twenty excludes 0. */
static void equal_sides_rarely_differ(void **state)
{
	uint64_t seed = 12345;
	unsigned excluded = 0;

	(void)state;
	for (unsigned trial = 0; trial < 2000; trial++) {
		struct bench_summary sides[2];
		struct bench_delta delta;

		for (unsigned s = 0; s < 2; s++) {
			double values[12];

			for (unsigned i = 0; i < 12; i++) {
				values[i] = 100;
				for (unsigned k = 0; k < 12; k++) {
					seed = seed * 6364136223846793005u + 1442695040888963407u;
					values[i] += (double)(seed >> 40) / (1 << 24);
				}
			}
			summarize(values, 12, &sides[s]);
		}
		bench_compare(&sides[0], &sides[1], &delta);
		excluded += fabs(delta.pct) > delta.ci_pct;
	}
	assert_in_range(excluded, 60, 140);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_quantiles),
		cmocka_unit_test(summaries),
		cmocka_unit_test(differences),
		cmocka_unit_test(without_an_answer),
		cmocka_unit_test(equal_sides_rarely_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
