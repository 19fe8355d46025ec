/* SPDX-License-Identifier: MIT */
/* region_frames.c - the regions of a live thread, and of one that ends, as REGION frames.
 * Async-signal-safe. */
#include "agent/base/agent.h"
#include "agent/base/note.h"
#include "agent/output/file.h"
#include "agent/region/region.h"

#include <sched.h>

#include "agent/base/poison.h"

/* A change takes less than a microsecond, unless its thread is preempted. */
#define TRIES 200u

static void fill(struct pmc_frame_buf *buf, struct region_area *area, struct region_record *record,
		 uint64_t snapshot)
{
	const struct region_view view = {
		.identity = agent.identity,
		.snapshot = snapshot,
		.first = area->first,
		.reason = area->slot->reason,
		.cleared = region_is_stale(area),
	};

	region_frame_fill(buf, area, record, &view);
}

/* False: the record changed whenever it was copied. */
static bool put(struct pmc_frame_buf *buf, struct region_area *area, struct region_record *record,
		uint64_t snapshot)
{
	for (unsigned try = 0; try < TRIES; try++) {
		uint64_t sequence = atomic_load_explicit(&area->sequence, memory_order_acquire);

		if (!(sequence & 1)) {
			fill(buf, area, record, snapshot);
			atomic_thread_fence(memory_order_acquire);
			if (atomic_load_explicit(&area->sequence, memory_order_relaxed) ==
			    sequence) {
				pmc_frame_end(buf);
				return true;
			}
			pmc_frame_drop(buf);
		}
		/* A handler would wait for the change that it interrupted. */
		if (area == region_mine)
			return false;
		sched_yield();
	}
	return false;
}

bool agent_region_next(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot,
		       uint32_t *index)
{
	struct region_area *area = region_area_of(slot);
	struct region_record *record;

	*index = *index < REGION_OTHER ? REGION_OTHER : *index;
	if (!area || atomic_load(&area->owner) != slot->seq + 1 || *index >= area->n_records)
		return false;
	record = region_record(area, (*index)++);
	if ((record->calls || record->open || area->resets) && !put(buf, area, record, snapshot))
		agent_note(NOTE_REGION_BUSY);
	return true;
}

void region_write_all(struct region_area *area)
{
	uint64_t snapshot = atomic_fetch_add(&pmc_agent_control.snapshot, 1) + 1;
	void *room = (char *)area + region_room_at(area->capacity);
	struct pmc_frame_buf buf;

	pmc_frame_buf_init(&buf, room, REGION_ROOM);
	agent_file_begin();
	for (uint32_t i = REGION_OTHER; i < area->n_records; i++) {
		struct region_record *record = region_record(area, i);

		/* After a reset an older frame must not remain the newest. */
		if (!record->calls && !area->resets)
			continue;
		if (buf.cap - buf.len < REGION_FRAME_BYTES) {
			agent_file_append(buf.data, buf.len);
			buf.len = 0;
		}
		fill(&buf, area, record, snapshot);
		pmc_frame_end(&buf);
	}
	agent_file_append(buf.data, buf.len);
}
