/* SPDX-License-Identifier: MIT */
/*
 * statistics.h - repeated measurements: a summary of each side, and their difference; for pmctl and
 * libpmc, which does not link libm.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* From so many values a side on, differences are of trimmed means. */
#define BENCH_TRIMMED 10

struct bench_mean {
	size_t n;	     /* of so many values; 0: there is none */
	double value, error; /* error: squared standard error */
};

struct bench_summary {
	size_t n; /* 0: no value, and the rest is 0 */
	double mean, stddev, median, min, max;
	double mad; /* median absolute deviation from the median */
	/* Values beyond the quartiles by more than 1.5 interquartile ranges. They stay in the rest.
	 */
	size_t outliers;
	/* Without the lowest and highest quarter of the values. None if they are fewer than
	 * BENCH_TRIMMED, or if the others are equal and those are not. */
	struct bench_mean trimmed;
};

/* Of doubles, for qsort(3). */
int bench_by_value(const void *a, const void *b);
/* NAN: no value. Without memory for a copy of the values the summary is that of none. */
void bench_summarize(const double *values, size_t n, struct bench_summary *summary);

/* The values that are compared of two sides: their trimmed means if both have one (true), else
 * their means. */
bool bench_means(const struct bench_summary *reference, const struct bench_summary *summary,
		 struct bench_mean means[2]);

/* Half of the 95 % interval of the mean; 0 of fewer than two values. */
double bench_mean_ci(const struct bench_summary *summary);

struct bench_delta {
	bool known;	    /* both have values, and the reference is not 0 */
	bool has_ci;	    /* both have at least two */
	bool significant;   /* the difference's interval excludes 0, and it is at least 1 % */
	bool trimmed;	    /* of trimmed means */
	bool paired;	    /* of the differences of pairs */
	double pct, ci_pct; /* in percent of base; the 95 % interval is ± ci_pct */
	/* Of the difference alone, in percent of base. Percentages have the error of the base, too:
	 * a large one may have ci_pct > pct where the difference is beyond doubt. */
	double difference_ci_pct;
	double base; /* the absolute value of the reference's mean, trimmed if that is */
};

/* The interval that is printed beside pct: one that does not contradict the mark. */
static inline double bench_shown_ci(const struct bench_delta *delta)
{
	const double size = delta->pct < 0 ? -delta->pct : delta->pct;

	return delta->significant && delta->ci_pct >= size ? delta->difference_ci_pct :
							     delta->ci_pct;
}

/* The error of the mean by the medians of ten parts of a series in the order of time: on a machine
 * that drifts, neighbours are alike. n 0: there are fewer than two parts. */
struct bench_mean bench_mean_of_parts(const double *values, size_t n);
/* The ratio of two means > 0 is within its quotient / (1 + this) and quotient * (1 + this). */
double bench_ratio_ci(const struct bench_mean means[2]);
/* Of a series in the order of time: the median of its second half / that of its first, - 1. */
double bench_drift(const double *values, size_t n);

/* Of two sides that are independent of each other: by Welch's t test, or Yuen's. */
void bench_compare(const struct bench_summary *reference, const struct bench_summary *summary,
		   struct bench_delta *delta);
/* Of sides whose runs i were made one after the other: by their n differences, in which slower and
 * faster times of the machine cancel. NAN: no value. Changes what bench_compare() said, unless
 * pairs are fewer than BENCH_TRIMMED. */
void bench_compare_pairs(const double *reference, const double *values, size_t n,
			 const struct bench_summary *of_reference, struct bench_delta *delta);

/* Of sides that were measured in sessions of their own, in which the machine was slower or faster:
 * n runs in the order of time. The interval is also that of the spread of parts of each session. */
void bench_compare_sessions(const double *reference, size_t n_reference, const double *values,
			    size_t n, struct bench_delta *delta);
/* The drift between sessions, in percent, by which intervals of times are widened. */
#define BENCH_DRIFT_PCT 3
/* Widens the interval by what is not worth a mark, in units of the values. */
void bench_widen(struct bench_delta *delta, double least);

/* The value that |t| exceeds with probability 1 - level, for df > 0 degrees of freedom. */
double bench_t_quantile(double level, double df);
/* Welch-Satterthwaite degrees of freedom; both have n > 1, and one an error. */
double bench_welch_df(const struct bench_mean means[2]);
