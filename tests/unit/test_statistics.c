/* SPDX-License-Identifier: MIT */
/* test_statistics.c - summaries, Welch's t test, and t quantiles calculated by mpmath. */
#include "lib/bench/statistics.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>

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

	for (unsigned i = 0; i < sizeof(of_95) / sizeof(of_95[0]); i++)
		assert_true(near(bench_t_quantile(0.95, of_95[i].df), of_95[i].t, 1e-8));
	assert_true(near(bench_t_quantile(0.99, 5), 4.03214298356, 1e-9));
	assert_true(near(bench_t_quantile(0.99, 40), 2.70445926743, 1e-9));
	/* Quantiles decrease with the degrees of freedom. */
	for (double df = 1; df < 1e6; df *= 1.7)
		assert_true(bench_t_quantile(0.95, df) > bench_t_quantile(0.95, df * 1.7));
}

static void assert_near(double got, double want)
{
	if (!near(got, want, 1e-12))
		fail_msg("got %.17g, want %.17g", got, want);
}

static void few_values(void **state)
{
	double odd[] = { 5, 1, 4, 2, 3 }, even[] = { 4, 1, 3, 2 }, one[] = { 7 }, two[] = { 3, 1 };
	struct bench_summary stat;

	bench_summarize(odd, 5, &stat);
	assert_near(stat.median, 3);
	assert_near(stat.mean, 3);
	assert_near(stat.stddev, sqrt(2.5));
	assert_near(stat.min, 1);
	assert_near(stat.max, 5);
	bench_summarize(even, 4, &stat);
	assert_near(stat.median, 2.5);
	assert_near(stat.stddev, sqrt(5.0 / 3));
	bench_summarize(one, 1, &stat);
	assert_near(stat.median, 7);
	assert_near(stat.stddev, 0);
	bench_summarize(two, 2, &stat);
	assert_near(stat.median, 2);
	assert_near(stat.stddev, sqrt(2));
}

static void equal_values_have_no_spread(void **state)
{
	double values[1000];
	struct bench_summary stat;

	for (int i = 0; i < 1000; i++)
		values[i] = 0.5;
	bench_summarize(values, 1000, &stat);
	assert_near(stat.median, 0.5);
	assert_near(stat.stddev, 0);
	for (int i = 0; i < 1000; i++)
		values[i] = 0;
	bench_summarize(values, 1000, &stat);
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
	struct bench_summary stat;
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
		bench_summarize(values, n, &stat);
		assert_near(stat.mean, mean);
		assert_true(stat.min == sorted[0] && stat.max == sorted[n - 1]);
		assert_near(stat.median, (sorted[(n - 1) / 2] + sorted[n / 2]) / 2);
		if (n > 1 && fabs(stat.stddev / sqrt(squares / (double)(n - 1)) - 1) > 1e-9)
			fail_msg("n %zu: stddev %g", n, stat.stddev);
	}
}

static const double slow[] = { 12.1, 14.3, 11.9, 15.2, 13.3, 12.7, 40.0, 13.0 };
static const double fast[] = { 10.2, 10.9, 11.4, 10.1, 9.8 };

static void summaries(void **state)
{
	const double equal[] = { 0.1, 0.1, 0.1, 0.1 };
	struct bench_summary a, b;

	bench_summarize(slow, 8, &a);
	bench_summarize(fast, 5, &b);
	assert_int_equal(a.n, 8);
	assert_true(near(a.mean, 16.5625, 1e-14) && near(a.stddev, 9.533390567593763, 1e-14));
	assert_true(near(a.median, 13.15, 1e-14) && a.min == 11.9 && a.max == 40);
	assert_int_equal(a.outliers, 1);
	assert_true(near(b.mean, 10.48, 1e-14) && near(b.stddev, 0.6534523701081818, 1e-14));
	assert_true(b.median == 10.2);
	assert_int_equal(b.outliers, 0);
	bench_summarize(equal, 4, &a);
	assert_true(a.mean == 0.1 && a.stddev == 0 && a.outliers == 0);
	bench_summarize(slow, 1, &a);
	assert_true(a.n == 1 && a.mean == 12.1 && a.stddev == 0 && a.median == 12.1);
	bench_summarize(slow, 0, &a);
	assert_true(a.n == 0 && a.mean == 0);
}

static void interval_of_a_mean(void **state)
{
	static const double values[] = { 10, 12 };
	struct bench_summary summary;

	bench_summarize(values, 2, &summary);
	assert_true(fabs(bench_mean_ci(&summary) - 12.7062) < 0.0001);
	bench_summarize(values, 1, &summary);
	assert_true(bench_mean_ci(&summary) == 0);
}

static void differences(void **state)
{
	struct bench_summary a, b;
	struct bench_mean means[2];
	struct bench_delta delta;

	bench_summarize(slow, 8, &a);
	bench_summarize(fast, 5, &b);
	assert_false(bench_means(&a, &b, means));
	assert_true(near(bench_welch_df(means), 7.104933027392452, 1e-12));
	bench_compare(&a, &b, &delta);
	assert_true(delta.known && delta.has_ci && !delta.significant);
	assert_true(near(delta.pct, -36.724528301886785, 1e-12));
	assert_true(near(delta.ci_pct, 48.157734063159616, 1e-9));
	/* The other way round, with the same answer. */
	bench_compare(&b, &a, &delta);
	assert_true(near(delta.pct, 58.03912213740456, 1e-12) && !delta.significant);
	/* Without the outlier the difference is significant. */
	bench_summarize(slow, 6, &a);
	bench_compare(&a, &b, &delta);
	assert_true(delta.significant && delta.pct < 0);
}

/* Of 3 runs of 3.3 ms and of 1 s: the quotient is known to within 180 %, the difference is not in
 * doubt. */
static void small_and_uncertain_reference(void **state)
{
	const double brief[] = { 1.989, 1.802, 5.963 }, second[] = { 1002, 1002, 1002.1 };
	struct bench_summary a, b;
	struct bench_delta delta;

	bench_summarize(brief, 3, &a);
	bench_summarize(second, 3, &b);
	bench_compare(&a, &b, &delta);
	assert_true(delta.significant && delta.ci_pct > delta.pct);
	assert_true(delta.difference_ci_pct * delta.base / 100 < 6);
	bench_widen(&delta, 1000);
	assert_false(delta.significant);
}

/* Calculated in Python: the density of t integrated by Simpson's rule. */
static void interval_of_a_ratio(void **state)
{
	struct bench_summary a, b;
	struct bench_mean means[2];

	bench_summarize(slow, 8, &a);
	bench_summarize(fast, 5, &b);
	bench_means(&a, &b, means);
	assert_true(near(bench_ratio_ci(means), 0.4821959495484786, 1e-6));
	/* Of the quotient and its inverse; the unit has no effect. */
	bench_means(&b, &a, means);
	means[0].value *= 1000;
	means[0].error *= 1000 * 1000;
	assert_true(near(bench_ratio_ci(means), 0.4821959495484786, 1e-6));
	means[0].error = means[1].error = 0;
	assert_true(bench_ratio_ci(means) == 0);
}

static void spread_and_drift(void **state)
{
	const double odd[] = { 1, 1, 2, 2, 4, 6, 9 }, even[] = { 9, 1, 4, 2 };
	const double rises[] = { 10, 99, 10, 10, 12, 12, 1, 12, 12 };
	struct bench_summary summary;

	bench_summarize(odd, 7, &summary);
	assert_true(summary.mad == 1);
	/* Distances 6, 2, 1, 1 from 3. */
	bench_summarize(even, 4, &summary);
	assert_true(summary.mad == 1.5);
	bench_summarize(odd, 1, &summary);
	assert_true(summary.mad == 0);
	assert_true(near(bench_drift(rises, 9), 0.2, 1e-12));
	assert_true(bench_drift(rises, 1) == 0);
	assert_int_equal(bench_mean_of_parts(rises, 9).n, 9);
	assert_int_equal(bench_mean_of_parts(rises, 1).n, 1);
}

/*
 * A deterministic program, and one that is 2 % slower, on a machine that makes one run in six twice
 * as slow. The expected numbers are sums of fractions, with t quantiles from integrating the
 * density (Simpson's rule, 20,000 steps). The means differ by 3.7 % ± 29 %.
 */
static void outliers_do_not_hide_a_difference(void **state)
{
	const double one[12] = { 101.2, 99.8,  100.4, 207.5, 100.9, 99.5,
				 100.1, 183.0, 100.6, 99.9,  100.3, 100.7 };
	const double other[12] = { 102.9, 102.2, 198.4, 102.5, 103.1, 101.8,
				   102.4, 102.0, 103.3, 221.7, 102.7, 101.9 };
	double with_gaps[2][14];
	struct bench_summary a, b;
	struct bench_mean means[2];
	struct bench_delta delta, same;

	bench_summarize(one, 12, &a);
	bench_summarize(other, 12, &b);
	assert_true(bench_means(&a, &b, means) && means[0].n == 6 && means[1].n == 6);
	assert_true(near(means[0].value, 100.5, 1e-14) && near(means[0].error, 0.046, 1e-12));
	assert_true(near(means[1].value, 102.63333333333334, 1e-14));
	assert_true(near(means[1].error, 0.058972222222222224, 1e-12));
	assert_true(near(bench_welch_df(means), 9.849582693343576, 1e-12));
	bench_compare(&a, &b, &delta);
	assert_true(delta.significant && near(delta.pct, 2.12271973466004, 1e-12));
	assert_true(near(delta.ci_pct, 0.7260744317581813, 1e-9));
	/* As pairs, too; runs without a value are left out. */
	for (unsigned i = 0; i < 14; i++) {
		with_gaps[0][i] = i == 0 ? NAN : i == 13 ? 300 : one[i - 1];
		with_gaps[1][i] = i == 0 ? 300 : i == 13 ? NAN : other[i - 1];
	}
	bench_compare_pairs(with_gaps[0], with_gaps[1], 14, &a, &delta);
	assert_true(delta.significant && near(delta.pct, 2.2056384742951907, 1e-12));
	assert_true(near(delta.difference_ci_pct, 0.5044035565045321, 1e-9));
	/* Too few pairs change nothing. */
	same = delta;
	bench_compare_pairs(one, other, BENCH_TRIMMED - 1, &a, &same);
	assert_memory_equal(&same, &delta, sizeof(delta));
}

/* The middle half is equal on both sides: the interval is then of all values, not of none. */
static void mostly_equal_values(void **state)
{
	const double low[12] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 1 };
	const double high[12] = { 2, 2, 2, 1, 2, 2, 1, 2, 2, 2, 1, 1 };
	struct bench_summary a, b;
	struct bench_mean means[2];
	struct bench_delta delta;

	bench_summarize(low, 12, &a);
	bench_summarize(high, 12, &b);
	assert_false(bench_means(&a, &b, means));
	assert_true(means[0].n == 12 && near(means[0].value, 14.0 / 12, 1e-14));
	assert_true(near(means[0].error, a.stddev * a.stddev / 12, 1e-12));
	bench_compare(&a, &b, &delta);
	assert_true(delta.ci_pct > 1);
}

/* A mean is not compared with a trimmed mean: one of the sides has equal values in its middle half,
 * or too few. */
static void sides_are_compared_by_the_same_mean(void **state)
{
	const double mostly[11] = { 10, 10, 10, 10, 10, 10, 10, 10, 10, 30, 30 };
	const double mixed[11] = { 10, 11, 11, 11, 11, 10, 10, 10, 10, 30, 30 };
	struct bench_summary a, b;
	struct bench_delta delta;

	for (unsigned n = 9; n <= 11; n += 2) {
		bench_summarize(mostly + 11 - n, n, &a);
		bench_summarize(mixed, 11, &b);
		bench_compare(&a, &b, &delta);
		assert_true(near(delta.pct, (b.mean / a.mean - 1) * 100, 1e-12));
		bench_compare(&b, &a, &delta);
		assert_true(near(delta.pct, (a.mean / b.mean - 1) * 100, 1e-12));
	}
	/* The differences of pairs could be trimmed, the reference cannot. */
	bench_compare(&a, &b, &delta);
	bench_compare_pairs(mostly, mixed, 11, &a, &delta);
	assert_true(near(delta.pct, (b.mean / a.mean - 1) * 100, 1e-12));
}

/* The reference varies by half, the other side does not: a percentage of 1,000 is as unsure. */
static void percentage_of_pairs(void **state)
{
	double one[40], other[40];
	struct bench_summary a, b;
	struct bench_delta delta, alone;

	for (unsigned i = 0; i < 40; i++) {
		one[i] = 100 + i * 23 % 40 * 5;
		other[i] = 3000 + i % 2;
	}
	bench_summarize(one, 40, &a);
	bench_summarize(other, 40, &b);
	bench_compare(&a, &b, &alone);
	delta = alone;
	bench_compare_pairs(one, other, 40, &a, &delta);
	assert_true(delta.paired && delta.significant);
	assert_true(delta.ci_pct > alone.ci_pct * 0.8 && delta.ci_pct < alone.ci_pct * 1.25);
	assert_true(delta.difference_ci_pct < delta.ci_pct / 5);
}

/* A machine whose speed changes from run to run, alike for both sides: pairs find 2 %. */
static void drift_cancels_in_pairs(void **state)
{
	static double sides[2][10000];
	struct bench_summary a, b;
	struct bench_delta delta;

	for (unsigned i = 0; i < 10000; i++) {
		double speed = 1 + (i / 100 % 2) + (i % 7 == 0 ? 1 : 0);

		sides[0][i] = 100 * speed + (i * 37 % 11);
		sides[1][i] = 102 * speed + (i * 41 % 11);
	}
	for (unsigned n = 100; n <= 10000; n *= 10) {
		bench_summarize(sides[0], n, &a);
		bench_summarize(sides[1], n, &b);
		bench_compare(&a, &b, &delta);
		bench_compare_pairs(sides[0], sides[1], n, &a, &delta);
		assert_true(delta.significant && fabs(delta.pct - 2) < 1 && delta.ci_pct < 1);
	}
	/* Equal values: no difference, and no spread. */
	bench_compare_pairs(sides[0], sides[0], 10000, &a, &delta);
	assert_true(delta.pct == 0 && delta.ci_pct == 0 && !delta.significant);
}

static void without_an_answer(void **state)
{
	const double ones[] = { 1, 1, 1 }, more[] = { 1.02, 1.02, 1.02 }, some[] = { 1.005, 1.005 };
	struct bench_summary a, b, none, zero = { .n = 3 };
	struct bench_delta delta;

	bench_summarize(ones, 3, &a);
	bench_summarize(ones, 0, &none);
	bench_compare(&zero, &a, &delta);
	assert_true(!delta.known && !delta.significant);
	bench_compare(&none, &a, &delta);
	assert_false(delta.known);
	bench_compare(&a, &none, &delta);
	assert_false(delta.known);
	/* One run gives a difference, but no interval. */
	bench_summarize(more, 1, &b);
	bench_compare(&a, &b, &delta);
	assert_true(delta.known && !delta.has_ci && !delta.significant && near(delta.pct, 2, 1e-9));
	/* Equal values have no spread; a difference of less than 1 % is not marked. */
	bench_summarize(more, 3, &b);
	bench_compare(&a, &b, &delta);
	assert_true(delta.has_ci && delta.significant && delta.ci_pct == 0);
	bench_summarize(some, 2, &b);
	bench_compare(&a, &b, &delta);
	assert_true(delta.has_ci && !delta.significant);
	bench_compare(&a, &a, &delta);
	assert_true(delta.known && delta.pct == 0 && delta.ci_pct == 0 && !delta.significant);
}

static double uniform(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(*seed >> 40) / (1 << 24);
}

/* Pseudo-random numbers of one distribution: at most about one interval in twenty excludes 0,
 * few runs or many, with one in six twice as large or not, or with two values only, as pairs or
 * not. */
static void equal_sides_rarely_differ(void **state)
{
	static const unsigned sizes[] = { 3, 8, 10, 12, 40, 99 };
	uint64_t seed = 12345;

	for (unsigned kind = 0; kind < 18; kind++) {
		unsigned n = sizes[kind < 12 ? kind / 2 : kind - 12], excluded = 0, in_pairs = 0;
		bool few = kind % 2 || kind >= 12;

		for (unsigned trial = 0; trial < 2000; trial++) {
			struct bench_summary sides[2];
			struct bench_delta delta;
			double values[2][99];

			for (unsigned s = 0; s < 2; s++) {
				for (unsigned i = 0; i < n; i++) {
					values[s][i] = 100;
					for (unsigned k = 0; k < 12; k++)
						values[s][i] += uniform(&seed);
					if (kind < 12 && kind % 2 && uniform(&seed) < 1.0 / 6)
						values[s][i] *= 2;
					if (kind >= 12)
						values[s][i] = 10 + (uniform(&seed) < 0.25);
				}
				bench_summarize(values[s], n, &sides[s]);
			}
			bench_compare(&sides[0], &sides[1], &delta);
			excluded += fabs(delta.pct) > delta.ci_pct;
			bench_compare_pairs(values[0], values[1], n, &sides[0], &delta);
			in_pairs += fabs(delta.pct) > delta.ci_pct;
		}
		/* With outliers or equal values, and few runs: fewer than one in twenty. */
		assert_in_range(excluded, few ? 0 : 60, 140);
		assert_in_range(in_pairs, few ? 0 : 60, 140);
	}
}

/* The noise of the reference is in the interval of a ratio as many times. */
static void large_differences_are_covered(void **state)
{
	uint64_t seed = 777;
	unsigned covered = 0;

	for (unsigned trial = 0; trial < 2000; trial++) {
		struct bench_summary sides[2];
		struct bench_delta delta;
		double values[2][10];

		for (unsigned s = 0; s < 2; s++) {
			for (unsigned i = 0; i < 10; i++) {
				values[s][i] = -6;
				for (unsigned k = 0; k < 12; k++)
					values[s][i] += uniform(&seed);
				values[s][i] = (s ? 300 : 100) * (1 + 0.2 * values[s][i]);
			}
			bench_summarize(values[s], 10, &sides[s]);
		}
		bench_compare(&sides[0], &sides[1], &delta);
		covered += fabs(delta.pct - 200) <= delta.ci_pct;
	}
	assert_in_range(covered, 1860, 1950);
}

/* A machine whose speed drifts by 1 % (standard deviation), and forgets it in `lasts` runs. */
struct drift {
	double speed, lasts;
	uint64_t seed;
};

static double normal(uint64_t *seed)
{
	double sum = -6;

	for (unsigned i = 0; i < 12; i++)
		sum += uniform(seed);
	return sum;
}

/* So many runs later. */
static void pass(struct drift *drift, double runs)
{
	const double kept = exp(-runs / drift->lasts);

	drift->speed = kept * drift->speed + sqrt(1 - kept * kept) * 0.01 * normal(&drift->seed);
}

static void session(struct drift *drift, double of, double *values, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		pass(drift, 1);
		values[i] = of * (1 + drift->speed + 0.005 * normal(&drift->seed));
		values[i] *= uniform(&drift->seed) < 0.03 ? 2 : 1;
	}
}

/* Sessions of 400 runs, of a program and then of one that takes so much more; 5 minutes or 30,000
 * runs lie between. How many of 100 are significant, with `widen` as sessions. */
static unsigned alarms(double lasts, double more, bool widen)
{
	enum { RUNS = 400 };
	struct drift drift = { .lasts = lasts, .seed = 4711 };
	static double values[2][RUNS];
	struct bench_summary sides[2];
	struct bench_delta delta;
	unsigned n = 0;

	for (unsigned trial = 0; trial < 100; trial++) {
		for (unsigned s = 0; s < 2; s++) {
			pass(&drift, 30000);
			session(&drift, s ? 1 + more : 1, values[s], RUNS);
			bench_summarize(values[s], RUNS, &sides[s]);
		}
		bench_compare(&sides[0], &sides[1], &delta);
		if (widen)
			bench_compare_sessions(values[0], RUNS, values[1], RUNS, &delta);
		if (widen)
			bench_widen(&delta, BENCH_DRIFT_PCT * delta.base / 100);
		n += delta.significant;
	}
	return n;
}

static void sessions_of_a_machine_that_drifts(void **state)
{
	static const double lasts[] = { 1, 30, 300, 3000, 30000 };

	for (unsigned i = 0; i < sizeof(lasts) / sizeof(lasts[0]); i++) {
		assert_in_range(alarms(lasts[i], 0, true), 0, 5);
		assert_in_range(alarms(lasts[i], 0.06, true), 90, 100);
	}
	/* As for runs that take turns. */
	assert_in_range(alarms(3000, 0, false), 30, 100);
}

static void differences_that_are_not_worth_a_mark(void **state)
{
	struct bench_summary sides[2];
	struct bench_delta delta;
	double values[2][3] = { { 1600, 1600, 1600 }, { 1904, 1904, 1904 } };

	for (unsigned s = 0; s < 2; s++)
		bench_summarize(values[s], 3, &sides[s]);
	bench_compare(&sides[0], &sides[1], &delta);
	assert_true(delta.significant);
	bench_widen(&delta, 100);
	assert_true(delta.significant);
	assert_true(fabs(delta.ci_pct - 6.25) < 1e-9);
	bench_widen(&delta, 1024);
	assert_false(delta.significant);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_quantiles),
		cmocka_unit_test(few_values),
		cmocka_unit_test(equal_values_have_no_spread),
		cmocka_unit_test(many_values),
		cmocka_unit_test(summaries),
		cmocka_unit_test(interval_of_a_mean),
		cmocka_unit_test(differences),
		cmocka_unit_test(small_and_uncertain_reference),
		cmocka_unit_test(interval_of_a_ratio),
		cmocka_unit_test(spread_and_drift),
		cmocka_unit_test(outliers_do_not_hide_a_difference),
		cmocka_unit_test(mostly_equal_values),
		cmocka_unit_test(sides_are_compared_by_the_same_mean),
		cmocka_unit_test(drift_cancels_in_pairs),
		cmocka_unit_test(percentage_of_pairs),
		cmocka_unit_test(without_an_answer),
		cmocka_unit_test(equal_sides_rarely_differ),
		cmocka_unit_test(large_differences_are_covered),
		cmocka_unit_test(sessions_of_a_machine_that_drifts),
		cmocka_unit_test(differences_that_are_not_worth_a_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
