/* SPDX-License-Identifier: MIT */
/* nearest.c - which of the names there are was probably meant. */
#include "agent/core/base/suggest.h"
#include "tools/cli/pmctl.h"

#include <string.h>

const char *tool_nearest(const char *word, const char *const *names, unsigned n)
{
	unsigned best = pmc_distance_limit(strlen(word)) + 1;
	const char *near = NULL;

	for (unsigned i = 0; i < n && best > 0; i++) {
		unsigned d = pmc_distance(word, strlen(word), names[i], strlen(names[i]), best - 1);

		if (d < best) {
			best = d;
			near = names[i];
		}
	}
	return near;
}
