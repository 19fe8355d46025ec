/* SPDX-License-Identifier: MIT */
/*
 * changes.c - change points by binary segmentation with Pettitt's test.
 *
 * Times of runs are not independent: a machine is slower for an hour, so runs that follow one
 * another are correlated, and a test for independent values would call each such hour a change.
 * Therefore the variance of sums is raised by the autocorrelation that is left without the change.
 * Where fewer than BLOCKS_LEAST blocks of runs, longer than that, fit into a series, as into a
 * random walk, a change cannot be told from drift.
 *
 * Autocorrelations of few runs are too uncertain for this alone. There the changes are also
 * compared with those that are found in made series, which drift as the values seem to.
 */
#include "tools/bench/changes.h"
#include "lib/base/arena.h"
#include "lib/base/hash.h"
#include "tools/cli/pmctl.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCKS_LEAST = 10,
	LAGS_MOST = 200, /* of the autocorrelations that are summed */
	STEPS = 4,	 /* that are looked for in made series */
	CURVE = 4,	 /* coefficients of a cubic polynomial */
	FEW = 3,	 /* the most steps that are tested one by one */
	LARGE_MOST = 8,	 /* the most large steps that are looked for at once */
	CHANGES_MOST = 64,
	TREND_POINTS = 200,
	MADE_MOST = 99, /* the most values for which series are made */
	SERIES = 199,
	TENTH = SERIES / 10,
};

/* Below this autocorrelation values are taken for independent. */
#define CORRELATED 0.1
/* The least F statistic of a step that is added to a cubic polynomial. */
#define SUDDEN 12.0
/* The least log likelihood ratio, doubled, of a step and a line, where a test of a step that is
 * added to a curve needs more runs. */
#define BETTER 11.0
/* The least step, in standard deviations, that BENCH_SIDE_LEAST runs are enough for. */
#define LARGE 5.0
/* The level of each change in few runs. */
#define EACH 0.02
/* The 95 % quantile of the likelihood ratio of a change's place (B. E. Hansen, "Sample splitting
 * and threshold estimation", Econometrica 68 (2000), table I). */
#define PLACE_RATIO 7.35

struct ordered {
	double value; /* first: what they are ordered by */
	size_t at;
};

struct series {
	struct pmc_arena arena;
	const double *values;
	double *ranks, *scratch, *sums; /* n each; sums: n + 1 */
	struct ordered *order;
	size_t n;
	double level;
	uint64_t random;
};

/* ---- one segment -------------------------------------------------------------------------- */

/* Ranks of the values from..to less their mean, in series->ranks from 0; equal values have equal
 * ranks. False: all values are equal. */
static bool rank_values(struct series *series, size_t from, size_t to)
{
	const size_t n = to - from;
	struct ordered *order = series->order;

	for (size_t i = 0; i < n; i++)
		order[i] = (struct ordered){ series->values[from + i], i };
	qsort(order, n, sizeof(*order), bench_by_value);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && order[next].value == order[i].value;)
			next++;
		for (size_t k = i; k < next; k++)
			series->ranks[order[k].at] = ((double)i + (double)next - (double)n) / 2;
	}
	return order[0].value < order[n - 1].value;
}

/* The largest sum of the first k ranks, by its absolute value. *at: the k at which it is largest in
 * units of its standard deviation; where it is largest itself is nearer to the middle than a change
 * is. At least BENCH_SIDE_LEAST ranks are on both sides. */
static double largest_sum(const double *ranks, size_t n, size_t *at)
{
	double sum = 0, most = -1, best = -1;

	*at = BENCH_SIDE_LEAST;
	for (size_t i = 0; i + BENCH_SIDE_LEAST < n; i++) {
		const double k = (double)(i + 1);
		double ratio;

		sum += ranks[i];
		ratio = sum * sum / (k * ((double)n - k));
		if (i + 1 < BENCH_SIDE_LEAST)
			continue;
		most = fmax(most, fabs(sum));
		if (ratio > best) {
			best = ratio;
			*at = i + 1;
		}
	}
	return most;
}

/* The reduction of the sum of squared residuals by a step after the first k of n values. */
static double explained(const struct series *series, size_t n, size_t k)
{
	const double left = series->sums[k], all = series->sums[n],
		     distance = left / (double)k - (all - left) / (double)(n - k);

	return distance * distance * (double)k * (double)(n - k) / (double)n;
}

/* The best step of the values from..to by least squares: the first value after it. *gain: the
 * reduction of the sum of squared residuals. Leaves sums of the values less the first one:
 * series->sums[i] is of the first i. */
static size_t best_step(struct series *series, size_t from, size_t to, double *gain)
{
	const size_t n = to - from;
	size_t best = BENCH_SIDE_LEAST;

	series->sums[0] = 0;
	for (size_t i = 0; i < n; i++)
		series->sums[i + 1] =
			series->sums[i] + (series->values[from + i] - series->values[from]);
	for (size_t k = best; k + BENCH_SIDE_LEAST <= n; k++)
		if (explained(series, n, k) > explained(series, n, best))
			best = k;
	*gain = explained(series, n, best);
	return from + best;
}

/* Places of changes in order in the values from..to, and see block_length(). */
struct places {
	size_t from, to, n, most;
	struct place {
		size_t at;
		double inflated;
	} list[CHANGES_MOST];
};

static void add_place(struct places *places, size_t at, double inflated)
{
	size_t c = places->n;

	if (c == places->most)
		return;
	for (; c && places->list[c - 1].at > at; c--)
		places->list[c] = places->list[c - 1];
	places->list[c] = (struct place){ at, inflated };
	places->n++;
}

static void drop_place(struct places *places, size_t c)
{
	places->n--;
	memmove(&places->list[c], &places->list[c + 1], (places->n - c) * sizeof(struct place));
}

/* The first place of level c: of the values between two changes. */
static size_t level_start(const struct places *places, size_t c)
{
	return !c ? places->from : c > places->n ? places->to : places->list[c - 1].at;
}

/* Puts the residuals of the ranks from their means between the places into series->scratch. Returns
 * the sum of their squares. */
static double residuals(struct series *series, const struct places *places)
{
	double square = 0;

	for (size_t c = 0; c <= places->n; c++) {
		const size_t start = level_start(places, c) - places->from,
			     end = level_start(places, c + 1) - places->from;
		double mean = 0;

		for (size_t i = start; i < end; i++)
			mean += series->ranks[i] / (double)(end - start);
		for (size_t i = start; i < end; i++) {
			series->scratch[i] = series->ranks[i] - mean;
			square += series->scratch[i] * series->scratch[i];
		}
	}
	return square;
}

/* Of the residuals, whose sum of squares is that. */
static double autocorrelation(const struct series *series, size_t n, size_t lag, double square)
{
	double product = 0;

	for (size_t i = lag; i < n; i++)
		product += series->scratch[i] * series->scratch[i - lag];
	return square > 0 ? product / square : 0;
}

/* The length of the blocks: twice the lag at which the autocorrelation of the residuals is small; 1
 * if it is small at once. *inflated: the factor by which the autocorrelation raises the variance of
 * a mean (Bartlett's weights); at least that of an autoregressive series of first order, corrected
 * for the bias of short series. */
static size_t block_length(const struct series *series, size_t n, double square, double *inflated)
{
	const double small = fmax(CORRELATED, 1.64 / sqrt((double)n));
	const double first = autocorrelation(series, n, 1, square);
	const double rho = fmin(fmax(first + (2 + 4 * first) / (double)n, 0), 0.99);
	const size_t most = n / BLOCKS_LEAST, far = most < LAGS_MOST ? most : LAGS_MOST;
	double sum = 1;
	size_t lag = 1;

	while (lag <= most && autocorrelation(series, n, lag, square) >= small)
		lag++;
	for (size_t i = 1; i <= far; i++)
		sum += 2 * autocorrelation(series, n, i, square) *
		       (1 - (double)i / (double)(far + 1));
	*inflated = fmax(sum, (1 + rho) / (1 - rho));
	return lag == 1 ? 1 : 2 * lag;
}

/* The probability of a sum as large as `most` if values are independent: sums of ranks, whose sum
 * of squares is `square`, are a Brownian bridge. */
static double independent_probability(double most, double square)
{
	return 2 * exp(-2 * most * most / square);
}

/* Whether the ranks change at once and not gradually: an F test of a step that is added to a cubic
 * polynomial. The window around the place is as wide as makes the expected F five times the least
 * one. */
static bool is_sudden(struct series *series, size_t n, size_t at, double square, double inflated)
{
	const double noise = square / (double)n * inflated;
	double step = 0, size, ss = 0, sy = 0, yy = 0, line = 0, x2, x4, m;
	double pp[CURVE] = { 0 }, ps[CURVE] = { 0 }, py[CURVE] = { 0 };
	size_t half, from, to;

	for (size_t i = 0; i < n; i++)
		step += i < at ? -series->ranks[i] / (double)at :
				 series->ranks[i] / (double)(n - at);
	size = 5 * SUDDEN * 8 * noise / (step * step);
	half = noise <= 0 || size < 2 * BENCH_SIDE_LEAST ? 2 * BENCH_SIDE_LEAST :
	       size > (double)n				 ? n :
							   (size_t)size;
	from = at > half ? at - half : 0;
	to = n - at > half ? at + half : n;
	m = (double)(to - from);
	/* Sums of x^2 and x^4. */
	x2 = m * (m * m - 1) / 12;
	x4 = x2 * (3 * m * m - 7) / 20;
	for (size_t i = from; i < to; i++) {
		const double x = (double)i - (double)(from + to - 1) / 2, s = i >= at,
			     y = series->ranks[i];
		/* Orthogonal polynomials on the window. */
		const double curve[CURVE] = { 1, x, x * x - x2 / m, x * x * x - x * x4 / x2 };

		for (unsigned k = 0; k < CURVE; k++) {
			pp[k] += curve[k] * curve[k];
			ps[k] += curve[k] * s;
			py[k] += curve[k] * y;
		}
		ss += s * s;
		sy += s * y;
		yy += y * y;
	}
	/* Residuals of the step and of the ranks from the polynomial. */
	for (unsigned k = 0; k < CURVE; k++) {
		ss -= ps[k] * ps[k] / pp[k];
		sy -= ps[k] * py[k] / pp[k];
		yy -= py[k] * py[k] / pp[k];
		line = k < 2 ? yy : line;
	}
	if (to - from == n && series->n <= MADE_MOST && (double)n * log(line / square) > BETTER)
		return true;
	return ss > 0 && sy * sy / ss * m > SUDDEN * inflated * (yy - sy * sy / ss);
}

/* Whether at most a tenth of the values is nearer to another level than to their own, and none
 * where most values are equal, as numbers of threads are. */
static bool is_apart(const double *values, size_t n, double own, double other, bool equal)
{
	size_t wrong = 0;

	for (size_t i = 0; i < n; i++)
		wrong += fabs(values[i] - own) >= fabs(values[i] - other);
	return wrong * 10 <= (equal ? 0 : n);
}

/* The step that is the smallest, or places->n if all are larger than LARGE standard deviations,
 * estimated by medians from all levels. */
static size_t too_small(struct series *series, struct places *places)
{
	const size_t n = places->to - places->from;
	double levels[LARGE_MOST + 1], least, smallest = INFINITY, inflated;
	struct bench_summary summary;
	size_t weakest = 0;

	for (size_t c = 0; c <= places->n; c++) {
		const size_t start = level_start(places, c), end = level_start(places, c + 1);

		bench_summarize(series->values + start, end - start, &summary);
		levels[c] = summary.median;
		for (size_t i = start; i < end; i++)
			series->scratch[i - places->from] = fabs(series->values[i] - levels[c]);
	}
	bench_summarize(series->scratch, n, &summary);
	block_length(series, n, residuals(series, places), &inflated);
	/* 1.4826 medians are the standard deviation of normal values. */
	least = LARGE * 1.4826 * summary.median * sqrt(inflated);
	for (size_t c = 0; c < places->n; c++) {
		const size_t start = level_start(places, c), at = places->list[c].at,
			     end = level_start(places, c + 2);
		const double before = levels[c], after = levels[c + 1];
		const bool apart =
			is_apart(series->values + start, at - start, before, after, least <= 0) &&
			is_apart(series->values + at, end - at, after, before, least <= 0);
		const double size = apart ? fabs(after - before) : 0;

		places->list[c].inflated = inflated;
		if (size < smallest) {
			smallest = size;
			weakest = c;
		}
	}
	return smallest > least ? places->n : weakest;
}

/* Adds the best step by least squares. False: there is no more. */
static bool add_best(struct series *series, struct places *places)
{
	double gain, most = 0;
	size_t at, best = 0;

	for (size_t c = 0; c <= places->n; c++) {
		const size_t start = level_start(places, c), end = level_start(places, c + 1);

		if (end - start < 2 * BENCH_SIDE_LEAST)
			continue;
		at = best_step(series, start, end, &gain);
		if (gain > most) {
			most = gain;
			best = at;
		}
	}
	if (most > 0)
		add_place(places, best, 1);
	return most > 0;
}

/* Looks for steps that BENCH_SIDE_LEAST runs are enough for. Two steps hide each other, since each
 * is noise to the other one: so there are first as many as places->most, and the smallest is
 * dropped until all are large. The ranks are those of the values. */
static bool large_steps(struct series *series, struct places *places)
{
	double gain;
	size_t c;

	while (places->n < places->most && add_best(series, places))
		;
	while (places->n) {
		for (c = 0; c < places->n; c++)
			places->list[c].at = best_step(series, level_start(places, c),
						       level_start(places, c + 2), &gain);
		c = too_small(series, places);
		if (c == places->n)
			return true;
		drop_place(places, c);
	}
	return false;
}

/* Looks for a change, or, as if runs were independent, for a step. */
static bool find_change(struct series *series, size_t from, size_t to, bool independent,
			struct place *found)
{
	const size_t n = to - from;
	struct places places = { from, to, .most = 1 };
	/* All changes of a few runs together are tested in the end. */
	const double level = series->n <= MADE_MOST ? fmax(series->level, EACH) : series->level;
	double most, all, square;
	size_t at, length;

	if (n < 2 * BENCH_SIDE_LEAST || !rank_values(series, from, to))
		return false;
	if (!independent && large_steps(series, &places)) {
		*found = places.list[0];
		return true;
	}
	all = residuals(series, &places);
	most = largest_sum(series->ranks, n, &at);
	*found = (struct place){ from + at, 1 };
	if (independent)
		return independent_probability(most, all) <= series->level;
	add_place(&places, found->at, 1);
	square = residuals(series, &places);
	length = block_length(series, n, square, &found->inflated);
	return n >= length * BLOCKS_LEAST && is_sudden(series, n, at, square, found->inflated) &&
	       independent_probability(most, all * found->inflated) <= level;
}

/* Binary segmentation. */
static void segment(struct series *series, size_t from, size_t to, bool independent,
		    struct places *places)
{
	struct place place;

	if (places->n == places->most || !find_change(series, from, to, independent, &place))
		return;
	segment(series, from, place.at, independent, places);
	add_place(places, place.at, place.inflated);
	segment(series, place.at, to, independent, places);
}

/* Several changes hide each other: without one of them, the others are autocorrelation. So each of
 * a few steps is tested between its neighbours. More than FEW are taken for drift. */
static void few_changes(struct series *series, struct places *places)
{
	struct places steps = { .to = series->n, .most = 2 * FEW };
	size_t c = 0;

	segment(series, 0, series->n, true, &steps);
	if (steps.n == steps.most)
		return;
	while (c < steps.n) {
		if (find_change(series, level_start(&steps, c), level_start(&steps, c + 2), false,
				&steps.list[c])) {
			c++;
			continue;
		}
		/* The one before has other neighbours now. */
		drop_place(&steps, c);
		c -= c > 0;
	}
	if (steps.n > places->n && steps.n <= FEW)
		*places = steps;
}

/* ---- made series -------------------------------------------------------------------------- */

/* How much better one step, and STEPS of them, explain the values, which are the ranks here, if
 * these are autoregressive of first order: n times the logarithm of the ratio of squared residuals.
 * Each step is the best one beside those before. */
static void step_ratios(struct series *series, double ratios[2])
{
	const double n = (double)series->n;
	struct places places = { .to = series->n, .most = STEPS };
	double alone = 0;

	for (size_t m = 0; m <= STEPS; m++) {
		const double square = residuals(series, &places),
			     rho = autocorrelation(series, series->n, 1, square),
			     rest = square * (1 - rho * rho);

		if (m)
			ratios[m > 1] = n * log(alone / fmax(rest, 1e-12 * alone));
		else
			alone = rest;
		add_best(series, &places);
	}
}

/* Of standard deviation 1. */
static double normal(struct series *series)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		series->random ^= series->random << 13;
		series->random ^= series->random >> 7;
		series->random ^= series->random << 17;
		sum += (double)(series->random >> 11) * 0x1p-53;
	}
	return sum;
}

/* A drift like that of the values: an autoregressive one of first order with this coefficient, and
 * noise beside it, which has the rest of the variance. */
struct drift {
	double rho, share;
};

/* The autocorrelations of lags 1 to 3 without the steps. */
static void three_lags(struct series *series, const struct places *places, double lags[4])
{
	const double square = residuals(series, places);

	for (size_t lag = 1; lag < 4; lag++)
		lags[lag] = autocorrelation(series, series->n, lag, square);
}

/* With noise beside the drift its coefficient is the rate at which autocorrelations decline. A step
 * has such noise, too: if nothing else is correlated, what is taken is halfway between that rate
 * and the first autocorrelation. */
static struct drift drift_of(struct series *series)
{
	const double n = (double)series->n, small = 1.64 / sqrt(n);
	struct places places = { .to = series->n, .most = 1 };
	double lags[4], left[4], first, rate, rho;

	three_lags(series, &places, lags);
	add_best(series, &places);
	three_lags(series, &places, left);
	first = rate = lags[1];
	if (first > small)
		rate = fmin((lags[2] + lags[3]) / (lags[1] + lags[2]), 1);
	rho = fmax(first, left[1] + left[2] > small ? rate : (first + rate) / 2);
	/* The bias of short series. */
	first += (1 + 3 * first) / n;
	rho = fmax(fmin(rho + (1 + 3 * rho) / n, 0.99), 0);
	return (struct drift){ rho, rho > 0 ? fmax(fmin(first / rho, 1), 0) : 0 };
}

static void make_drift(struct series *series, const struct drift *drift)
{
	double state = normal(series);

	for (size_t i = 0; i < series->n; i++) {
		series->ranks[i] =
			sqrt(drift->share) * state + sqrt(1 - drift->share) * normal(series);
		state = drift->rho * state + sqrt(1 - drift->rho * drift->rho) * normal(series);
	}
}

/* The upper tenth of a sample: where it starts, and its mean distance from there. */
struct tail {
	double start, mean;
};

static struct tail tail_of(const double *sample)
{
	double sorted[SERIES];
	struct tail tail = { 0 };

	memcpy(sorted, sample, sizeof(sorted));
	qsort(sorted, SERIES, sizeof(*sorted), bench_by_value);
	tail.start = sorted[SERIES - TENTH - 1];
	for (size_t i = SERIES - TENTH; i < SERIES; i++)
		tail.mean += (sorted[i] - tail.start) / TENTH;
	return tail;
}

/* The probability of steps that explain as much in made series that drift like the values: of one
 * step or STEPS, the more unusual. Small probabilities are of exponential tails; 1: more than a
 * tenth. */
static double made_probability(const struct series *values)
{
	double own[2], one[2], made[2][SERIES], worst[SERIES], most = -INFINITY;
	struct series series = *values;
	struct drift drift;
	struct tail tail;

	series.values = memcpy(series.ranks, values->values, series.n * sizeof(double));
	step_ratios(&series, own);
	drift = drift_of(&series);
	for (unsigned s = 0; s < SERIES; s++) {
		make_drift(&series, &drift);
		step_ratios(&series, one);
		made[0][s] = one[0];
		made[1][s] = one[1];
		worst[s] = -INFINITY;
	}
	for (unsigned m = 0; m < 2; m++) {
		tail = tail_of(made[m]);
		for (unsigned s = 0; s < SERIES; s++)
			worst[s] = fmax(worst[s], (made[m][s] - tail.start) / tail.mean);
		most = fmax(most, (own[m] - tail.start) / tail.mean);
	}
	tail = tail_of(worst);
	return most <= tail.start ? 1 : 0.1 * exp(-(most - tail.start) / tail.mean);
}

/* ---- the changes -------------------------------------------------------------------------- */

/* The mean of each block. The last one may be longer. */
static size_t block_means(const double *values, size_t n, size_t length, double *means)
{
	const size_t n_blocks = n / length ? n / length : 1;

	for (size_t b = 0; b < n_blocks; b++) {
		const size_t from = b * length, to = b + 1 == n_blocks ? n : from + length;

		means[b] = 0;
		for (size_t i = from; i < to; i++)
			means[b] += values[i] / (double)(to - from);
	}
	return n_blocks;
}

/* Change c, between the changes around it, at its best place. */
static void describe(struct series *series, struct places *places, size_t c,
		     struct bench_change *change)
{
	const size_t from = level_start(places, c), to = level_start(places, c + 2), n = to - from;
	const double inflated = places->list[c].inflated;
	struct bench_summary sides[2];
	struct bench_mean means[2];
	double gain, noise = 0;
	const size_t best = best_step(series, from, to, &gain) - from;

	*change = (struct bench_change){ .at = from + best, .from = from + best };
	for (unsigned side = 0; side < 2; side++) {
		const size_t start = side ? from + best : from, end = side ? to : from + best;

		bench_summarize(series->values + start, end - start, &sides[side]);
		noise += sides[side].stddev * sides[side].stddev * (double)(end - start - 1);
		/* The error of a mean of correlated values. */
		sides[side].stddev *= sqrt(inflated);
		sides[side].trimmed.error *= inflated;
	}
	for (size_t k = BENCH_SIDE_LEAST; k + BENCH_SIDE_LEAST <= n; k++) {
		if (explained(series, n, best) - explained(series, n, k) >
		    PLACE_RATIO * noise / (double)n * inflated)
			continue;
		change->from = from + k < change->from ? from + k : change->from;
		change->to = from + k;
	}
	bench_compare(&sides[0], &sides[1], &change->delta);
	bench_means(&sides[0], &sides[1], means);
	change->before = means[0].value;
	change->after = means[1].value;
	places->list[c].at = change->at;
}

size_t bench_changes(const double *values, size_t n, double level, struct bench_change *changes,
		     size_t room)
{
	struct series series = { .values = values, .n = n, .level = level };
	struct places places = { .to = n, .most = CHANGES_MOST },
		      large = { .to = n, .most = LARGE_MOST };
	size_t listed = 0;

	if (n < 2 * BENCH_SIDE_LEAST)
		return 0;
	series.random = pmc_hash_sip((const uint64_t[2]){ 0 }, values, n * sizeof(double)) | 1;
	series.ranks = pmc_arena_alloc(&series.arena, n * sizeof(double));
	series.scratch = pmc_arena_alloc(&series.arena, n * sizeof(double));
	series.sums = pmc_arena_alloc(&series.arena, (n + 1) * sizeof(double));
	series.order = pmc_arena_alloc(&series.arena, n * sizeof(*series.order));
	if (rank_values(&series, 0, n))
		large_steps(&series, &large);
	for (size_t c = 0; c <= large.n; c++) {
		segment(&series, level_start(&large, c), level_start(&large, c + 1), false,
			&places);
		if (c < large.n)
			add_place(&places, large.list[c].at, large.list[c].inflated);
	}
	few_changes(&series, &places);
	/* Drops changes that are too small, the smallest first: those beside it then have other
	 * means. */
	while (places.n) {
		size_t least = 0;
		double smallest = INFINITY;

		for (size_t c = 0; c < places.n; c++) {
			struct bench_change change;
			const struct bench_delta *delta = &change.delta;

			describe(&series, &places, c, &change);
			/* Not known: from 0. */
			if (!delta->known || delta->significant)
				continue;
			if (fabs(delta->pct) < smallest) {
				smallest = fabs(delta->pct);
				least = c;
			}
		}
		if (smallest == INFINITY)
			break;
		drop_place(&places, least);
	}
	if (places.n && n <= MADE_MOST && made_probability(&series) > level)
		places.n = 0;
	for (size_t c = 0; c < places.n && listed < room; c++)
		describe(&series, &places, c, &changes[listed++]);
	pmc_arena_free(&series.arena);
	return listed;
}

/* ---- trend -------------------------------------------------------------------------------- */

/* Sen's slope: the median of the slopes of all pairs, here of means of blocks, of which there are
 * few enough for all pairs. */
void bench_trend_of(const double *values, size_t n, struct bench_trend *trend)
{
	size_t n_points, n_slopes = 0;
	double *points, *slopes, spread, slope, start;
	struct bench_summary summary;

	*trend = (struct bench_trend){ .known = false };
	if (n < 2 * BENCH_SIDE_LEAST)
		return;
	points = tool_realloc(NULL, n * sizeof(*points));
	n_points = block_means(values, n, n / TREND_POINTS + 1, points);
	slopes = tool_realloc(NULL, n_points * n_points * sizeof(*slopes));
	for (size_t i = 0; i < n_points; i++)
		for (size_t k = i + 1; k < n_points; k++)
			slopes[n_slopes++] = (points[k] - points[i]) / (double)(k - i);
	qsort(slopes, n_slopes, sizeof(*slopes), bench_by_value);
	bench_summarize(points, n_points, &summary);
	/* Of Kendall's tau, as a number of slopes around the median. */
	spread = 1.96 *
		 sqrt((double)n_points * (double)(n_points - 1) * (2 * (double)n_points + 5) / 18);
	slope = n_slopes ? (slopes[(n_slopes - 1) / 2] + slopes[n_slopes / 2]) / 2 : 0;
	/* The line through a curve may begin or end where no value is. */
	start = summary.median - slope * (double)(n_points - 1) / 2;
	start = fmax(fmin(start, summary.max), summary.min);
	if (start && n_slopes) {
		const double half = fmin(spread, (double)n_slopes - 1) / 2,
			     middle = (double)(n_slopes - 1) / 2;
		const double low = slopes[(size_t)(middle - half)],
			     high = slopes[(size_t)(middle + half)],
			     whole = (double)(n_points - 1) / fabs(start) * 100;

		trend->known = true;
		trend->pct = fmax(slope * whole, summary.min < 0 ? -INFINITY : -100);
		trend->ci_pct = (high - low) / 2 * whole;
		trend->significant = low > 0 || high < 0;
	}
	free(points);
	free(slopes);
}
