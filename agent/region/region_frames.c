/* SPDX-License-Identifier: MIT */
/* region_frames.c - the regions of a live thread, and of one that ends, as REGION frames.
 * Async-signal-safe. */
#include "agent/base/agent.h"
#include "agent/base/note.h"
#include "agent/output/file.h"
#include "agent/region/region.h"
#include "lib/snapshot/snapshot.h"

#include <sched.h>

#include "agent/base/poison.h"

/* A change takes less than a microsecond, unless its thread is preempted. */
#define TRIES 200u

bool agent_region_next(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot,
		       uint32_t *index)
{
	const struct reader reader = agent_reader(snapshot);

	for (unsigned try = 0; try < TRIES; try++) {
		enum snapshot_result result = snapshot_region(&reader, buf, slot, *index);

		if (result != SNAPSHOT_CHANGING) {
			++*index;
			return result == SNAPSHOT_PUT;
		}
		/* A handler would wait for the change that it interrupted. */
		if (region_mine && region_area_of(slot) == region_mine) {
			agent_note(NOTE_REGION_BUSY);
			return false;
		}
		sched_yield();
	}
	agent_note(NOTE_REGION_BUSY);
	++*index;
	return true;
}

void region_write_all(struct region_area *area)
{
	const struct reader reader =
		agent_reader(atomic_fetch_add(&pmc_agent_control.snapshot, 1) + 1);
	void *room = (char *)area + region_room_at(area->capacity);
	struct pmc_frame_buf buf;

	pmc_frame_buf_init(&buf, room, REGION_ROOM);
	agent_file_begin();
	for (uint32_t i = 0; snapshot_region(&reader, &buf, area->slot, i) == SNAPSHOT_PUT; i++) {
		if (buf.cap - buf.len >= REGION_FRAME_BYTES)
			continue;
		agent_file_append(buf.data, buf.len);
		buf.len = 0;
	}
	agent_file_append(buf.data, buf.len);
}
