/* SPDX-License-Identifier: MIT */
/* brute.c - compares the matching with brute force on many instances. */
#include "tests/planner/planner.h"

#include <stdio.h>

bool first_fit(const uint64_t *masks, unsigned n)
{
	uint64_t taken = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t free = masks[i] & ~taken;

		if (!free)
			return false;
		taken |= free & -free;
	}
	return true;
}

static bool place_rest(const uint64_t *masks, unsigned n, uint64_t taken)
{
	if (!n)
		return true;
	for (uint64_t free = masks[0] & ~taken; free; free &= free - 1)
		if (place_rest(masks + 1, n - 1, taken | (free & -free)))
			return true;
	return false;
}

bool brute_places(const uint64_t *masks, unsigned n)
{
	return place_rest(masks, n, 0);
}

static bool pack_rest(const uint64_t *masks, unsigned n, unsigned at, uint64_t *taken,
		      unsigned passes)
{
	if (at == n)
		return true;
	for (unsigned pass = 0; pass < passes; pass++) {
		for (uint64_t free = masks[at] & ~taken[pass]; free; free &= free - 1) {
			taken[pass] |= free & -free;
			if (pack_rest(masks, n, at + 1, taken, passes))
				return true;
			taken[pass] &= ~(free & -free);
		}
	}
	return false;
}

unsigned brute_passes(const uint64_t *masks, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!masks[i])
			return 0;
	for (unsigned passes = 1;; passes++) {
		uint64_t taken[PMC_FIT_MAX] = { 0 };

		if (pack_rest(masks, n, 0, taken, passes))
			return passes;
	}
}

/* The counters of each subset of up to 16 events. */
static uint32_t reach[1 << 16];

static void reach_fill(const uint64_t *masks, unsigned n)
{
	for (unsigned set = 1; set < 1u << n; set++)
		reach[set] = reach[set & (set - 1)] | (uint32_t)masks[__builtin_ctz(set)];
}

bool hall_places(const uint64_t *masks, unsigned n)
{
	reach_fill(masks, n);
	for (unsigned set = 1; set < 1u << n; set++)
		if (__builtin_popcount(reach[set]) < __builtin_popcount(set))
			return false;
	return true;
}

unsigned hall_passes(const uint64_t *masks, unsigned n)
{
	unsigned most = 0;

	reach_fill(masks, n);
	for (unsigned set = 1; set < 1u << n; set++) {
		unsigned events = (unsigned)__builtin_popcount(set);
		unsigned counters = (unsigned)__builtin_popcount(reach[set]);

		if (!counters)
			return 0;
		if ((events + counters - 1) / counters > most)
			most = (events + counters - 1) / counters;
	}
	return most;
}

/* Whether each event is on a counter of its mask, and no counter has two. */
static bool valid(const uint64_t *masks, unsigned n, const int8_t *counters, const uint8_t *pass)
{
	for (unsigned i = 0; i < n; i++) {
		if (counters[i] < 0)
			continue;
		if (!(masks[i] & BIT(counters[i])))
			return false;
		for (unsigned k = 0; k < i; k++)
			if (counters[k] == counters[i] && pass[k] == pass[i])
				return false;
	}
	return true;
}

static unsigned subset(const uint64_t *masks, uint64_t events, uint64_t *to)
{
	unsigned n = 0;

	for (; events; events &= events - 1)
		to[n++] = masks[__builtin_ctzll(events)];
	return n;
}

/* Whether the events do not fit, but do without any one of them. */
static bool clash_holds(const uint64_t *masks, uint64_t clash)
{
	uint64_t some[PMC_FIT_MAX] = { 0 };

	if (hall_places(some, subset(masks, clash, some)))
		return false;
	for (uint64_t rest = clash; rest; rest &= rest - 1)
		if (!hall_places(some, subset(masks, clash & ~(rest & -rest), some)))
			return false;
	return true;
}

bool fits(const uint64_t *masks, unsigned n)
{
	struct pmc_fit_passes split;

	pmc_fit_split(masks, n, &split);
	return split.passes <= 1 && !split.impossible;
}

static bool proof_holds(const uint64_t *masks, const struct pmc_fit_passes *split)
{
	uint64_t counters = 0;

	for (uint64_t rest = split->proof_events; rest; rest &= rest - 1)
		counters |= masks[__builtin_ctzll(rest)];
	return counters == split->proof_counters &&
	       __builtin_popcountll(split->proof_events) >
		       (int)(split->passes - 1) * __builtin_popcountll(counters);
}

bool answer_holds(const uint64_t *masks, unsigned n, bool places, unsigned passes)
{
	struct pmc_fit_passes split;

	pmc_fit_split(masks, n, &split);
	if ((split.passes <= 1 && !split.impossible) != places)
		return false;
	if (places ? split.clash != 0 : !clash_holds(masks, split.clash))
		return false;
	if (!valid(masks, n, split.counter, split.pass))
		return false;
	for (unsigned i = 0; i < n; i++) {
		bool possible = masks[i] != 0;

		if (possible != (split.counter[i] >= 0) ||
		    possible == (split.impossible >> i & 1) ||
		    (possible && split.pass[i] >= split.passes))
			return false;
	}
	if (split.passes > 1 && !proof_holds(masks, &split))
		return false;
	return !passes || (split.passes == passes && !split.impossible);
}

/* ---- every small instance --------------------------------------------------------------------*/

struct small {
	unsigned multisets, orders, wrong, refused;
};

/* The same masks in every order give the same answer. */
static void permute(struct small *small, uint64_t *masks, unsigned n, unsigned at, bool places,
		    unsigned passes)
{
	if (at == n) {
		small->orders++;
		small->wrong += !answer_holds(masks, n, places, passes);
		return;
	}
	for (unsigned i = at; i < n; i++) {
		uint64_t keep = masks[at];

		masks[at] = masks[i];
		masks[i] = keep;
		permute(small, masks, n, at + 1, places, passes);
		masks[i] = masks[at];
		masks[at] = keep;
	}
}

static void multisets(struct small *small, unsigned counters, uint64_t *masks, unsigned n,
		      unsigned at, uint64_t least)
{
	if (at == n) {
		bool places = brute_places(masks, n);

		small->multisets++;
		small->refused += !places;
		permute(small, masks, n, 0, places, brute_passes(masks, n));
		return;
	}
	for (uint64_t mask = least; mask < BIT(counters); mask++) {
		masks[at] = mask;
		multisets(small, counters, masks, n, at + 1, mask);
	}
}

void check_small(void)
{
	struct small small = { 0 };

	for (unsigned counters = 1; counters <= 4; counters++) {
		for (unsigned n = 1; n <= 4; n++) {
			uint64_t masks[4];

			multisets(&small, counters, masks, n, 0, 0);
		}
	}
	printf("# up to 4 counters and 4 events: %u multisets of masks, %u orders of them, "
	       "%u multisets do not fit\n",
	       small.multisets, small.orders, small.refused);
	result(!small.wrong && small.multisets > 5000 && small.refused > 500,
	       "every multiset of masks up to 4 x 4, in every order: as brute force has it");
}

/* ---- very many larger ones --------------------------------------------------------------------*/

static uint64_t random_state = 20240501;

static uint32_t random_next(void)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(random_state >> 33);
}

void check_random(void)
{
	unsigned wrong = 0, fit = 0, several = 0, all = 100000;

	for (unsigned round = 0; round < all; round++) {
		unsigned counters = 1 + random_next() % 16, n = 1 + random_next() % 16;
		unsigned sparse = random_next() % 4;
		uint64_t masks[16];
		bool places;
		unsigned passes;

		for (unsigned i = 0; i < n; i++) {
			masks[i] = random_next();
			for (unsigned k = 0; k < sparse; k++)
				masks[i] &= random_next();
			masks[i] &= BIT(counters) - 1;
			/* Without this, half of the sparse ones would be impossible for one event.
			 */
			if (!masks[i] && random_next() % 16)
				masks[i] = BIT(random_next() % counters);
		}
		passes = hall_passes(masks, n);
		places = passes == 1;
		fit += places;
		several += passes > 2;
		wrong += !answer_holds(masks, n, places, passes);
	}
	printf("# up to 16 counters and 16 events: %u random instances, %u fit, %u need three "
	       "passes or more\n",
	       all, fit, several);
	result(!wrong && fit > all / 10 && fit < all - all / 10 && several > all / 20,
	       "%u random instances up to 16 x 16: as Hall's condition on every subset has it",
	       all);
}

/* ---- known traps
 * -------------------------------------------------------------------------------*/

void check_known(void)
{
	static const uint64_t ring[] = { 3, 4, 5 };
	static const uint64_t family_15h[] = { 7, 7, 7, 9 };
	uint64_t chain[16];

	result(!first_fit(ring, 3) && answer_holds(ring, 3, true, 1),
	       "{011,100,101}: refused by first-fit in ascending order, fits");
	result(answer_holds(family_15h, 4, true, 1), "{0x09,0x07,0x07,0x07} fits");
	for (unsigned i = 0; i < 14; i++)
		chain[i] = BIT(i) | BIT(i + 1);
	chain[14] = BIT(15);
	chain[15] = BIT(0) | BIT(15);
	result(!first_fit(chain, 16) && answer_holds(chain, 16, true, 1),
	       "a chain in which the last event moves all others fits");
}
