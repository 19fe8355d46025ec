/* SPDX-License-Identifier: MIT */
/*
 * histogram.h - how often a value occurred, in buckets that are a sixteenth of their values wide,
 * so percentiles are known to 6.25 %. Values below 32 have a bucket each.
 *
 * Only octaves in which there is a value take memory. Not thread-safe.
 */
#pragma once

#include "lib/base/arena.h"

#include <stdint.h>

enum { PMC_HISTOGRAM_PARTS = 16 };

/* Values from 16 << (octave - 1) up to the double of that; octave 0: those below 16. */
struct pmc_octave {
	struct pmc_octave *next; /* of larger values */
	unsigned octave;
	uint64_t n[PMC_HISTOGRAM_PARTS];
};

/* All zero is an empty one. */
struct pmc_histogram {
	struct pmc_octave *octaves;
	uint64_t n, most;
};

void pmc_histogram_add(struct pmc_arena *arena, struct pmc_histogram *to, uint64_t value);
/* The value so many times. */
void pmc_histogram_add_times(struct pmc_arena *arena, struct pmc_histogram *to, uint64_t value,
			     uint64_t times);
/* Empties it; its memory is used again. */
void pmc_histogram_clear(struct pmc_histogram *of);
void pmc_histogram_merge(struct pmc_arena *arena, struct pmc_histogram *to,
			 const struct pmc_histogram *from);
/* The number of the value's bucket: octave * PMC_HISTOGRAM_PARTS + part. */
unsigned pmc_histogram_bucket(uint64_t value);
/* The largest value that belongs to a bucket. */
uint64_t pmc_histogram_bound(unsigned octave, unsigned part);
/* The value that so many percent of the values do not exceed (nearest rank): the bound of its
 * bucket, or the largest value if that is less. 0 if there are no values. */
uint64_t pmc_histogram_percentile(const struct pmc_histogram *of, unsigned percent);
