/* SPDX-License-Identifier: MIT */
/*
 * statistics.c - summaries, Welch's t test, and quantiles of Student's t distribution.
 *
 * The quantile inverts the regularized incomplete beta function, evaluated by its continued
 * fraction (DLMF 8.17.22).
 */
#include "tools/bench/statistics.h"
#include "agent/core/api/bench/bench_stat.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define LEVEL 0.95
/* A difference below this is not worth a mark, however certain it is. */
#define LEAST_PCT 1.0

/* Of sorted values, interpolated between neighbours (type 7 of R and NumPy). */
static double quartile(const double *values, size_t n, double share)
{
	double place = share * (double)(n - 1);
	size_t at = (size_t)place;

	if (at + 1 >= n)
		return values[n - 1];
	return values[at] + (place - (double)at) * (values[at + 1] - values[at]);
}

void bench_summarize(double *values, size_t n, struct bench_summary *summary)
{
	double *scratch = n ? malloc(n * sizeof(*scratch)) : NULL, sum = 0, low, high;
	struct pmc_bench_stat stat;

	*summary = (struct bench_summary){ 0 };
	if (!scratch)
		return;
	/* Relative to one of them: equal values have exactly that mean. */
	for (size_t i = 0; i < n; i++)
		sum += values[i] - values[0];
	bench_stat(values, scratch, n, values[0] + sum / (double)n, &stat);
	free(scratch);
	*summary = (struct bench_summary){ n,	     stat.mean, stat.stddev, stat.median, stat.min,
					   stat.max, 0 };
	low = quartile(values, n, 0.25);
	high = quartile(values, n, 0.75);
	for (size_t i = 0; i < n; i++)
		summary->outliers += values[i] < low - 1.5 * (high - low) ||
				     values[i] > high + 1.5 * (high - low);
}

/* ---- Student's t distribution ------------------------------------------------------------- */

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), value;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	value = d;
	for (int m = 1; m < 100000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		value *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		value *= d * c;
		if (fabs(d * c - 1) < 4 * DBL_EPSILON)
			break;
	}
	return value;
}

/* I_x(a, b), with y = 1 - x given apart so that neither loses digits. */
static double incomplete_beta(double a, double b, double x, double y)
{
	double front;

	if (x <= 0 || y <= 0)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));
	if (x < (a + 1) / (a + b + 2))
		return front * fraction(a, b, x) / a;
	return 1 - front * fraction(b, a, y) / b;
}

/* The probability that |t| is larger. */
static double beyond(double t, double df)
{
	double sum = df + t * t;

	return incomplete_beta(df / 2, 0.5, df / sum, t * t / sum);
}

double bench_t_quantile(double level, double df)
{
	double low = 0, high = 1, middle = 0;

	while (beyond(high, df) > 1 - level && high < 1e300)
		high *= 2;
	/* Until neighbouring numbers remain. */
	for (int i = 0; i < 200 && high - low > high * DBL_EPSILON; i++) {
		middle = low + (high - low) / 2;
		if (beyond(middle, df) > 1 - level)
			low = middle;
		else
			high = middle;
	}
	return middle;
}

/* ---- two sides ---------------------------------------------------------------------------- */

/* The squared standard error of the mean. */
static double error_of(const struct bench_summary *summary)
{
	return summary->stddev * summary->stddev / (double)summary->n;
}

/* Of a combination of the means whose squared error is ea + eb. */
static double df_of(const struct bench_summary *a, const struct bench_summary *b, double ea,
		    double eb)
{
	return (ea + eb) * (ea + eb) /
	       (ea * ea / (double)(a->n - 1) + eb * eb / (double)(b->n - 1));
}

double bench_welch_df(const struct bench_summary *a, const struct bench_summary *b)
{
	return df_of(a, b, error_of(a), error_of(b));
}

/* Half of the interval around it. */
static double half_of(const struct bench_summary *a, const struct bench_summary *b, double ea,
		      double eb)
{
	if (ea + eb <= 0)
		return 0;
	return bench_t_quantile(LEVEL, df_of(a, b, ea, eb)) * sqrt(ea + eb);
}

void bench_compare(const struct bench_summary *reference, const struct bench_summary *summary,
		   struct bench_delta *delta)
{
	double base = fabs(reference->mean);

	*delta = (struct bench_delta){ .known = reference->n && summary->n && base > 0 };
	if (!delta->known)
		return;
	delta->pct = (summary->mean - reference->mean) / base * 100;
	delta->has_ci = reference->n > 1 && summary->n > 1;
	if (!delta->has_ci)
		return;
	delta->ci_pct =
		half_of(reference, summary, error_of(reference), error_of(summary)) / base * 100;
	delta->significant = fabs(delta->pct) >= LEAST_PCT && fabs(delta->pct) > delta->ci_pct;
}

bool bench_ratio(const struct bench_summary *a, const struct bench_summary *b, double *ratio,
		 double *half)
{
	if (!a->n || !b->n || b->mean == 0)
		return false;
	*ratio = a->mean / b->mean;
	*half = 0;
	if (a->n < 2 || b->n < 2)
		return true;
	/* The delta method: the error of a quotient to first order. */
	*half = half_of(a, b, error_of(a), *ratio * *ratio * error_of(b)) / fabs(b->mean);
	return true;
}
