/* SPDX-License-Identifier: MIT */
/* row.c - the pool of a thread's name; see row.h. */
#include "lib/dump/row.h"

#include <stdbool.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The kernel keeps 15 bytes of a name. */
static bool is_cut(size_t len)
{
	return len >= 15;
}

size_t pmc_pool_pattern(const char *name, size_t len, char *pattern)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		if (!is_digit(name[i]))
			pattern[n++] = name[i];
		else if (!n || pattern[n - 1] != '*')
			pattern[n++] = '*';
	if (is_cut(len) && pattern[n - 1] != '*')
		pattern[n++] = '*';
	return n;
}
