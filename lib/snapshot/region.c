/* SPDX-License-Identifier: MIT */
/* region.c - a region's record as a REGION frame; see snapshot.h. Async-signal-safe. */
#include "lib/base/clock.h"
#include "lib/dump/build.h"
#include "lib/snapshot/snapshot.h"

#include <errno.h>

/* Differences modulo 2^64 may be slightly negative. */
static uint64_t at_least_0(uint64_t sum)
{
	return (int64_t)sum < 0 ? 0 : sum;
}

static void put_readings(struct pmc_frame_buf *buf, const struct region_area *area,
			 const uint16_t *first, uint32_t reason, const uint64_t *words)
{
	words += REGION_CPU;
	for (unsigned g = 0; g < area->groups; g++) {
		const unsigned n = first[g + 1] - first[g];
		struct pmc_reading reading = { .error = area->errors[g] };
		uint64_t *to;

		if (area->mode == REGION_CLOCK)
			reading.error = reason ? reason : EBADF;
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

/* Appends a REGION frame up to pmc_frame_end. */
static void fill(const struct reader *reader, struct pmc_frame_buf *buf, const struct slot *slot,
		 const struct region_area *area, const struct region_record *record)
{
	const struct pmc_control *control = reader->control;
	/* By a reset that is still to be applied. */
	const bool cleared = area->resets != atomic_load(&control->resets);
	static const uint64_t zero[2 * REGION_WORDS];
	const uint64_t *inclusive = cleared ? zero : record->words;
	const uint64_t *exclusive = inclusive + area->capacity;
	const uint64_t calls = cleared ? 0 : record->calls;
	bool has_cpu = calls && (area->mode == REGION_CLOCK ||
				 (!area->errors[0] && at_least_0(inclusive[REGION_CPU])));
	struct pmc_region_fixed fixed = {
		.seq = area->owner - 1,
		.calls = calls,
		.outermost = cleared ? 0 : record->outermost,
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

	pmc_frame_begin(buf, PMC_FRAME_REGION, control->identity, reader->snapshot, &fixed,
			sizeof(fixed));
	pmc_frame_str(buf, record->name, record->name_len);
	put_readings(buf, area, control->first, slot->reason, inclusive);
	put_readings(buf, area, control->first, slot->reason, exclusive);
	put_readings(buf, area, control->first, slot->reason, area->inside);
	put_readings(buf, area, control->first, slot->reason, area->around);
}

/* Whether the area has the groups of its thread, and sizes that an agent writes. */
static bool is_sound(const struct reader *reader, const struct region_area *area)
{
	const unsigned groups = reader->registry->n_groups;
	const unsigned readings = 2 * groups + reader->control->first[groups];
	const unsigned words = REGION_CPU + (area->mode == REGION_CLOCK ? 1 : readings);

	return area->groups == groups && area->mode < REGION_MODES && area->words == words &&
	       words <= area->capacity && area->capacity <= REGION_WORDS &&
	       area->n_records <= REGION_RECORDS;
}

/* The frame of a record, which may have changed meanwhile. */
static enum snapshot_result put(const struct reader *reader, struct pmc_frame_buf *buf,
				const struct slot *slot, uint64_t at, uint32_t index)
{
	const struct region_area *area = reader_at(reader, COPY_AREA, at, REGION_AREA_HEAD);
	const struct region_record *record;

	if (!area)
		return SNAPSHOT_DAMAGED;
	if (atomic_load(&area->owner) != slot->seq + 1)
		return SNAPSHOT_END;
	if (!is_sound(reader, area))
		return SNAPSHOT_DAMAGED;
	if (index >= atomic_load(&area->n_records))
		return SNAPSHOT_END;
	record = reader_at(reader, COPY_RECORD, at + region_record_at(area->capacity, index),
			   region_record_bytes(area->capacity));
	if (!record || record->name_len >= REGION_NAME)
		return SNAPSHOT_DAMAGED;
	if (record->calls || record->open || area->resets)
		fill(reader, buf, slot, area, record);
	return SNAPSHOT_PUT;
}

/* The number that is odd while records change. */
static uint64_t sequence_of(const struct reader *reader, uint64_t at)
{
	const _Atomic uint64_t *word = reader_at(reader, COPY_WORD, at, sizeof(*word));

	return word ? atomic_load_explicit(word, memory_order_acquire) : 0;
}

enum snapshot_result snapshot_region(const struct reader *reader, struct pmc_frame_buf *buf,
				     const struct slot *slot, uint32_t index)
{
	const uint64_t at = atomic_load(&slot->regions),
		       sequence = at ? sequence_of(reader, at) : 0;
	const size_t before = buf->len;
	enum snapshot_result result;

	if (!at)
		return SNAPSHOT_END;
	if (sequence & 1)
		return SNAPSHOT_CHANGING;
	result = put(reader, buf, slot, at, REGION_OTHER + index);
	atomic_thread_fence(memory_order_acquire);
	if (sequence_of(reader, at) != sequence)
		result = SNAPSHOT_CHANGING;
	if (buf->len == before)
		return result;
	if (result == SNAPSHOT_PUT)
		pmc_frame_end(buf);
	else
		pmc_frame_drop(buf);
	return result;
}
