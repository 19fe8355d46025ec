/* SPDX-License-Identifier: MIT */
/* suggest.h - the nearest of several names to a mistyped word, without allocation. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A search: names are tried one by one, and the first of the nearest is kept. */
struct pmc_nearest {
	const char *word;
	size_t len;
	unsigned distance; /* of `name`; above the limit for this word until there is one */
	const char *name;  /* NULL: none is near */
};

void pmc_nearest_init(struct pmc_nearest *nearest, const char *word, size_t len);
/* Whether `name` is now the nearest; it is kept as a pointer. */
bool pmc_nearest_try(struct pmc_nearest *nearest, const char *name);

/* Optimal string alignment distance of a and b, case ignored, '-' and '_' alike; limit + 1 if it
 * is more than `limit` or if a word is longer than 64 bytes. */
unsigned pmc_distance(const char *a, size_t a_len, const char *b, size_t b_len, unsigned limit);
/* The largest distance of a suggestion from a word of this length: 1 up to 4 bytes, 2 up to 8,
 * else 3. */
unsigned pmc_distance_limit(size_t len);
