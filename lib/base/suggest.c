/* SPDX-License-Identifier: MIT */
/* suggest.c - edit distance of two words, and the nearest name by it. */
#include "lib/base/suggest.h"
#include "lib/base/number.h"

#include <string.h>

#define WORD_MAX 64

static char folded(char c)
{
	return c == '_' ? '-' : pmc_lower(c);
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned pmc_distance(const char *a, size_t a_len, const char *b, size_t b_len, unsigned limit)
{
	unsigned char of[WORD_MAX + 1][WORD_MAX + 1]; /* the first i of a, the first j of b */

	if (a_len > WORD_MAX || b_len > WORD_MAX ||
	    (a_len > b_len ? a_len - b_len : b_len - a_len) > limit)
		return limit + 1;
	for (size_t i = 0; i <= a_len; i++) {
		for (size_t j = 0; j <= b_len; j++) {
			const char x = i ? folded(a[i - 1]) : '\0', y = j ? folded(b[j - 1]) : '\0';
			unsigned best = (unsigned)(i + j);

			if (i && j)
				best = least(least(of[i - 1][j], of[i][j - 1]) + 1,
					     of[i - 1][j - 1] + (x != y));
			if (i > 1 && j > 1 && x == folded(b[j - 2]) && y == folded(a[i - 2]))
				best = least(best, of[i - 2][j - 2] + 1u);
			of[i][j] = (unsigned char)best;
		}
	}
	return least(of[a_len][b_len], limit + 1);
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
