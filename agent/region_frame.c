/* SPDX-License-Identifier: MIT */
/* region_frame.c - the records of marked regions as REGION frames. Async-signal-safe. */
#include "agent/agent.h"
#include "agent/core/clock.h"
#include "agent/file.h"
#include "agent/region.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "agent/poison.h"

/* A record changes for less than a microsecond, unless its thread is preempted just then. */
#define PATIENCE 200u

/* Differences modulo 2^64: less than nothing is nothing. */
static uint64_t sum(uint64_t words)
{
	return (int64_t)words < 0 ? 0 : words;
}

/* The readings in two sums together; NULL: there is one only. */
static void put_readings(struct pmc_frame_buf *buf, const struct region_area *area,
			 const uint64_t *words, const uint64_t *more)
{
	static const uint64_t nothing[REGION_WORDS];
	const uint16_t *first = area->first;
	unsigned groups = area->groups, values = REGION_CPU + 2 * groups;

	more = more ? more : nothing;
	for (unsigned g = 0; g < groups; g++) {
		unsigned at = REGION_CPU + 2 * g;
		struct pmc_reading reading = { .error = area->errors[g] };

		if (area->mode == REGION_CLOCK)
			reading.error = area->slot->reason ? area->slot->reason : EBADF;
		if (!reading.error) {
			reading.enabled_ns = sum(words[at] + more[at]);
			reading.running_ns = sum(words[at + 1] + more[at + 1]);
			reading.n = first[g + 1] - first[g];
		}
		pmc_frame_bytes(buf, &reading, sizeof(reading));
		at = values + first[g];
		for (unsigned i = 0; i < reading.n; i++, at++) {
			uint64_t value = sum(words[at] + more[at]);

			pmc_frame_bytes(buf, &value, sizeof(value));
		}
	}
}

static void put(struct pmc_frame_buf *buf, struct region_area *area, uint64_t owner,
		struct region_record *record, uint64_t snapshot)
{
	static const char other[] = "(other regions)";
	const uint64_t *inclusive = record->words, *more = inclusive + area->words;
	bool is_other = record == region_record(area, REGION_OTHER);
	bool has_cpu = record->calls && (area->mode == REGION_CLOCK ||
					 (!area->errors[0] && sum(inclusive[REGION_CPU])));
	struct pmc_region_fixed fixed = {
		.seq = owner - 1,
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

	pmc_frame_begin(buf, PMC_FRAME_REGION, agent.identity, snapshot, &fixed, sizeof(fixed));
	if (is_other)
		pmc_frame_str(buf, other, sizeof(other) - 1);
	else
		pmc_frame_str(buf, region_names(area) + record->name, record->name_len);
	put_readings(buf, area, inclusive, NULL);
	put_readings(buf, area, inclusive, more);
	put_readings(buf, area, area->inside, NULL);
	put_readings(buf, area, area->around, NULL);
}

bool region_frame_put(struct pmc_frame_buf *buf, struct region_area *area, uint32_t index,
		      uint64_t snapshot, bool force)
{
	for (unsigned try = 0;; try++) {
		uint64_t sequence = atomic_load_explicit(&area->sequence, memory_order_acquire);
		uint64_t owner = atomic_load(&area->owner);
		struct region_record *record = region_record(area, index);
		bool last = try == PATIENCE || area == region_mine;

		if (!owner || index >= area->n_records)
			return true;
		if (!record->calls && !record->open)
			return true;
		if (!(sequence & 1) || (last && force)) {
			put(buf, area, owner, record, snapshot);
			atomic_thread_fence(memory_order_acquire);
			if ((last && force) ||
			    atomic_load_explicit(&area->sequence, memory_order_relaxed) ==
				    sequence) {
				pmc_frame_end(buf);
				return true;
			}
			buf->len = buf->start;
			buf->overflow = false;
		}
		/* A handler that interrupted its own thread would wait for ever. */
		if (last)
			return false;
		sched_yield();
	}
}

bool agent_region_next(struct pmc_frame_buf *buf, uint64_t snapshot, uint32_t *at, uint32_t *index)
{
	const bool force = atomic_load(&pmc_agent_control.state) != PMC_CONTROL_ON;
	struct region_area *area = region_area_at(*at);

	if (!area)
		return false;
	*at = area->index;
	if (atomic_load(&area->owner) && *index < area->n_records) {
		region_frame_put(buf, area, (*index)++, snapshot, force);
		return true;
	}
	*at = area->index + 1;
	*index = 0;
	return true;
}

void agent_regions_room(struct region_area *area, void **room, size_t *bytes)
{
	if (!area)
		return;
	*room = region_scratch(area);
	*bytes = REGION_SCRATCH;
}

void agent_regions_frames(struct region_area *area, uint64_t seq, uint64_t snapshot,
			  struct pmc_frame_buf *buf)
{
	for (uint32_t i = 0; area && i < area->n_records; i++) {
		struct region_record *record = region_record(area, i);

		if (!record->calls)
			continue;
		if (buf->cap - buf->len < AGENT_REGION_BYTES) {
			agent_file_append(buf->data, buf->len);
			buf->len = 0;
		}
		put(buf, area, seq + 1, record, snapshot);
		pmc_frame_end(buf);
	}
}
