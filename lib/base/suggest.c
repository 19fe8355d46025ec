/* SPDX-License-Identifier: MIT */
/* suggest.c - edit distance of two words, and the nearest name by it. */
#include "lib/base/suggest.h"
#include "lib/base/number.h"

#include <string.h>

#define WORD_MAX 128

static char folded(char c)
{
	return c == '_' ? '-' : pmc_lower(c);
}

unsigned pmc_distance(const char *a, size_t a_len, const char *b, size_t b_len, unsigned limit)
{
	/* Rows i-2, i-1 and i of the table: a transposition needs row i-2. */
	unsigned char rows[3][WORD_MAX + 1];
	unsigned char *before = rows[0], *above = rows[1], *row = rows[2];

	if (a_len > WORD_MAX || b_len > WORD_MAX)
		return limit + 1;
	if ((a_len > b_len ? a_len - b_len : b_len - a_len) > limit)
		return limit + 1;
	for (size_t j = 0; j <= b_len; j++)
		above[j] = (unsigned char)j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned char *reuse = before, least;

		row[0] = (unsigned char)i;
		least = row[0];
		for (size_t j = 1; j <= b_len; j++) {
			const char x = folded(a[i - 1]), y = folded(b[j - 1]);
			unsigned best = above[j - 1] + (x != y);

			if (above[j] + 1u < best)
				best = above[j] + 1u;
			if (row[j - 1] + 1u < best)
				best = row[j - 1] + 1u;
			if (i > 1 && j > 1 && x == folded(b[j - 2]) && y == folded(a[i - 2]) &&
			    before[j - 2] + 1u < best)
				best = before[j - 2] + 1u;
			row[j] = (unsigned char)best;
			if (row[j] < least)
				least = row[j];
		}
		if (least > limit)
			return limit + 1;
		before = above;
		above = row;
		row = reuse;
	}
	return above[b_len] > limit ? limit + 1 : above[b_len];
}

unsigned pmc_distance_limit(size_t len)
{
	return len <= 4 ? 1 : len <= 8 ? 2 : 3;
}

void pmc_nearest_init(struct pmc_nearest *nearest, const char *word, size_t len)
{
	*nearest = (struct pmc_nearest){ .word = word,
					 .len = len,
					 .distance = pmc_distance_limit(len) + 1 };
}

bool pmc_nearest_try(struct pmc_nearest *nearest, const char *name)
{
	unsigned distance;

	if (nearest->distance == 0)
		return false;
	distance = pmc_distance(nearest->word, nearest->len, name, strlen(name),
				nearest->distance - 1);
	if (distance >= nearest->distance)
		return false;
	nearest->distance = distance;
	nearest->name = name;
	return true;
}
