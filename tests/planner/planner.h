/* SPDX-License-Identifier: MIT */
/* planner.h - shared by the tests of the planner: results in TAP, answers by brute force. */
#ifndef PMC_TESTS_PLANNER_H
#define PMC_TESTS_PLANNER_H

#include "lib/plan/matching.h"

#include <stdbool.h>
#include <stdint.h>

#define BIT(i) (UINT64_C(1) << (i))

/* One event of a table, and the index of its mask among the different masks. */
struct table_event {
	const char *name;
	uint64_t mask;
	unsigned class;
};

struct table {
	struct table_event events[PMC_FIT_MAX];
	unsigned n;
	uint64_t masks[PMC_FIT_MAX]; /* of each class */
	unsigned classes;
};

/* A TAP line; returns pass. */
bool result(bool pass, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether pmc_fit_split places all in one pass. */
bool fits(const uint64_t *masks, unsigned n);
/* n choose k. The tests stay below 64 bits. */
uint64_t choose(unsigned n, unsigned k);
/* First fit: each event in turn gets the lowest free counter of its mask. */
bool first_fit(const uint64_t *masks, unsigned n);
/* Tries each counter for each event. */
bool brute_places(const uint64_t *masks, unsigned n);
/* Tries each pass for each event. 0: an event has no counters. */
unsigned brute_passes(const uint64_t *masks, unsigned n);
/* Hall's condition on each subset: some k events have fewer than k counters? And the fewest
 * passes by the same count: the most events to a counter that any subset has, rounded up. */
bool hall_places(const uint64_t *masks, unsigned n);
unsigned hall_passes(const uint64_t *masks, unsigned n);
/* Whether pmc_fit_* say the same and what they hand out holds; `passes` is what is to come out. */
bool answer_holds(const uint64_t *masks, unsigned n, bool places, unsigned passes);

/* The table's events, by class. */
void table_classes(struct table *table);

void check_small(void);
void check_random(void);
void check_known(void);
/* The Apple M2's table. */
void check_first_fit(const struct table *all);
void check_placeable(const struct table *all);
void check_split(const struct table *all);

#endif
