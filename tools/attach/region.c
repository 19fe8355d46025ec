/* SPDX-License-Identifier: MIT */
/*
 * region.c - copies the marked regions of threads of another process.
 *
 * A record is copied together with its area, whose sequence number is read first and last; a copy
 * during a change is repeated a bounded number of times. The process is not trusted: an area is
 * used only for the live thread of its slot, and only with sizes that the agent writes.
 */
#include "tools/attach/region.h"

#include <string.h>
#include <unistd.h>

/* For one copy: tries at once, then some with a nap, for a thread preempted in a change. */
#define QUICK	 100u
#define PATIENCE 600u
#define NAP_US	 50u
/* For all copies: seconds, whatever the process does. */
#define MOST_TRIES 200000u
/* For one thread. */
#define FEW_TRIES 2000u
/* Of frames; no program marks so much. */
#define MOST_BYTES ((size_t)256 << 20)

void attach_regions_init(struct attach_regions *regions)
{
	memset(regions, 0, sizeof(*regions));
	regions->tries = MOST_TRIES;
	regions->end_slot = UINT32_MAX;
}

void attach_regions_only(struct attach_regions *regions, uint32_t slot)
{
	regions->tries = FEW_TRIES;
	regions->next_slot = slot;
	regions->end_slot = slot + 1;
}

static const struct region_record *record_of(const struct attach_regions *regions)
{
	return (const void *)regions->record;
}

/* Whether the area is one of the slot's thread, with its groups. */
static bool area_is_sound(const struct attach_regions *regions)
{
	const struct snapshot_groups *groups = &regions->groups;
	const struct region_area *area = &regions->area;
	unsigned readings = 2 * groups->groups + groups->first[groups->groups];
	unsigned words = REGION_CPU + (area->mode == REGION_CLOCK ? 1 : readings);

	return area->groups == groups->groups && area->mode < REGION_MODES &&
	       area->words == words && words <= area->capacity && area->capacity <= REGION_WORDS &&
	       area->n_records <= REGION_RECORDS;
}

enum copied { COPIED, NO_REGIONS, CHANGING, DAMAGED };

/* The area's head; and record `index` if the head, copied before, says how long it is. */
static enum copied copy_once(const struct attach *target, struct attach_regions *regions,
			     bool with_record, uint32_t index)
{
	const struct region_area *area = &regions->area;
	uint64_t at = regions->slot->regions, sequence = 0, after = 1;
	const unsigned capacity = area->capacity;
	const struct attach_part parts[] = {
		{ at, &sequence, sizeof(sequence) },
		{ at, &regions->area, REGION_AREA_HEAD },
		{ at + region_record_at(capacity, index), regions->record,
		  with_record ? region_record_bytes(capacity) : 0 },
		{ at, &after, sizeof(after) },
	};

	if (attach_read_parts(target, parts, sizeof(parts) / sizeof(parts[0])) != 0)
		return DAMAGED;
	if (sequence != after || sequence & 1)
		return CHANGING;
	if (area->owner != regions->slot->seq + 1)
		return NO_REGIONS;
	if (!area_is_sound(regions))
		return DAMAGED;
	if (!with_record)
		return COPIED;
	/* The slot's next thread is about to use the area. */
	if (index >= area->n_records)
		return NO_REGIONS;
	return area->capacity == capacity && record_of(regions)->name_len < REGION_NAME ? COPIED :
											  DAMAGED;
}

static bool try_again(struct attach_regions *regions, unsigned try)
{
	if (!regions->tries || try >= PATIENCE)
		return false;
	regions->tries--;
	if (try >= QUICK)
		usleep(NAP_US);
	return true;
}

static enum copied copy(const struct attach *target, struct attach_regions *regions,
			bool with_record, uint32_t index)
{
	const uint32_t capacity = regions->area.capacity;

	for (unsigned try = 0;; try++) {
		enum copied copied = copy_once(target, regions, with_record, index);

		if (copied != CHANGING || !try_again(regions, try))
			return copied;
		/* What came during a change is not to be used. */
		regions->area.capacity = capacity;
	}
}

/* Leaves the slot's thread out if it changes its records all the time. */
static bool usable(struct attach_regions *regions, enum copied copied)
{
	regions->changing += copied == CHANGING;
	regions->damaged |= copied == DAMAGED;
	return copied == COPIED;
}

/* The next live thread that has marked regions. */
static bool next_slot(const struct attach *target, struct attach_regions *regions)
{
	while (regions->next_slot < target->n_slots && regions->next_slot < regions->end_slot) {
		regions->slot = registry_slot(&target->registry, regions->next_slot++);
		if ((regions->slot->word & ~0xffffu) != SLOT_LIVE || !regions->slot->regions)
			continue;
		regions->groups = snapshot_groups_of(&target->reader, regions->slot);
		regions->next_record = REGION_OTHER;
		if (usable(regions, copy(target, regions, false, 0)))
			return true;
	}
	regions->slot = NULL;
	return false;
}

static void put(const struct attach *target, struct attach_regions *regions,
		struct pmc_frame_buf *buf)
{
	const struct region_view view = {
		.identity = target->control.identity,
		.snapshot = target->control.snapshot,
		.first = regions->groups.first,
		.reason = regions->slot->reason,
		.cleared = regions->area.resets != target->control.resets,
	};
	size_t before = buf->len;

	region_frame_fill(buf, &regions->area, record_of(regions), &view);
	pmc_frame_end(buf);
	regions->bytes += buf->len - before;
}

bool attach_regions_next(const struct attach *target, struct attach_regions *regions,
			 struct pmc_frame_buf *buf)
{
	if (regions->bytes > MOST_BYTES) {
		regions->damaged = true;
		return false;
	}
	if (!regions->slot || regions->next_record >= regions->area.n_records)
		return next_slot(target, regions);
	if (!usable(regions, copy(target, regions, true, regions->next_record++)))
		regions->slot = NULL;
	else if (record_of(regions)->calls || record_of(regions)->open || target->control.resets)
		put(target, regions, buf);
	return true;
}
