/* SPDX-License-Identifier: MIT */
/*
 * matching.h - assigns events to counters, where each event can be on a set of counters only.
 *
 * Bipartite matching with augmenting paths: an event is refused only if no assignment of all of
 * them exists, whatever their order. Events are array indices, counters the bits of a mask, sets
 * of either are bits of a word. Pure functions on the caller's memory: async-signal-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PMC_FIT_MAX 64 /* events, and counters */

struct pmc_fit_passes {
	unsigned passes;	     /* the fewest in which every possible event is counted once */
	uint64_t impossible;	     /* events that no counter can count */
	uint8_t pass[PMC_FIT_MAX];   /* of each event, from 0 */
	int8_t counter[PMC_FIT_MAX]; /* and its counter in that pass; -1: impossible */
	/* A minimal set of events that do not fit together: without any one of them the others do.
	 * 0: all n fit in one pass. */
	uint64_t clash;
	/* If passes > 1, the proof that fewer are not enough: these events can be on these counters
	 * only, and are more than (passes - 1) times as many. */
	uint64_t proof_events, proof_counters;
};

/* Assigns the n events to counters of their masks, one event a counter, in the fewest passes: k
 * passes are a matching in which a counter takes k events. Of several such the order decides. */
void pmc_fit_split(const uint64_t *masks, unsigned n, struct pmc_fit_passes *split);
