/* SPDX-License-Identifier: MIT */
/*
 * region.c - copies the marked regions of another process's threads out of their areas.
 *
 * A record is copied as the agent's own snapshots do it, under the area's sequence number, which is
 * the first and the last that one system call copies. The thread goes on meanwhile: a copy that it
 * changed is made again, so often and no oftener. Nothing of what comes is believed: an area counts
 * once, for a thread whose slot we have, and only if every number in it is one that the agent
 * writes.
 */
#include "tools/attach/region.h"
#include "tools/cli/pmctl.h"

#include <stdlib.h>
#include <unistd.h>

/* For one copy: tries at once, then some with a nap, for a thread that was preempted just then. */
#define QUICK	 100u
#define PATIENCE 600u
#define NAP_US	 50u
/* For all of them: seconds, whatever the process does. */
#define MOST_TRIES 1000000u
#define MOST_NAPS  20000u
/* Of frames; no program marks so much. */
#define MOST_BYTES ((size_t)1 << 30)

/* What a record is copied with, and what is copied once. */
#define AREA_HEAD  offsetof(struct region_area, pages)
#define AREA_WHOLE offsetof(struct region_area, now)

/* ---- the table ----------------------------------------------------------------------------*/
static bool layout_is_sound(const struct region_layout *layout)
{
	return layout->words <= REGION_WORDS && layout->max_records <= REGION_RECORDS;
}

int attach_regions_open(const struct attach *target, struct attach_regions *regions)
{
	const struct pmc_control *control = &target->control;
	uint32_t high = 0;

	*regions = (struct attach_regions){ .tries = MOST_TRIES, .naps = MOST_NAPS };
	if (!control->regions)
		return 0;
	if (attach_read(target->pid, control->region_layout, &regions->layout,
			sizeof(regions->layout)) != 0 ||
	    attach_read(target->pid, control->region_high, &high, sizeof(high)) != 0 ||
	    !layout_is_sound(&regions->layout)) {
		regions->damaged = true;
		return 0;
	}
	/* It is beyond the end for a moment when there are too many. */
	if (high > REGION_AREAS)
		high = REGION_AREAS;
	regions->areas = calloc(high + 1u, sizeof(*regions->areas));
	regions->taken = calloc(target->n_slots + 1u, 1);
	if (!regions->areas || !regions->taken) {
		attach_regions_close(regions);
		return tool_fail(EXIT_FAIL, "out of memory");
	}
	if (attach_read(target->pid, control->region_areas, regions->areas,
			high * sizeof(*regions->areas)) == 0)
		regions->n_areas = high;
	else
		regions->damaged = true;
	return 0;
}

void attach_regions_close(struct attach_regions *regions)
{
	free(regions->areas);
	free(regions->taken);
	regions->areas = NULL;
	regions->taken = NULL;
	regions->n_areas = 0;
	regions->open = false;
}

/* ---- copies -------------------------------------------------------------------------------*/
enum copied { COPY_STEADY, COPY_CHANGED, COPY_FAILED };

/* The area's first bytes; if record_len, the record and part of the names as well. */
static enum copied copy(const struct attach *target, struct attach_regions *regions,
			size_t area_len, size_t record_len, uint32_t name, uint32_t name_len)
{
	const struct region_layout *layout = &regions->layout;
	uint64_t at = regions->address, sequence = 0, after = 1;
	uint8_t *uncalibrated = (void *)&regions->area.uncalibrated;
	const struct attach_part parts[] = {
		{ at, &sequence, sizeof(sequence) },
		{ at, &regions->area, area_len },
		{ at + layout->records + regions->next_record * layout->record_bytes,
		  regions->record, record_len },
		{ at + layout->names + name, regions->name, name_len },
		{ at, &after, sizeof(after) },
	};

	if (attach_read_parts(target->pid, parts, sizeof(parts) / sizeof(parts[0])) != 0)
		return COPY_FAILED;
	/* Any byte may come; a bool has but two values. */
	*uncalibrated = *uncalibrated != 0;
	return sequence == after && !(sequence & 1) ? COPY_STEADY : COPY_CHANGED;
}

static bool again(struct attach_regions *regions, unsigned try)
{
	if (!regions->tries || try >= PATIENCE)
		return false;
	regions->tries--;
	if (try < QUICK)
		return true;
	if (!regions->naps)
		return false;
	regions->naps--;
	usleep(NAP_US);
	return true;
}

/* ---- areas --------------------------------------------------------------------------------*/
static bool area_is_sound(const struct attach_regions *regions)
{
	const struct attach_groups *groups = &regions->groups;
	const struct region_area *area = &regions->area;
	unsigned words = region_words(2 * groups->groups + groups->first[groups->groups]);

	/* CPU time alone. */
	if (area->mode == REGION_CLOCK)
		words = region_words(1);
	return area->groups == groups->groups && (unsigned)area->mode < REGION_MODES &&
	       area->words == words && words <= regions->layout.words &&
	       area->n_records <= regions->layout.max_records &&
	       area->names_used <= REGION_NAMES_BYTES;
}

/* The slot of the area's thread, if we have it. A thread that has begun or ended since the slots
 * were copied has no row in this snapshot, and no regions. */
static struct slot *slot_of(const struct attach *target, const struct region_area *area,
			    uint32_t *index)
{
	const struct registry *registry = &target->registry;
	uint64_t offset = (uint64_t)(uintptr_t)area->slot - target->slots_address;
	struct slot *slot;

	if (!area->owner || offset % registry->slot_bytes ||
	    offset / registry->slot_bytes >= target->n_slots)
		return NULL;
	*index = (uint32_t)(offset / registry->slot_bytes);
	slot = registry_slot(registry, *index);
	return (slot->word & ~0xffffu) == SLOT_LIVE && slot->seq == area->owner - 1 ? slot : NULL;
}

static void area_open(const struct attach *target, struct attach_regions *regions)
{
	enum copied copied;
	uint32_t index;

	regions->next_record = 0;
	regions->changing_here = false;
	for (unsigned try = 0;; try++) {
		copied = copy(target, regions, AREA_WHOLE, 0, 0, 0);
		if (copied != COPY_CHANGED)
			break;
		/* Which regions it has is not known either. */
		if (!again(regions, try)) {
			regions->changing++;
			return;
		}
	}
	if (copied == COPY_FAILED) {
		/* They are never unmapped. */
		regions->damaged = true;
		return;
	}
	regions->slot = slot_of(target, &regions->area, &index);
	if (!regions->slot || regions->taken[index])
		return;
	attach_groups_of(target, regions->slot, &regions->groups);
	if (!area_is_sound(regions)) {
		regions->damaged = true;
		return;
	}
	regions->uncalibrated = regions->area.uncalibrated;
	regions->taken[index] = 1;
	regions->open = true;
}

/* ---- records ------------------------------------------------------------------------------*/
static const struct region_record *record_of(const struct attach_regions *regions)
{
	return (const void *)regions->record;
}

static bool name_is_sound(const struct attach_regions *regions)
{
	const struct region_record *record = record_of(regions);

	return record->name_len < REGION_NAME && record->name < REGION_NAMES_BYTES &&
	       record->name + record->name_len < REGION_NAMES_BYTES;
}

enum found { FOUND, EMPTY, CHANGING, ENDED, DAMAGED };

/* The next record with its name, as both were at one time. */
static enum found find(const struct attach *target, struct attach_regions *regions)
{
	const struct region_record *record = record_of(regions);
	const uint64_t owner = regions->area.owner;
	const size_t bytes = sizeof(*record) + 2 * regions->area.words * sizeof(uint64_t);
	uint32_t name = 0, name_len = 0;

	for (unsigned try = 0;; try++) {
		enum copied copied = copy(target, regions, AREA_HEAD, bytes, name, name_len);
		bool sound;

		if (copied == COPY_FAILED)
			return DAMAGED;
		sound = name_is_sound(regions);
		if (copied == COPY_STEADY) {
			if (regions->area.owner != owner)
				return ENDED;
			if (!area_is_sound(regions) || !sound)
				return DAMAGED;
			if (regions->next_record >= regions->area.n_records)
				return ENDED;
			if (!record->calls && !record->open)
				return EMPTY;
			if (regions->next_record == REGION_OTHER)
				return FOUND;
			if (record->name == name && record->name_len == name_len)
				return name_len && region_is_passing(&regions->area,
								     regions->name) ?
					       EMPTY :
					       FOUND;
		}
		/* Where its name is tells the record; it is copied with the next try. */
		name = sound ? record->name : 0;
		name_len = sound ? record->name_len : 0;
		if (!again(regions, try))
			return CHANGING;
	}
}

static void put(const struct attach *target, struct attach_regions *regions,
		struct pmc_frame_buf *buf)
{
	const struct region_record *record = record_of(regions);
	const struct region_view view = {
		.identity = target->control.identity,
		.snapshot = target->control.snapshot,
		.seq = regions->area.owner - 1,
		.first = regions->groups.first,
		.reason = regions->slot->reason,
		.name = regions->next_record == REGION_OTHER ? NULL : regions->name,
		.name_len = record->name_len,
	};
	size_t before = buf->len;

	regions->area.uncalibrated |= regions->uncalibrated;
	region_frame_fill(buf, &regions->area, record, &view);
	pmc_frame_end(buf);
	regions->bytes += buf->len - before;
}

bool attach_regions_next(const struct attach *target, struct attach_regions *regions,
			 struct pmc_frame_buf *buf)
{
	while (!regions->open) {
		if (regions->next_area == regions->n_areas)
			return false;
		regions->address = regions->areas[regions->next_area++];
		if (regions->address)
			area_open(target, regions);
	}
	if (regions->bytes > MOST_BYTES) {
		regions->damaged = true;
		return false;
	}
	switch (find(target, regions)) {
	case FOUND:
		put(target, regions, buf);
		break;
	case EMPTY:
		break;
	case CHANGING:
		regions->changing += !regions->changing_here;
		regions->changing_here = true;
		break;
	case DAMAGED:
		regions->damaged = true;
		regions->open = false;
		break;
	case ENDED:
		regions->open = false;
		break;
	}
	regions->next_record++;
	return true;
}
