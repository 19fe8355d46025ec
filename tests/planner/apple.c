/* SPDX-License-Identifier: MIT */
/*
 * apple.c - the 60 events of the Apple M2: sets that first fit refuses, placeable sets, passes.
 *
 * Sets are not enumerated: events with equal masks are interchangeable, and the table has few
 * different masks (classes). How an allocator that goes by order treats a set depends only on the
 * word of classes in that order: 3 classes make 2,187 words of 7 letters. How many sets have that
 * word is counted in one pass over the table: ways[j], the ways to pick the word's first j letters
 * from the events seen so far, grows by ways[j - 1] at each event of class word[j]. Whether a set
 * can be placed depends only on how many events of each class it has: sets are a product of
 * binomials. Both ways of counting are checked against plain enumeration where that is small.
 */
#include "tests/planner/planner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Does not fit, but each proper subset does. */
static bool fails_newly(const uint64_t *masks, unsigned n)
{
	if (first_fit(masks, n))
		return false;
	for (unsigned set = 1; set < (1u << n) - 1; set++) {
		uint64_t some[8];
		unsigned m = 0;

		for (unsigned i = 0; i < n; i++)
			if (set >> i & 1)
				some[m++] = masks[i];
		if (!first_fit(some, m))
			return false;
	}
	return true;
}

/* The number of sets whose classes, in the order of the table, are the word. */
static uint64_t sets_of(const struct table *table, const unsigned *word, unsigned k)
{
	uint64_t ways[9] = { 1 };

	for (unsigned i = 0; i < table->n; i++)
		for (unsigned j = k; j > 0; j--)
			if (word[j - 1] == table->events[i].class)
				ways[j] += ways[j - 1];
	return ways[k];
}

struct failures {
	uint64_t sets, fail, unplaceable;
	unsigned words;
};

static struct failures by_words(const struct table *table, unsigned k)
{
	struct failures found = { 0 };
	unsigned word[8] = { 0 }, at;

	do {
		uint64_t masks[8], sets = sets_of(table, word, k);

		found.words++;
		found.sets += sets;
		for (unsigned i = 0; i < k; i++)
			masks[i] = table->masks[word[i]];
		if (fails_newly(masks, k)) {
			found.fail += sets;
			if (!fits(masks, k))
				found.unplaceable += sets;
		}
		for (at = 0; at < k && ++word[at] == table->classes; at++)
			word[at] = 0;
	} while (at < k);
	return found;
}

/* By enumeration. */
static struct failures by_sets(const struct table *table, unsigned k)
{
	struct failures found = { 0 };
	unsigned pick[8];

	for (unsigned i = 0; i < k; i++)
		pick[i] = i;
	for (;;) {
		uint64_t masks[8];
		unsigned at = k;

		for (unsigned i = 0; i < k; i++)
			masks[i] = table->events[pick[i]].mask;
		found.sets++;
		found.unplaceable += !brute_places(masks, k);
		found.fail += fails_newly(masks, k);
		while (at > 0 && pick[at - 1] == table->n - k + at - 1)
			at--;
		if (!at)
			return found;
		pick[at - 1]++;
		for (; at < k; at++)
			pick[at] = pick[at - 1] + 1;
	}
}

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

/* The events of the table that are not named, sorted by name. */
static struct table without(const struct table *all, const char *const *names)
{
	struct table table = { .n = 0 };

	for (unsigned i = 0; i < all->n; i++) {
		unsigned at = table.n;

		if (is_one_of(all->events[i].name, names))
			continue;
		for (; at && strcmp(table.events[at - 1].name, all->events[i].name) > 0; at--)
			table.events[at] = table.events[at - 1];
		table.events[at] = all->events[i];
		table.n++;
	}
	table_classes(&table);
	return table;
}

void check_first_fit(const struct table *all)
{
	static const char *const left_out[] = { "FIXED_CYCLES", "FIXED_INSTRUCTIONS", "ST_NT_UOP",
						"ST_UNIT_UOP",	"LD_NT_UOP",	      NULL };
	struct table table = without(all, left_out);
	struct failures found = by_words(&table, 7);
	bool agrees = true;

	printf("# first-fit in alphabetical order over %u events (%u different masks, %u words)\n",
	       table.n, table.classes, found.words);
	printf("# sets of 7 events:                                       %" PRIu64 "\n",
	       found.sets);
	printf("# refused by first-fit, and no smaller set in it is:      %" PRIu64 "\n",
	       found.fail);
	printf("# of these refused by matching:                           %" PRIu64 "\n",
	       found.unplaceable);
	result(table.n == 55 && found.sets == choose(55, 7) && found.sets == 202927725,
	       "every 7-set of 55 events is counted");
	result(found.fail == 18673166, "first-fit refuses 18,673,166 of them");
	result(found.unplaceable == 0, "matching refuses none of those");
	for (unsigned k = 1; k <= 4; k++) {
		struct failures words = by_words(&table, k), sets = by_sets(&table, k);

		printf("# %u events: %" PRIu64 " sets, first-fit newly refuses %" PRIu64 "\n", k,
		       words.sets, words.fail);
		agrees &= words.sets == sets.sets && words.fail == sets.fail;
	}
	result(agrees, "for 1 to 4 events, set by set gives the same counts");
}

/* The number of placeable sets of k events of the classes from `class` on. */
static uint64_t placeable(const struct table *table, const unsigned *sizes, unsigned class,
			  uint64_t *masks, unsigned have, unsigned k)
{
	uint64_t sets = 0;

	if (class == table->classes)
		return have == k && fits(masks, k);
	for (unsigned take = 0; have + take <= k && take <= sizes[class]; take++) {
		if (take)
			masks[have + take - 1] = table->masks[class];
		sets += choose(sizes[class], take) *
			placeable(table, sizes, class + 1, masks, have + take, k);
	}
	return sets;
}

void check_placeable(const struct table *all)
{
	static const char *const fixed[] = { "FIXED_CYCLES", "FIXED_INSTRUCTIONS", NULL };
	struct table table = without(all, fixed);
	unsigned sizes[PMC_FIT_MAX] = { 0 };
	uint64_t masks[8], sets, before = 1;
	bool agrees = true, possible = true;

	for (unsigned i = 0; i < table.n; i++)
		sizes[table.events[i].class]++;
	printf("# the %u programmable events:", table.n);
	for (unsigned class = 0; class < table.classes; class ++)
		printf("%s %u with mask 0x%03" PRIx64, class ? "," : "", sizes[class],
		       table.masks[class]);
	puts("\n# placeable k-sets of the 58 programmable events:");
	for (unsigned k = 1; k <= 8; k++) {
		sets = placeable(&table, sizes, 0, masks, 0, k);
		printf("# placeable %u-sets: %12" PRIu64 " of %" PRIu64 "\n", k, sets,
		       choose(table.n, k));
		possible &= sets > before && sets <= choose(table.n, k);
		before = sets;
		if (k <= 4)
			agrees &= sets == choose(table.n, k) - by_sets(&table, k).unplaceable;
	}
	result(table.n == 58 && possible, "placeable k-sets are counted for k = 1 to 8");
	result(agrees, "for 1 to 4 events, set by set and by brute force gives the same counts");
}

/* The passes if each event joins the first pass in which first fit has room. */
static unsigned first_fit_passes(const uint64_t *masks, unsigned n)
{
	uint64_t taken[PMC_FIT_MAX] = { 0 };
	unsigned passes = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned pass = 0;

		while (!(masks[i] & ~taken[pass]))
			pass++;
		taken[pass] |= (masks[i] & ~taken[pass]) & -(masks[i] & ~taken[pass]);
		if (pass >= passes)
			passes = pass + 1;
	}
	return passes;
}

void check_split(const struct table *all)
{
	struct table table = without(all, (const char *const[]){ NULL });
	struct pmc_fit_passes split;
	uint64_t masks[30];
	unsigned n = 0;

	/* Every other event, alphabetically. */
	for (unsigned i = 0; i < table.n && n < 30; i += 2)
		masks[n++] = table.events[i].mask;
	pmc_fit_split(masks, n, &split);
	printf("# a list of %u events: %u passes; first-fit takes %u\n", n, split.passes,
	       first_fit_passes(masks, n));
	printf("# why not fewer: %d of them can be on %d counter%s only:",
	       __builtin_popcountll(split.proof_events), __builtin_popcountll(split.proof_counters),
	       split.proof_counters & (split.proof_counters - 1) ? "s" : "");
	for (unsigned i = 0; i < n; i++)
		if (split.proof_events >> i & 1)
			printf(" %s", table.events[2 * i].name);
	for (unsigned pass = 0; pass < split.passes; pass++) {
		printf("\n# pass %u:", pass + 1);
		for (unsigned i = 0; i < n; i++)
			if (split.pass[i] == pass)
				printf(" %s=%d", table.events[2 * i].name, split.counter[i]);
	}
	puts("");
	result(n == 30 && answer_holds(masks, n, false, split.passes) && split.passes > 1,
	       "a list of 30 events is split into passes that hold, provably the fewest");
}
