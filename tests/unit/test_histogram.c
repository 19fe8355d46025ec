/* SPDX-License-Identifier: MIT */
/* test_histogram.c - buckets, percentiles and sums of log-linear histograms. */
#include "lib/base/histogram.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

static struct pmc_arena arena;

static int tear_down(void **state)
{
	pmc_arena_free(&arena);
	return 0;
}

/* The bucket of a value ends at it or less than a sixteenth above it, also at powers of 2. */
static void every_value_has_its_bucket(void **state)
{
	for (unsigned shift = 0; shift < 64; shift++)
		for (int near = -2; near <= 2; near++) {
			const uint64_t value = ((uint64_t)1 << shift) + (uint64_t)near;
			struct pmc_histogram one = { .n = 0 };
			const struct pmc_octave *o;
			unsigned part = 0;

			pmc_histogram_add(&arena, &one, value);
			o = one.octaves;
			while (!o->n[part])
				part++;
			assert_null(o->next);
			assert_int_equal(pmc_histogram_bucket(value),
					 o->octave * PMC_HISTOGRAM_PARTS + part);
			assert_true(pmc_histogram_bound(o->octave, part) >= value);
			assert_true(pmc_histogram_bound(o->octave, part) - value <= value / 16);
			if (o->octave + part)
				assert_true((part ? pmc_histogram_bound(o->octave, part - 1) :
						    pmc_histogram_bound(o->octave - 1, 15)) <
					    value);
			assert_int_equal(pmc_histogram_percentile(&one, 50), value);
		}
	assert_int_equal(pmc_histogram_bound(60, 15), UINT64_MAX);
}

static void percentiles(void **state)
{
	struct pmc_histogram of = { .n = 0 };

	assert_int_equal(pmc_histogram_percentile(&of, 50), 0);
	for (uint64_t i = 1; i <= 31; i++)
		pmc_histogram_add(&arena, &of, i);
	assert_int_equal(pmc_histogram_percentile(&of, 0), 1);
	assert_int_equal(pmc_histogram_percentile(&of, 50), 16);
	assert_int_equal(pmc_histogram_percentile(&of, 99), 31);
	for (unsigned i = 0; i < 69; i++)
		pmc_histogram_add(&arena, &of, 1000 + i);
	assert_int_equal(of.n, 100);
	assert_int_equal(pmc_histogram_percentile(&of, 31), 31);
	assert_int_equal(pmc_histogram_percentile(&of, 32), 1023);
	assert_int_equal(pmc_histogram_percentile(&of, 100), 1068);
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Of two merged ones, as of all values sorted: at most 6.25 % more. */
static void merged(void **state)
{
	enum { N = 5000 };
	struct pmc_histogram parts[2] = { { .n = 0 } }, all = { .n = 0 };
	uint64_t values[N];

	srand(5);
	for (unsigned i = 0; i < N; i++) {
		values[i] = (uint64_t)rand() >> rand() % 31;
		pmc_histogram_add(&arena, &parts[i % 2], values[i]);
	}
	qsort(values, N, sizeof(*values), by_size);
	pmc_histogram_merge(&arena, &all, &parts[0]);
	pmc_histogram_merge(&arena, &all, &parts[1]);
	assert_int_equal(all.n, N);
	assert_int_equal(all.most, values[N - 1]);
	for (unsigned percent = 1; percent <= 100; percent++) {
		const uint64_t want = values[N / 100 * percent - 1],
			       got = pmc_histogram_percentile(&all, percent);

		assert_true(got >= want && got <= want + want / 16);
	}
}

/* Emptied, it is as new, without new memory. */
static void used_again(void **state)
{
	struct pmc_histogram of = { .n = 0 };
	const struct pmc_octave *first;

	pmc_histogram_add_times(&arena, &of, 100, 99);
	pmc_histogram_add_times(&arena, &of, 5000, 1);
	pmc_histogram_add_times(&arena, &of, 1000000, 0);
	assert_int_equal(of.n, 100);
	assert_int_equal(of.most, 5000);
	assert_int_equal(pmc_histogram_percentile(&of, 99), 103);
	assert_int_equal(pmc_histogram_percentile(&of, 100), 5000);
	first = of.octaves;
	pmc_histogram_clear(&of);
	assert_int_equal(of.n, 0);
	assert_int_equal(pmc_histogram_percentile(&of, 50), 0);
	pmc_histogram_add(&arena, &of, 90);
	assert_ptr_equal(of.octaves, first);
	assert_int_equal(pmc_histogram_percentile(&of, 50), 90);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(every_value_has_its_bucket, tear_down),
		cmocka_unit_test_teardown(percentiles, tear_down),
		cmocka_unit_test_teardown(merged, tear_down),
		cmocka_unit_test_teardown(used_again, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
