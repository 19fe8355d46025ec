/* SPDX-License-Identifier: MIT */
/* statistics.h - repeated measurements: a summary of each side, and their difference. */
#ifndef PMC_TOOLS_BENCH_STATISTICS_H
#define PMC_TOOLS_BENCH_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* From so many values on, differences are of the middle half of the values. */
#define BENCH_TRIMMED 10

struct bench_summary {
	size_t n; /* 0: no value, and the rest is 0 */
	double mean, stddev, median, min, max;
	/* Values beyond the quartiles by more than 1.5 interquartile ranges. They stay in the rest.
	 */
	size_t outliers;
	/* Of the values without the lowest and highest quarter; of all, if they are fewer than
	 * BENCH_TRIMMED or the others are equal: number, mean, and its squared standard error. */
	size_t kept;
	double middle, error;
};

/* NAN: no value. */
void bench_summarize(const double *values, size_t n, struct bench_summary *summary);

/* The difference of the middles. */
struct bench_delta {
	bool known;	    /* both have values, and the reference is not 0 */
	bool has_ci;	    /* both have at least two */
	bool significant;   /* the interval excludes 0, and the difference is at least 1 % */
	double pct, ci_pct; /* in percent of the reference's; the 95 % interval is ± ci_pct */
};

/* Of two sides that are independent of each other: by Welch's t test, or Yuen's. */
void bench_compare(const struct bench_summary *reference, const struct bench_summary *summary,
		   struct bench_delta *delta);
/* Of sides whose runs i were made one after the other: by their n differences, in which slower and
 * faster times of the machine cancel. NAN: no value. Changes what bench_compare() said, unless
 * pairs are fewer than BENCH_TRIMMED. */
void bench_compare_pairs(const double *reference, const double *values, size_t n,
			 const struct bench_summary *of_reference, struct bench_delta *delta);

/* The value that |t| exceeds with probability 1 - level, for df > 0 degrees of freedom. */
double bench_t_quantile(double level, double df);
/* Welch-Satterthwaite degrees of freedom; both summaries have n > 1, and one a spread. */
double bench_welch_df(const struct bench_summary *a, const struct bench_summary *b);

#endif
