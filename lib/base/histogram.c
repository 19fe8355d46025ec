/* SPDX-License-Identifier: MIT */
/* histogram.c - log-linear histograms; see histogram.h. */
#include "lib/base/histogram.h"

#include <string.h>

/* NULL: no memory. */
static struct pmc_octave *octave_of(struct pmc_arena *arena, struct pmc_histogram *of, unsigned i)
{
	struct pmc_octave **at = &of->octaves, *octave;

	while (*at && (*at)->octave < i)
		at = &(*at)->next;
	if (*at && (*at)->octave == i)
		return *at;
	octave = pmc_arena_alloc(arena, sizeof(*octave));
	if (octave) {
		octave->octave = i;
		octave->next = *at;
		*at = octave;
	}
	return octave;
}

unsigned pmc_histogram_bucket(uint64_t value)
{
	const unsigned i = value < PMC_HISTOGRAM_PARTS ? 0 : 60 - (unsigned)__builtin_clzll(value);

	return i * PMC_HISTOGRAM_PARTS +
	       (unsigned)((i ? value >> (i - 1) : value) % PMC_HISTOGRAM_PARTS);
}

void pmc_histogram_add_times(struct pmc_arena *arena, struct pmc_histogram *to, uint64_t value,
			     uint64_t times)
{
	const unsigned bucket = pmc_histogram_bucket(value);
	struct pmc_octave *octave = octave_of(arena, to, bucket / PMC_HISTOGRAM_PARTS);

	if (!octave || !times)
		return;
	octave->n[bucket % PMC_HISTOGRAM_PARTS] += times;
	to->n += times;
	to->most = value > to->most ? value : to->most;
}

void pmc_histogram_add(struct pmc_arena *arena, struct pmc_histogram *to, uint64_t value)
{
	pmc_histogram_add_times(arena, to, value, 1);
}

void pmc_histogram_clear(struct pmc_histogram *of)
{
	for (struct pmc_octave *octave = of->octaves; octave; octave = octave->next)
		memset(octave->n, 0, sizeof(octave->n));
	of->n = of->most = 0;
}

void pmc_histogram_merge(struct pmc_arena *arena, struct pmc_histogram *to,
			 const struct pmc_histogram *from)
{
	for (const struct pmc_octave *o = from->octaves; o; o = o->next) {
		struct pmc_octave *octave = octave_of(arena, to, o->octave);

		for (unsigned i = 0; octave && i < PMC_HISTOGRAM_PARTS; i++) {
			octave->n[i] += o->n[i];
			to->n += o->n[i];
		}
	}
	to->most = from->most > to->most ? from->most : to->most;
}

uint64_t pmc_histogram_bound(unsigned octave, unsigned part)
{
	/* The last one wraps around to UINT64_MAX. */
	return octave ? ((uint64_t)(PMC_HISTOGRAM_PARTS + part + 1) << (octave - 1)) - 1 : part;
}

uint64_t pmc_histogram_percentile(const struct pmc_histogram *of, unsigned percent)
{
	const uint64_t rank = of->n / 100 * percent + (of->n % 100 * percent + 99) / 100;
	uint64_t n = 0;

	for (const struct pmc_octave *o = of->octaves; o; o = o->next)
		for (unsigned i = 0; i < PMC_HISTOGRAM_PARTS; i++) {
			const uint64_t bound = pmc_histogram_bound(o->octave, i);

			n += o->n[i];
			if (o->n[i] && n >= rank)
				return bound < of->most ? bound : of->most;
		}
	return of->most;
}
