/* SPDX-License-Identifier: MIT */
/* region_frames.c - the regions of all threads, and of one that ends, as REGION frames.
 * Async-signal-safe. */
#include "agent/base/agent.h"
#include "agent/output/file.h"
#include "agent/base/note.h"
#include "agent/region/region.h"

#include <sched.h>
#include <string.h>

#include "agent/base/poison.h"

/* A record changes for less than a microsecond, unless its thread is preempted just then. */
#define PATIENCE 200u

static void put(struct pmc_frame_buf *buf, struct region_area *area, uint64_t owner,
		struct region_record *record, uint64_t snapshot)
{
	struct region_view view = {
		.identity = agent.identity,
		.snapshot = snapshot,
		.seq = owner - 1,
		.first = area->first,
		.reason = area->slot->reason,
	};

	if (record != region_record(area, REGION_OTHER)) {
		view.name = region_names(area) + record->name;
		view.name_len = record->name_len;
	}
	region_frame_fill(buf, area, record, &view);
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
		if (index != REGION_OTHER &&
		    region_is_passing(area, region_names(area) + record->name))
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
		if (!region_frame_put(buf, area, (*index)++, snapshot, force))
			agent_note(NOTE_REGION_BUSY);
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
		if (buf->cap - buf->len < REGION_FRAME_BYTES) {
			agent_file_append(buf->data, buf->len);
			buf->len = 0;
		}
		put(buf, area, seq + 1, record, snapshot);
		pmc_frame_end(buf);
	}
}
