/* SPDX-License-Identifier: MIT */
/* region_frame.c - a marked region's record as a REGION frame. Async-signal-safe. */
#include "agent/core/base/clock.h"
#include "agent/core/dump/build.h"
#include "agent/core/live/region_area.h"

#include <errno.h>

/* Differences modulo 2^64: less than nothing is nothing. */
static uint64_t sum(uint64_t words)
{
	return (int64_t)words < 0 ? 0 : words;
}

/* The readings in two sums together; NULL: there is one only. */
static void put_readings(struct pmc_frame_buf *buf, const struct region_area *area,
			 const struct region_view *view, const uint64_t *words,
			 const uint64_t *more)
{
	static const uint64_t nothing[REGION_WORDS];
	const uint16_t *first = view->first;
	unsigned groups = area->groups, values = REGION_CPU + 2 * groups;

	more = more ? more : nothing;
	for (unsigned g = 0; g < groups; g++) {
		unsigned at = REGION_CPU + 2 * g;
		struct pmc_reading reading = { .error = area->errors[g] };
		uint64_t *to;

		if (area->mode == REGION_CLOCK)
			reading.error = view->reason ? view->reason : EBADF;
		if (!reading.error) {
			reading.enabled_ns = sum(words[at] + more[at]);
			reading.running_ns = sum(words[at + 1] + more[at + 1]);
			reading.n = first[g + 1] - first[g];
		}
		to = pmc_put_reading(buf, &reading, NULL);
		at = values + first[g];
		for (unsigned i = 0; to && i < reading.n; i++)
			to[i] = sum(words[at + i] + more[at + i]);
	}
}

void region_frame_fill(struct pmc_frame_buf *buf, const struct region_area *area,
		       const struct region_record *record, const struct region_view *view)
{
	static const char other[] = "(other regions)";
	const uint64_t *inclusive = record->words, *more = inclusive + area->words;
	bool has_cpu = record->calls && (area->mode == REGION_CLOCK ||
					 (!area->errors[0] && sum(inclusive[REGION_CPU])));
	struct pmc_region_fixed fixed = {
		.seq = view->seq,
		.calls = record->calls,
		.outermost = record->calls - record->again,
		.nested = inclusive[REGION_ENDS] / 2,
		.direct = (inclusive[REGION_ENDS] + more[REGION_ENDS]) / 2,
		.open = record->open,
		.time_ns = pmc_now_ns(),
		.eventset = area->eventset,
		.cpu_ns = has_cpu ? sum(inclusive[REGION_CPU]) : 0,
		.self_cpu_ns = has_cpu ? sum(inclusive[REGION_CPU] + more[REGION_CPU]) : 0,
		.inside_cpu_ns = area->inside[REGION_CPU],
		.around_cpu_ns = area->around[REGION_CPU],
		.n_groups = (uint16_t)area->groups,
		.flags = (uint16_t)((has_cpu ? PMC_REGION_CPU : 0) |
				    (area->uncalibrated ? 0 : PMC_REGION_COST) |
				    (area->mode == REGION_USER ? PMC_REGION_USER_READS : 0)),
	};

	pmc_begin_region(buf, view->identity, view->snapshot, &fixed,
			 view->name ? view->name : other,
			 view->name ? view->name_len : sizeof(other) - 1);
	put_readings(buf, area, view, inclusive, NULL);
	put_readings(buf, area, view, inclusive, more);
	put_readings(buf, area, view, area->inside, NULL);
	put_readings(buf, area, view, area->around, NULL);
}
