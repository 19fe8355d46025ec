/* SPDX-License-Identifier: MIT */
/*
 * changes.h - where the level of a series of runs changed, and its trend.
 *
 * Runs are in the order of time. Sources: A. N. Pettitt, "A non-parametric approach to the
 * change-point problem", Applied Statistics 28 (1979); P. K. Sen, "Estimates of the regression
 * coefficient based on Kendall's tau", JASA 63 (1968).
 */
#pragma once

#include "lib/bench/statistics.h"

/* Fewer values before or after a change are not enough to call it one. */
#define BENCH_SIDE_LEAST 5

struct bench_change {
	size_t at;	      /* the first value after it */
	size_t from, to;      /* its 95 % interval, of such values */
	double before, after; /* means of the values since the change before, until the next one */
	struct bench_delta delta; /* of the two */
};

/* The changes of n values, none of them NAN, in order: at most `room`, the number is returned.
 * `level` is the probability of one in a series that only drifts or is noise: 0.05 divided by the
 * number of series that are looked at. The same values give the same changes. */
size_t bench_changes(const double *values, size_t n, double level, struct bench_change *changes,
		     size_t room);

/* How far a line through the values rises or falls from the first to the last, in percent of its
 * start, and its 95 % interval if they are independent. Not known for fewer than ten values or a
 * start of 0. */
struct bench_trend {
	bool known, significant; /* significant: the interval excludes 0 */
	double pct, ci_pct;
};
void bench_trend_of(const double *values, size_t n, struct bench_trend *trend);
