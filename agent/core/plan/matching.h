/* SPDX-License-Identifier: MIT */
/*
 * matching.h - which counter counts which event, where each event knows a set of counters it can be
 * on.
 *
 * Bipartite matching with augmenting paths: an event is refused only if no assignment of all of
 * them exists, whatever their order. Events are array indices, counters the bits of a mask, sets
 * of either are bits of a word. Pure functions on the caller's memory: async-signal-safe.
 */
#ifndef PMC_CORE_PLAN_MATCHING_H
#define PMC_CORE_PLAN_MATCHING_H

#include <stdbool.h>
#include <stdint.h>

#define PMC_FIT_MAX 64 /* events, and counters */

/* Puts the n events on counters of their masks, one event a counter: counters[i], or -1 for an
 * event left out. As many as possible are placed; returns how many. Events with equal masks are
 * interchangeable; but for that the result does not depend on their order. */
unsigned pmc_fit_assign(const uint64_t *masks, unsigned n, int8_t *counters);

/* Events that cannot be counted together, none of which can be left out of the clash: without
 * any one of them the others fit. 0: all n fit. */
uint64_t pmc_fit_clash(const uint64_t *masks, unsigned n);

struct pmc_fit_passes {
	unsigned passes;	     /* the fewest in which every possible event is counted once */
	uint64_t impossible;	     /* events that no counter can count */
	uint8_t pass[PMC_FIT_MAX];   /* of each event, from 0 */
	int8_t counter[PMC_FIT_MAX]; /* and its counter in that pass; -1: impossible */
	/* Why it cannot be fewer, if passes > 1: these events can be on these counters only, and
	 * are more than (passes - 1) times as many. */
	uint64_t proof_events, proof_counters;
};

/* Splits the n events into the fewest passes. The number is exact, not a guess: k passes are a
 * matching in which a counter takes k events. */
void pmc_fit_split(const uint64_t *masks, unsigned n, struct pmc_fit_passes *split);

#endif
