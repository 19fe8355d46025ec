/* SPDX-License-Identifier: MIT */
/* test_suggest.c - edit distance of words, and its limit. */
#include "lib/base/suggest.h"
#include "tests/unit/unit.h"

#include <string.h>

static unsigned distance(const char *a, const char *b, unsigned limit)
{
	unsigned there = pmc_distance(a, strlen(a), b, strlen(b), limit);

	assert_int_equal(pmc_distance(b, strlen(b), a, strlen(a), limit), there);
	return there;
}

static void edits(void **state)
{
	assert_int_equal(distance("", "", 3), 0);
	assert_int_equal(distance("cycles", "cycles", 3), 0);
	assert_int_equal(distance("cycles", "cycle", 3), 1);
	assert_int_equal(distance("cycles", "cyclesx", 3), 1);
	assert_int_equal(distance("cycles", "cyclis", 3), 1);
	assert_int_equal(distance("", "abc", 3), 3);
	assert_int_equal(distance("kitten", "sitting", 3), 3);
	assert_int_equal(distance("branches", "breaches", 5), 2);
}

static void neighbours_swapped_are_one_edit(void **state)
{
	assert_int_equal(distance("cycels", "cycles", 3), 1);
	assert_int_equal(distance("ab", "ba", 3), 1);
	assert_int_equal(distance("instrcutoins", "instructions", 3), 2);
	/* Optimal string alignment: no part is edited twice. */
	assert_int_equal(distance("ca", "abc", 5), 3);
}

static void case_and_dashes_do_not_count(void **state)
{
	assert_int_equal(distance("LLC_Loads", "llc-loads", 3), 0);
	assert_int_equal(distance("-", "_", 3), 0);
	assert_int_equal(distance("[", "{", 3), 1);
}

static void far_is_limit_plus_one(void **state)
{
	assert_int_equal(distance("cycles", "instructions", 3), 4);
	assert_int_equal(distance("abcdef", "uvwxyz", 2), 3);
	assert_int_equal(distance("abcdef", "uvwxyz", 5), 6);
	assert_int_equal(distance("abcdef", "uvwxyz", 6), 6);
	assert_int_equal(distance("a", "b", 0), 1);
	assert_int_equal(distance("a", "a", 0), 0);
	assert_int_equal(distance("a", "abcdefgh", 3), 4);
}

static void long_words(void **state)
{
	char a[200], b[200];

	memset(a, 'a', sizeof(a));
	memset(b, 'b', sizeof(b));
	assert_int_equal(pmc_distance(a, 64, a, 64, 3), 0);
	assert_int_equal(pmc_distance(a, 64, a, 63, 3), 1);
	assert_int_equal(pmc_distance(a, 64, b, 64, 200), 64);
	assert_int_equal(pmc_distance(a, 65, a, 65, 3), 4);
	assert_int_equal(pmc_distance(a, 1, a, 65, 3), 4);
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The recursive definition. */
static unsigned slow(const char *a, size_t n, const char *b, size_t m)
{
	unsigned best;

	if (!n || !m)
		return (unsigned)(n + m);
	best = least(slow(a, n - 1, b, m), slow(a, n, b, m - 1)) + 1;
	best = least(best, slow(a, n - 1, b, m - 1) + (a[n - 1] != b[m - 1]));
	if (n > 1 && m > 1 && a[n - 1] == b[m - 2] && a[n - 2] == b[m - 1])
		best = least(best, slow(a, n - 2, b, m - 2) + 1);
	return best;
}

/* With each limit the result is that of the definition, cut off above the limit. */
static void agrees_with_the_definition(void **state)
{
	unsigned seed = 7;

	for (unsigned round = 0; round < 400; round++) {
		char a[7], b[7];
		size_t n, m;
		unsigned want;

		seed = seed * 1103515245 + 12345;
		n = (seed >> 16) % 6;
		m = (seed >> 20) % 6;
		for (size_t i = 0; i < 6; i++) {
			seed = seed * 1103515245 + 12345;
			a[i] = (char)('a' + (seed >> 16) % 3);
			b[i] = (char)('a' + (seed >> 24) % 3);
		}
		want = slow(a, n, b, m);
		for (unsigned limit = 0; limit < 7; limit++)
			assert_int_equal(pmc_distance(a, n, b, m, limit), least(want, limit + 1));
	}
}

static void limits(void **state)
{
	assert_int_equal(pmc_distance_limit(0), 1);
	assert_int_equal(pmc_distance_limit(4), 1);
	assert_int_equal(pmc_distance_limit(5), 2);
	assert_int_equal(pmc_distance_limit(8), 2);
	assert_int_equal(pmc_distance_limit(9), 3);
	assert_int_equal(pmc_distance_limit(100), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edits),
		cmocka_unit_test(neighbours_swapped_are_one_edit),
		cmocka_unit_test(case_and_dashes_do_not_count),
		cmocka_unit_test(far_is_limit_plus_one),
		cmocka_unit_test(long_words),
		cmocka_unit_test(agrees_with_the_definition),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
