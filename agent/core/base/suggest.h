/* SPDX-License-Identifier: MIT */
/* suggest.h - "did you mean": optimal string alignment distance, bounded, no allocation. */
#ifndef PMC_CORE_BASE_SUGGEST_H
#define PMC_CORE_BASE_SUGGEST_H

#include <stddef.h>

/* Distance of a and b, case ignored, '-' and '_' alike; more than `limit`: limit + 1. Words
 * longer than 128 bytes are limit + 1 away from everything. */
unsigned pmc_distance(const char *a, size_t a_len, const char *b, size_t b_len, unsigned limit);
/* How far a suggestion may be from a word of this length: 1 for up to 4, 2 up to 8, else 3. */
unsigned pmc_distance_limit(size_t len);

#endif
