/* SPDX-License-Identifier: MIT */
/* test_changes.c - change points in made series: planted ones are found, drift and noise have none.
 */
#include "tools/bench/changes.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static uint64_t random_state;

static double uniform(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state * 0x2545f4914f6cdd1dull >> 11) * 0x1p-53;
}

/* Of standard deviation 1. */
static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(2 * acos(-1) * uniform());
}

enum drift { NOISE, ALIKE, MUCH_ALIKE, WALK, SLOPE, WAVE, SESSIONS, SLOW_RUNS, N_DRIFTS };

static const char *const names[N_DRIFTS] = { "independent", "correlation 0.5", "correlation 0.9",
					     "random walk", "slope",	       "wave",
					     "sessions",    "slow runs" };

static double values[10000];

/* n values around 100 with noise of 1. */
static void make(enum drift drift, size_t n, uint64_t seed)
{
	double state = 0;

	random_state = (seed + 1) * 0x9e3779b97f4a7c15ull | 1;
	for (size_t i = 0; i < n; i++) {
		const double noise = normal(), at = (double)i / (double)n;

		state = drift == ALIKE	    ? 0.5 * state + noise :
			drift == MUCH_ALIKE ? 0.9 * state + noise :
			drift == WALK	    ? state + 0.3 * noise :
			drift == SLOPE	    ? 4 * at + noise :
			drift == WAVE	    ? 2 * sin(4 * acos(-1) * at) + noise :
			drift == SLOW_RUNS  ? noise + (uniform() < 0.05 ? 20 * uniform() : 0) :
			drift != SESSIONS   ? noise :
			i % (n / 10)	    ? state :
					      2 * noise;
		values[i] = 100 + state + (drift == SESSIONS ? normal() : 0);
	}
}

static size_t with_changes(enum drift drift, size_t n)
{
	struct bench_change changes[8];
	size_t found = 0;

	for (uint64_t seed = 0; seed < 100; seed++) {
		make(drift, n, seed);
		found += bench_changes(values, n, 0.05, changes, 8) > 0;
	}
	return found;
}

static void drift_is_no_change(void **state)
{
	for (enum drift drift = NOISE; drift < N_DRIFTS; drift++)
		for (size_t n = 24; n <= 1000; n = n < 50 ? 50 : n + 190) {
			const size_t found = with_changes(drift, n);

			if (found > 5)
				fail_msg("%s, %zu runs: a change in %zu of 100 series",
					 names[drift], n, found);
		}
}

/* 50 times 36 measurements of few runs, as a program with eight pools has. */
static void families_of_drift(void **state)
{
	struct bench_change changes[8];
	unsigned found = 0;

	for (uint64_t seed = 0; seed < 1800; seed++) {
		const size_t n = seed % 3 == 0 ? 25 : seed % 3 == 1 ? 40 : 80;
		double slow = 0;

		make((enum drift)(seed % 4 % 3), n, seed);
		for (size_t i = 0; i < n && seed % 4 == 3; i++, slow = 0.9 * slow + normal())
			values[i] += 2 * normal() + slow;
		found += bench_changes(values, n, 0.05 / 36, changes, 8) > 0;
	}
	assert_in_range(found, 0, 5);
}

static void step(size_t from, size_t to, double by)
{
	for (size_t i = from; i < to; i++)
		values[i] += by;
}

static void planted(void **state)
{
	static const size_t lengths[] = { 100, 1000, 10000 };
	struct bench_change changes[8];

	for (unsigned k = 0; k < 3; k++) {
		const size_t n = lengths[k];
		size_t found = 0, covered = 0;

		for (uint64_t seed = 0; seed < 20; seed++) {
			make(NOISE, n, seed);
			step(n * 2 / 5, n, 3);
			if (bench_changes(values, n, 0.0005, changes, 8) != 1)
				continue;
			found += fabs((double)changes[0].at - (double)(n * 2 / 5)) <= 5;
			covered += changes[0].from <= n * 2 / 5 && changes[0].to >= n * 2 / 5;
			assert_true(changes[0].delta.significant);
			assert_true(fabs(changes[0].delta.pct - 3) < 1);
		}
		assert_in_range(found, 18, 20);
		assert_in_range(covered, 18, 20);
	}
}

/* Of independent noise, in few runs. */
static void small_in_few(void **state)
{
	static const struct {
		size_t n, at;
		double size;
		unsigned least;
	} of[] = { { 20, 10, 5, 60 }, { 40, 20, 3, 65 }, { 40, 33, 5, 70 }, { 60, 30, 2, 55 } };
	struct bench_change changes[8];

	for (unsigned k = 0; k < sizeof(of) / sizeof(of[0]); k++) {
		unsigned found = 0;

		for (uint64_t seed = 0; seed < 100; seed++) {
			make(NOISE, of[k].n, seed);
			step(of[k].at, of[k].n, of[k].size);
			if (bench_changes(values, of[k].n, 0.0125, changes, 8) != 1)
				continue;
			found++;
			assert_true(changes[0].delta.has_ci);
		}
		if (found < of[k].least)
			fail_msg("%g after run %zu of %zu: found in %u of 100 series", of[k].size,
				 of[k].at, of[k].n, found);
	}
}

static void several(void **state)
{
	struct bench_change changes[8];

	make(NOISE, 600, 3);
	step(150, 600, 4);
	step(300, 600, 4);
	step(450, 600, -8);
	assert_int_equal(bench_changes(values, 600, 0.001, changes, 8), 3);
	for (unsigned i = 0; i < 3; i++)
		assert_in_range(changes[i].at, 148 + 150 * i, 152 + 150 * i);
	assert_true(changes[0].after == changes[1].before && changes[2].delta.pct < 0);
	assert_int_equal(bench_changes(values, 600, 0.001, changes, 2), 2);
}

static void small_and_short(void **state)
{
	struct bench_change changes[8];

	/* Certain, but not worth a line. */
	make(NOISE, 1000, 5);
	for (unsigned i = 0; i < 1000; i++)
		values[i] = 100 + (values[i] - 100) / 100 + (i >= 500 ? 0.5 : 0);
	assert_int_equal(bench_changes(values, 1000, 0.05, changes, 8), 0);
	step(500, 1000, 1);
	assert_int_equal(bench_changes(values, 1000, 0.05, changes, 8), 1);
	assert_int_equal(changes[0].at, 500);
	assert_true(changes[0].from == 500 && changes[0].to == 500);
	/* Without noise, from 0, and too short. */
	for (unsigned i = 0; i < 40; i++)
		values[i] = i < 20 ? 0 : 7;
	assert_int_equal(bench_changes(values, 40, 0.05, changes, 8), 1);
	assert_true(changes[0].at == 20 && changes[0].before == 0 && changes[0].after == 7);
	assert_false(changes[0].delta.known);
	assert_int_equal(bench_changes(values + 16, 9, 0.05, changes, 8), 0);
	assert_int_equal(bench_changes(values, 20, 0.05, changes, 8), 0);
	assert_int_equal(bench_changes(values, 0, 0.05, changes, 8), 0);
}

/* The last runs of many, and few runs; whole numbers that are nearly always the same. */
static void large(void **state)
{
	struct bench_change changes[8];
	size_t found = 0;

	make(NOISE, 1000, 7);
	step(994, 1000, 20);
	assert_int_equal(bench_changes(values, 1000, 0.001, changes, 8), 1);
	assert_int_equal(changes[0].at, 994);
	make(NOISE, 12, 8);
	step(6, 12, 100);
	assert_int_equal(bench_changes(values, 12, 0.001, changes, 8), 1);
	assert_int_equal(changes[0].at, 6);
	for (uint64_t seed = 1; seed <= 100; seed++) {
		random_state = seed * 0x9e3779b97f4a7c15ull | 1;
		for (unsigned i = 0; i < 200; i++)
			values[i] = uniform() < 0.1 ? 2 : 1;
		found += bench_changes(values, 200, 0.05, changes, 8);
	}
	assert_in_range(found, 0, 5);
}

/* Each of several large steps in few runs, which is noise to the others. */
static void large_together(void **state)
{
	static const struct {
		size_t n, runs[5];
		double levels[5];
	} of[] = {
		{ 3, { 8, 8, 8 }, { 11.3, 17, 25.4 } },
		{ 3, { 10, 5, 5 }, { 11.3, 25.8, 17.1 } },
		{ 3, { 5, 5, 5 }, { 11.7, 16.9, 27 } },
		{ 3, { 10, 5, 5 }, { 0, 11.5, 17.1 } },
		{ 5, { 6, 6, 6, 6, 6 }, { 10, 15, 10, 15, 20 } },
	};
	struct bench_change changes[8];

	for (unsigned k = 0; k < sizeof(of) / sizeof(of[0]); k++)
		for (uint64_t seed = 1; seed <= 20; seed++) {
			size_t n = 0;

			random_state = seed * 0x9e3779b97f4a7c15ull | 1;
			for (size_t c = 0; c < of[k].n; c++)
				for (size_t i = 0; i < of[k].runs[c]; i++)
					values[n++] = of[k].levels[c] * (1 + 0.02 * normal());
			assert_int_equal(bench_changes(values, n, 0.0005, changes, 8), of[k].n - 1);
			n = 0;
			for (size_t c = 0; c + 1 < of[k].n; c++)
				assert_int_equal(changes[c].at, n += of[k].runs[c]);
		}
}

static void trends(void **state)
{
	struct bench_trend trend;
	unsigned wrong = 0, covered = 0;

	for (uint64_t seed = 0; seed < 100; seed++) {
		make(NOISE, 300, seed);
		bench_trend_of(values, 300, &trend);
		wrong += trend.significant;
		for (unsigned i = 0; i < 300; i++)
			values[i] += 10.0 * i / 299;
		bench_trend_of(values, 300, &trend);
		assert_true(trend.known && trend.significant);
		covered += fabs(trend.pct - 10) <= trend.ci_pct;
	}
	assert_in_range(wrong, 0, 10);
	assert_in_range(covered, 88, 100);
	for (unsigned i = 0; i < 50; i++)
		values[i] = 3;
	bench_trend_of(values, 50, &trend);
	assert_true(trend.known && trend.pct == 0 && !trend.significant);
	/* Medians of an even number of slopes and values. */
	memcpy(values,
	       (const double[]){ 100, 101, 103, 106, 110, 115, 121, 128, 136, 145, 155, 166 },
	       12 * sizeof(double));
	bench_trend_of(values, 12, &trend);
	assert_true(fabs(trend.pct - 66) < 1e-3);
	bench_trend_of(values, 9, &trend);
	assert_false(trend.known);
	/* Nothing falls by more than all of it: slowly, at once, in the middle. */
	for (unsigned i = 0; i < 20; i++)
		values[i] = 100 - 4 * i;
	bench_trend_of(values, 20, &trend);
	assert_true(fabs(trend.pct + 76) < 1e-3);
	for (unsigned i = 0; i < 20; i++)
		values[i] = i < 10 ? 100 + i % 2 : 1 + i % 2;
	bench_trend_of(values, 20, &trend);
	assert_true(trend.known && trend.pct >= -100 && trend.pct < -50);
	for (unsigned i = 0; i < 20; i++)
		values[i] = 1000 * pow(0.6, i % 10);
	bench_trend_of(values, 20, &trend);
	assert_true(trend.known && trend.pct >= -100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drift_is_no_change),
		cmocka_unit_test(families_of_drift),
		cmocka_unit_test(planted),
		cmocka_unit_test(small_in_few),
		cmocka_unit_test(several),
		cmocka_unit_test(small_and_short),
		cmocka_unit_test(large),
		cmocka_unit_test(large_together),
		cmocka_unit_test(trends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
