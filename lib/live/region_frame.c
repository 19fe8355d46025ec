/* SPDX-License-Identifier: MIT */
/* region_frame.c - a region's record as a REGION frame. Async-signal-safe. */
#include "lib/base/clock.h"
#include "lib/dump/build.h"
#include "lib/live/region_area.h"

#include <errno.h>

/* Differences modulo 2^64 may be slightly negative. */
static uint64_t at_least_0(uint64_t sum)
{
	return (int64_t)sum < 0 ? 0 : sum;
}

static void put_readings(struct pmc_frame_buf *buf, const struct region_area *area,
			 const struct region_view *view, const uint64_t *words)
{
	words += REGION_CPU;
	for (unsigned g = 0; g < area->groups; g++) {
		const unsigned n = view->first[g + 1] - view->first[g];
		struct pmc_reading reading = { .error = area->errors[g] };
		uint64_t *to;

		if (area->mode == REGION_CLOCK)
			reading.error = view->reason ? view->reason : EBADF;
		if (!reading.error) {
			reading.enabled_ns = at_least_0(words[0]);
			reading.running_ns = at_least_0(words[1]);
			reading.n = n;
		}
		to = pmc_put_reading(buf, &reading, NULL);
		for (unsigned i = 0; to && i < reading.n; i++)
			to[i] = at_least_0(words[2 + i]);
		words += 2 + n;
	}
}

void region_frame_fill(struct pmc_frame_buf *buf, const struct region_area *area,
		       const struct region_record *record, const struct region_view *view)
{
	static const uint64_t zero[2 * REGION_WORDS];
	const uint64_t *inclusive = view->cleared ? zero : record->words;
	const uint64_t *exclusive = inclusive + area->capacity;
	const uint64_t calls = view->cleared ? 0 : record->calls;
	bool has_cpu = calls && (area->mode == REGION_CLOCK ||
				 (!area->errors[0] && at_least_0(inclusive[REGION_CPU])));
	struct pmc_region_fixed fixed = {
		.seq = area->owner - 1,
		.calls = calls,
		.outermost = view->cleared ? 0 : record->outermost,
		.nested = inclusive[REGION_ENDS],
		.direct = exclusive[REGION_ENDS],
		.open = record->open,
		.time_ns = pmc_now_ns(),
		.eventset = area->eventset,
		.cpu_ns = has_cpu ? at_least_0(inclusive[REGION_CPU]) : 0,
		.self_cpu_ns = has_cpu ? at_least_0(exclusive[REGION_CPU]) : 0,
		.inside_cpu_ns = area->inside[REGION_CPU],
		.around_cpu_ns = area->around[REGION_CPU],
		.n_groups = (uint16_t)area->groups,
		.flags = (uint16_t)((has_cpu ? PMC_REGION_CPU : 0) |
				    (area->cost == REGION_COST_MEASURED ? PMC_REGION_COST : 0) |
				    (area->mode == REGION_USER ? PMC_REGION_USER_READS : 0)),
	};

	pmc_begin_region(buf, view->identity, view->snapshot, &fixed, record->name,
			 record->name_len);
	put_readings(buf, area, view, inclusive);
	put_readings(buf, area, view, exclusive);
	put_readings(buf, area, view, area->inside);
	put_readings(buf, area, view, area->around);
}
