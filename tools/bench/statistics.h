/* SPDX-License-Identifier: MIT */
/* statistics.h - repeated measurements: a summary of each side, and their difference. */
#ifndef PMC_TOOLS_BENCH_STATISTICS_H
#define PMC_TOOLS_BENCH_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

struct bench_summary {
	size_t n; /* 0: no value, and the rest is 0 */
	double mean, stddev, median, min, max;
	/* Values beyond the quartiles by more than 1.5 interquartile ranges. They stay in the rest.
	 */
	size_t outliers;
};

/* Sorts the values. */
void bench_summarize(double *values, size_t n, struct bench_summary *summary);

/* The difference of means, in percent of the reference's. */
struct bench_delta {
	bool known;	    /* both have values, and the reference is not 0 */
	bool has_ci;	    /* both have at least two */
	bool significant;   /* the interval excludes 0, and the difference is at least 1 % */
	double pct, ci_pct; /* the 95 % interval is pct ± ci_pct, by Welch's t test */
};

void bench_compare(const struct bench_summary *reference, const struct bench_summary *summary,
		   struct bench_delta *delta);
/* How many times larger the first mean is: the ratio, and half of its 95 % interval. False if
 * either has no value or the second is 0. */
bool bench_ratio(const struct bench_summary *a, const struct bench_summary *b, double *ratio,
		 double *half);

/* The value that |t| exceeds with probability 1 - level, for df > 0 degrees of freedom. */
double bench_t_quantile(double level, double df);
/* Welch-Satterthwaite degrees of freedom; both summaries have n > 1, and one a spread. */
double bench_welch_df(const struct bench_summary *a, const struct bench_summary *b);

#endif
