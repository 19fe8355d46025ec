/* SPDX-License-Identifier: MIT */
/* test_fit.c - assignment of events to counters: conflicts, fewest passes in any order. */
#include "lib/plan/matching.h"
#include "tests/unit/unit.h"

#include <string.h>

#define BIT(i) (UINT64_C(1) << (i))

static uint64_t clash_of(const uint64_t *masks, unsigned n)
{
	struct pmc_fit_passes split;

	pmc_fit_split(masks, n, &split);
	return split.clash;
}

/* Number of events in the first pass. */
static unsigned assign(const uint64_t *masks, unsigned n)
{
	struct pmc_fit_passes split;
	uint64_t taken = 0;

	pmc_fit_split(masks, n, &split);
	for (unsigned i = 0; i < n; i++) {
		if (split.counter[i] < 0 || split.pass[i] > 0)
			continue;
		assert_true(masks[i] & BIT(split.counter[i]));
		assert_false(taken & BIT(split.counter[i]));
		taken |= BIT(split.counter[i]);
	}
	return (unsigned)__builtin_popcountll(taken);
}

static void first_fit_would_refuse(void **state)
{
	static const uint64_t ring[] = { 3, 4, 5 };
	static const uint64_t family_15h[] = { 9, 7, 7, 7 };
	uint64_t chain[PMC_FIT_MAX];

	assert_int_equal(assign(ring, 3), 3);
	assert_int_equal(assign(family_15h, 4), 4);
	assert_int_equal(clash_of(ring, 3), 0);
	/* Each event could take its neighbour's counter: adding the last one moves all others. */
	for (unsigned n = 3; n <= PMC_FIT_MAX; n++) {
		for (unsigned i = 0; i + 2 < n; i++)
			chain[i] = BIT(i) | BIT(i + 1);
		chain[n - 2] = BIT(n - 1);
		chain[n - 1] = BIT(0) | BIT(n - 1);
		assert_int_equal(assign(chain, n), n);
		assert_int_equal(clash_of(chain, n), 0);
	}
}

static void ends_of_the_range(void **state)
{
	struct pmc_fit_passes split;
	uint64_t masks[PMC_FIT_MAX] = { 0 };

	assert_int_equal(assign(masks, 0), 0);
	assert_int_equal(clash_of(masks, 0), 0);
	pmc_fit_split(masks, 0, &split);
	assert_int_equal(split.passes, 0);
	for (unsigned i = 0; i < PMC_FIT_MAX; i++)
		masks[i] = UINT64_MAX;
	assert_int_equal(assign(masks, PMC_FIT_MAX), PMC_FIT_MAX);
	pmc_fit_split(masks, PMC_FIT_MAX, &split);
	assert_int_equal(split.passes, 1);
	assert_int_equal(split.proof_events, 0);
	for (unsigned i = 0; i < PMC_FIT_MAX; i++)
		masks[i] = BIT(63);
	assert_int_equal(assign(masks, PMC_FIT_MAX), 1);
	assert_int_equal(__builtin_popcountll(clash_of(masks, PMC_FIT_MAX)), 2);
	pmc_fit_split(masks, PMC_FIT_MAX, &split);
	assert_int_equal(split.passes, PMC_FIT_MAX);
	assert_int_equal(split.proof_events, UINT64_MAX);
	assert_int_equal(split.proof_counters, BIT(63));
}

static void events_without_a_counter(void **state)
{
	static const uint64_t masks[] = { 1, 0, 3, 0 };
	struct pmc_fit_passes split;

	assert_int_equal(assign(masks, 4), 2);
	assert_int_equal(__builtin_popcountll(clash_of(masks, 4)), 1);
	assert_true(clash_of(masks, 4) & (BIT(1) | BIT(3)));
	pmc_fit_split(masks, 4, &split);
	assert_int_equal(split.impossible, BIT(1) | BIT(3));
	assert_int_equal(split.passes, 1);
	assert_int_equal(split.counter[1], -1);
	assert_int_equal(split.counter[0], 0);
	assert_int_equal(split.counter[2], 1);
}

static void a_clash_names_nobody_innocent(void **state)
{
	/* Events 1, 3 and 5 share two counters; 0 and 4 have their own, 2 has an alternative. */
	static const uint64_t masks[] = { 0x10, 3, 0x2a, 3, 0x0c, 3 };

	assert_int_equal(clash_of(masks, 6), BIT(1) | BIT(3) | BIT(5));
}

static void passes_are_fewest_and_proved(void **state)
{
	/* Seven events limited to three counters, and two that any counter can count. */
	static const uint64_t masks[] = { 7, 0xff, 7, 7, 3, 0xff, 1, 7, 7 };
	struct pmc_fit_passes split;
	uint64_t taken[3] = { 0 };

	pmc_fit_split(masks, 9, &split);
	assert_int_equal(split.passes, 3);
	assert_int_equal(split.proof_events, 0x1dd);
	assert_int_equal(split.proof_counters, 7);
	for (unsigned i = 0; i < 9; i++) {
		assert_true(split.pass[i] < 3);
		assert_true(masks[i] & BIT(split.counter[i]));
		assert_false(taken[split.pass[i]] & BIT(split.counter[i]));
		taken[split.pass[i]] |= BIT(split.counter[i]);
	}
}

static void order_does_not_change_the_passes(void **state)
{
	unsigned seed = 3;

	for (unsigned round = 0; round < 500; round++) {
		struct pmc_fit_passes first, again;
		uint64_t masks[12];

		for (unsigned i = 0; i < 12; i++) {
			seed = seed * 1103515245 + 12345;
			masks[i] = (seed >> 16 & 0x1f) & (round % 2 ? 0x1f : seed >> 21);
		}
		pmc_fit_split(masks, 12, &first);
		for (unsigned shuffle = 0; shuffle < 10; shuffle++) {
			for (unsigned i = 11; i > 0; i--) {
				seed = seed * 1103515245 + 12345;
				unsigned j = (seed >> 16) % (i + 1);
				uint64_t keep = masks[i];

				masks[i] = masks[j];
				masks[j] = keep;
			}
			pmc_fit_split(masks, 12, &again);
			assert_int_equal(again.passes, first.passes);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_fit_would_refuse),
		cmocka_unit_test(ends_of_the_range),
		cmocka_unit_test(events_without_a_counter),
		cmocka_unit_test(a_clash_names_nobody_innocent),
		cmocka_unit_test(passes_are_fewest_and_proved),
		cmocka_unit_test(order_does_not_change_the_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
