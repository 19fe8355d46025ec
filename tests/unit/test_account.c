/* SPDX-License-Identifier: MIT */
/* test_account.c - OS accounting while counting is switched on, off and reset. */
#include "lib/live/registry.h"
#include "tests/unit/unit.h"

#include <string.h>

/* The kernel's words at this time; each starts at another value, so that mixing them up shows. */
static struct account_words at(uint64_t time)
{
	struct account_words now = { .unknown = 0 };

	for (unsigned i = 0; i < ACCOUNT_WORDS; i++)
		now.of[i] = 1000 * i + time;
	return now;
}

static struct account_side opened(bool stopped)
{
	const struct account_words begin = at(0);
	struct account_side side;

	account_open(&side, 7, begin.of, stopped);
	return side;
}

/* The value of every word after the operations, one per time unit; '.': no operation. */
static uint64_t value_after(bool stopped, const char *operations)
{
	struct account_side side = opened(stopped);
	struct account_words now = at(0);
	uint64_t time = 0;

	for (; *operations; operations++) {
		now = at(++time);
		if (*operations == 's')
			account_start(&side, &now);
		else if (*operations == 'p')
			account_stop(&side, &now);
		else if (*operations == 'r')
			account_reset(&side, &now);
	}
	account_values(&side, &now);
	assert_int_equal(now.unknown, 0);
	for (unsigned i = 1; i < ACCOUNT_WORDS; i++)
		assert_int_equal(now.of[i], now.of[0]);
	return now.of[0];
}

static void every_word_is_of_the_phase(void **state)
{
	static const struct {
		const char *operations;
		uint64_t on, off; /* value if counting starts on or off */
	} table[] = {
		{ "...", 3, 0 },       { "s...", 4, 3 },	  { "..p..", 3, 0 },
		{ "..p..s..", 5, 2 },  { "..p..p..", 3, 0 },	  { "..s..s..", 8, 5 },
		{ "...r..", 2, 0 },    { "..p..r..", 0, 0 },	  { "..p.r.s..", 2, 2 },
		{ "s..r..p..", 3, 3 }, { "..r.r.p.r..s.", 1, 1 },
	};

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		print_message("%s\n", table[i].operations);
		assert_int_equal(value_after(false, table[i].operations), table[i].on);
		assert_int_equal(value_after(true, table[i].operations), table[i].off);
	}
}

/* A word that could not be read at a switch stays unknown until a reset. */
static void unknown_words(void **state)
{
	struct account_side side = opened(false);
	struct account_words now = at(1);

	now.unknown = ACCOUNT_SWITCHES;
	account_stop(&side, &now);
	now = at(2);
	account_start(&side, &now);
	account_values(&side, &now);
	assert_int_equal(now.unknown, ACCOUNT_SWITCHES);
	now = at(3);
	account_reset(&side, &now);
	now = at(4);
	account_values(&side, &now);
	assert_int_equal(now.unknown, 0);
	assert_int_equal(now.of[ACCOUNT_VOLUNTARY], 1);
}

/* The account of a slot's previous thread, and a half-written side, are not valid. */
static void the_valid_side(void **state)
{
	static struct account account;
	struct account_side side = opened(false), got;

	assert_false(account_read(&account, 7, &got));
	account_write(&account, &side);
	assert_true(account_read(&account, 7, &got));
	assert_false(account_read(&account, 8, &got));
	memset(&account.sides[!(account.number & 1)], 0xff, sizeof(side));
	assert_true(account_read(&account, 7, &got));
	assert_memory_equal(&got, &side, sizeof(got));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_word_is_of_the_phase),
		cmocka_unit_test(unknown_words),
		cmocka_unit_test(the_valid_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
