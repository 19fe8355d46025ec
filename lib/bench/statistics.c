/* SPDX-License-Identifier: MIT */
/*
 * statistics.c - summaries, intervals of differences, and quantiles of Student's t distribution.
 *
 * With enough values on both sides, intervals are of trimmed means: on a shared machine some runs
 * are twice as slow, and a few of them widen an interval of means beyond any use. Welch's t test
 * with winsorized variances then is Yuen's.
 */
#include "lib/bench/statistics.h"
#include "lib/base/number.h"

#include <math.h>
#include <stdlib.h>

#define LEVEL 0.95
/* A difference below this is not worth a mark, however significant it is. */
#define LEAST_PCT 1.0

int bench_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of sorted values, interpolated between neighbours (type 7 of R and NumPy). */
static double quantile(const double *values, size_t n, double share)
{
	double place = share * (double)(n - 1);
	size_t at = (size_t)place;

	if (at + 1 >= n)
		return values[n - 1];
	return values[at] + (place - (double)at) * (values[at + 1] - values[at]);
}

/* The mean of sorted values without the lowest and highest quarter, and its squared error from the
 * variance of all values with those moved to their nearest neighbour that is kept. */
static struct bench_mean trim(const double *values, size_t n)
{
	double sum = 0, all = 0, squares = 0;
	size_t cut = n / 4, kept = n - 2 * cut;

	/* Relative to one of them: equal values have exactly that mean. */
	for (size_t i = cut; i < n - cut; i++)
		sum += values[i] - values[cut];
	all = sum + (double)cut * (values[n - cut - 1] - values[cut]);
	all = values[cut] + all / (double)n;
	for (size_t i = 0; i < n; i++) {
		double value = values[i < cut ? cut : i < n - cut ? i : n - cut - 1];

		squares += (value - all) * (value - all);
	}
	return (struct bench_mean){ .n = kept,
				    .value = values[cut] + sum / (double)kept,
				    .error = squares / ((double)kept * (double)(kept - 1)) };
}

/* Of n >= 1 values, which are changed. */
static void summarize(double *values, size_t n, struct bench_summary *summary)
{
	double mean = 0, squares = 0, low, high;

	qsort(values, n, sizeof(*values), bench_by_value);
	/* Relative to the minimum: equal values have no rounding error. */
	for (size_t i = 0; i < n; i++)
		mean += values[i] - values[0];
	mean = values[0] + mean / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	*summary = (struct bench_summary){
		.n = n,
		.mean = mean,
		.stddev = n > 1 ? pmc_square_root(squares / (double)(n - 1)) : 0,
		.median = quantile(values, n, 0.5),
		.min = values[0],
		.max = values[n - 1],
	};
	low = quantile(values, n, 0.25);
	high = quantile(values, n, 0.75);
	for (size_t i = 0; i < n; i++)
		summary->outliers += values[i] < low - 1.5 * (high - low) ||
				     values[i] > high + 1.5 * (high - low);
	if (n >= BENCH_TRIMMED)
		summary->trimmed = trim(values, n);
	/* Values of which most are equal: their spread is in what was cut. */
	if (summary->trimmed.error == 0 && summary->min < summary->max)
		summary->trimmed.n = 0;
	for (size_t i = 0; i < n; i++)
		values[i] = fabs(values[i] - summary->median);
	qsort(values, n, sizeof(*values), bench_by_value);
	summary->mad = quantile(values, n, 0.5);
}

void bench_summarize(const double *values, size_t n, struct bench_summary *summary)
{
	double *copy = malloc(n * sizeof(*copy));
	size_t known = 0;

	*summary = (struct bench_summary){ 0 };
	for (size_t i = 0; copy && i < n; i++)
		if (!isnan(values[i]))
			copy[known++] = values[i];
	if (known)
		summarize(copy, known, summary);
	free(copy);
}

/* A quantile t and the density there, of |t|. */
struct quantile {
	double t, density;
};

/* How both change with the level. */
static struct quantile slope(const struct quantile *at, double df)
{
	return (struct quantile){ 1 / at->density, -(df + 1) * at->t / (df + at->t * at->t) };
}

/* From the median, where the density is known, to the level in steps by the Runge-Kutta method: no
 * function of libm is needed. */
double bench_t_quantile(double level, double df)
{
	const double pi = 3.14159265358979323846;
	struct quantile now = { 0, 2 / pmc_square_root(pi * df) };
	double a = df / 2;

	/* gamma(a + 1/2) / gamma(a), by its series from 64 on. */
	for (; a < 64; a++)
		now.density *= a / (a + 0.5);
	now.density *= pmc_square_root(a) * (1 - 1 / (8 * a) + 1 / (128 * a * a) +
					     5 / (1024 * a * a * a) - 21 / (32768 * a * a * a * a));
	for (double p = 0, h; p < level; p += h) {
		struct quantile k[4], at = now;

		h = (1 - p) / 256 < level - p ? (1 - p) / 256 : level - p;
		for (int i = 0; i < 4; i++) {
			k[i] = slope(&at, df);
			at.t = now.t + (i < 2 ? h / 2 : h) * k[i].t;
			at.density = now.density + (i < 2 ? h / 2 : h) * k[i].density;
		}
		now.t += h / 6 * (k[0].t + 2 * k[1].t + 2 * k[2].t + k[3].t);
		now.density +=
			h / 6 * (k[0].density + 2 * k[1].density + 2 * k[2].density + k[3].density);
	}
	return now.t;
}

static struct bench_mean mean_of(const struct bench_summary *summary, bool trimmed)
{
	double error = summary->n ? summary->stddev * summary->stddev / (double)summary->n : 0;

	return trimmed ? summary->trimmed : (struct bench_mean){ summary->n, summary->mean, error };
}

bool bench_means(const struct bench_summary *reference, const struct bench_summary *summary,
		 struct bench_mean means[2])
{
	bool trimmed = reference->trimmed.n && summary->trimmed.n;

	means[0] = mean_of(reference, trimmed);
	means[1] = mean_of(summary, trimmed);
	return trimmed;
}

double bench_welch_df(const struct bench_mean means[2])
{
	double ea = means[0].error, eb = means[1].error;

	return (ea + eb) * (ea + eb) /
	       (ea * ea / (double)(means[0].n - 1) + eb * eb / (double)(means[1].n - 1));
}

/* Half of the interval around a value with this squared error. */
static double half_of(double error, double df)
{
	return error > 0 ? bench_t_quantile(LEVEL, df) * pmc_square_root(error) : 0;
}

double bench_mean_ci(const struct bench_summary *summary)
{
	const struct bench_mean mean = mean_of(summary, false);

	return mean.n > 1 ? half_of(mean.error, (double)(mean.n - 1)) : 0;
}

static void judge(struct bench_delta *delta)
{
	delta->significant = delta->has_ci && fabs(delta->pct) >= LEAST_PCT &&
			     fabs(delta->pct) > delta->difference_ci_pct;
}

static void at_least(double *value, double least)
{
	if (*value < least)
		*value = least;
}

/* Makes the intervals at least those of these means. The error of the quotient grows with it (delta
 * method); one below 1 does not narrow it: it must not exclude 0 unless Welch's does. */
static void widen_to(struct bench_delta *delta, struct bench_mean means[2])
{
	const double quotient = means[1].value / means[0].value;
	double ci = half_of(means[0].error + means[1].error, bench_welch_df(means));

	at_least(&delta->difference_ci_pct, ci / delta->base * 100);
	if (quotient * quotient > 1)
		means[0].error *= quotient * quotient;
	ci = half_of(means[0].error + means[1].error, bench_welch_df(means));
	at_least(&delta->ci_pct, ci / delta->base * 100);
}

void bench_compare(const struct bench_summary *reference, const struct bench_summary *summary,
		   struct bench_delta *delta)
{
	struct bench_mean means[2];
	bool trimmed = bench_means(reference, summary, means);

	*delta = (struct bench_delta){ .trimmed = trimmed, .base = fabs(means[0].value) };
	delta->known = reference->n && summary->n && delta->base > 0;
	if (!delta->known)
		return;
	delta->pct = (means[1].value - means[0].value) / delta->base * 100;
	delta->has_ci = reference->n > 1 && summary->n > 1;
	if (delta->has_ci)
		widen_to(delta, means);
	judge(delta);
}

void bench_compare_pairs(const double *reference, const double *values, size_t n,
			 const struct bench_summary *of_reference, struct bench_delta *delta)
{
	double *differences = malloc((n + 1) * sizeof(*differences));
	struct bench_summary pairs;
	struct bench_mean mean;

	for (size_t i = 0; differences && i < n; i++)
		differences[i] = values[i] - reference[i];
	bench_summarize(differences, differences ? n : 0, &pairs);
	if (!delta->known || pairs.n < BENCH_TRIMMED)
		goto out;
	delta->paired = true;
	delta->trimmed &= pairs.trimmed.n > 0;
	mean = mean_of(&pairs, delta->trimmed);
	delta->base = fabs(mean_of(of_reference, delta->trimmed).value);
	delta->pct = mean.value / delta->base * 100;
	delta->difference_ci_pct = half_of(mean.error, (double)(mean.n - 1)) / delta->base * 100;
	/* The error of a quotient of means is that of what it leaves of each pair. */
	for (size_t i = 0; i < n; i++)
		differences[i] -= delta->pct / 100 * fabs(reference[i]);
	bench_summarize(differences, n, &pairs);
	mean = mean_of(&pairs, delta->trimmed && pairs.trimmed.n);
	delta->ci_pct = half_of(mean.error, (double)(mean.n - 1)) / delta->base * 100;
	at_least(&delta->ci_pct, delta->difference_ci_pct);
	judge(delta);
out:
	free(differences);
}

/* Medians, since a few slow runs are no drift. */
struct bench_mean bench_mean_of_parts(const double *values, size_t n)
{
	enum { PARTS = 10 };
	double medians[PARTS];
	struct bench_summary part;

	for (size_t i = 0; i < PARTS; i++) {
		const size_t from = i * n / PARTS, to = (i + 1) * n / PARTS;

		bench_summarize(values + from, to - from, &part);
		medians[i] = part.n ? part.median : NAN;
	}
	bench_summarize(medians, PARTS, &part);
	return mean_of(&part, false);
}

double bench_drift(const double *values, size_t n)
{
	struct bench_summary halves[2];

	bench_summarize(values, n / 2, &halves[0]);
	bench_summarize(values + n / 2, n - n / 2, &halves[1]);
	return halves[0].median > 0 ? halves[1].median / halves[0].median - 1 : 0;
}

double bench_ratio_ci(const struct bench_mean means[2])
{
	struct bench_mean relative[2];

	for (int i = 0; i < 2; i++)
		relative[i] =
			(struct bench_mean){ means[i].n, 1,
					     means[i].error / (means[i].value * means[i].value) };
	return half_of(relative[0].error + relative[1].error, bench_welch_df(relative));
}

static double root_of_sum(double a, double b)
{
	return pmc_square_root(a * a + b * b);
}

void bench_widen(struct bench_delta *delta, double least)
{
	const double pct = delta->base > 0 ? least / delta->base * 100 : 0;

	if (delta->has_ci) {
		delta->ci_pct = root_of_sum(delta->ci_pct, pct);
		delta->difference_ci_pct = root_of_sum(delta->difference_ci_pct, pct);
	}
	judge(delta);
}

void bench_compare_sessions(const double *reference, size_t n_reference, const double *values,
			    size_t n, struct bench_delta *delta)
{
	struct bench_mean means[2] = { bench_mean_of_parts(reference, n_reference),
				       bench_mean_of_parts(values, n) };

	if (delta->has_ci && means[0].n > 1 && means[1].n > 1)
		widen_to(delta, means);
	judge(delta);
}
