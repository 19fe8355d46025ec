/* SPDX-License-Identifier: MIT */
/* collect.c - the frames of a snapshot from outside, of all threads or of one. */
#include "tools/attach/collect.h"
#include "tools/cli/pmctl.h"

#include <stdlib.h>

static bool reserve(struct pmc_frame_buf *buf, size_t bytes)
{
	uint8_t *data;
	size_t cap = buf->cap ? buf->cap : 64 << 10;

	if (buf->cap - buf->len >= bytes)
		return true;
	while (cap - buf->len < bytes)
		cap *= 2;
	data = realloc(buf->data, cap);
	if (!data)
		return false;
	buf->data = data;
	buf->cap = cap;
	return true;
}

static int no_memory(void)
{
	return tool_fail(EXIT_FAIL, "out of memory");
}

/* Whether the frames are of one process image that is still there. */
static int finish(const struct attach *target)
{
	return attach_same_image(target) ? 0 :
	       attach_has_ended(target)	 ? attach_gone(target->pid) :
					   ATTACH_AGAIN;
}

static int put_process(struct attach *target, struct pmc_frame_buf *buf, bool room)
{
	if (!room || !reserve(buf, 512 << 10))
		return no_memory();
	attach_process_frames(target, buf);
	return finish(target);
}

static bool put_regions(const struct attach *target, struct attach_regions *regions,
			struct pmc_frame_buf *buf)
{
	bool room;

	do {
		room = reserve(buf, ATTACH_FRAME_BYTES);
	} while (room && attach_regions_next(target, regions, buf));
	return room;
}

static bool put_samples(const struct attach *target, struct attach_missing *missing,
			struct pmc_frame_buf *buf)
{
	struct attach_samples samples = { .next_slot = 0 };
	bool room;

	do {
		room = reserve(buf, SAMPLE_FRAME_BYTES);
	} while (room && attach_samples_next(target, &samples, buf));
	missing->samples = samples.damaged;
	attach_samples_free(&samples);
	return room && !samples.no_memory;
}

/* A row is read after its thread's regions: what they counted is part of the row. */
int attach_collect(struct attach *target, struct attach_missing *missing, struct pmc_frame_buf *buf,
		   bool own_file)
{
	struct attach_regions regions;
	int code = attach_look(target);
	bool room;

	if (code)
		return code;
	buf->len = 0;
	attach_regions_init(&regions);
	room = put_regions(target, &regions, buf);
	for (uint32_t i = 0; room && i < target->n_slots; i++) {
		room = reserve(buf, ATTACH_FRAME_BYTES);
		if (room)
			attach_row(target, buf, registry_slot(&target->registry, i), own_file);
	}
	*missing =
		(struct attach_missing){ .changing = regions.changing, .regions = regions.damaged };
	room = room && put_samples(target, missing, buf);
	/* No slots: PMC_ONLY or PMC_SKIP excludes the program, and it gets no rows. */
	for (size_t i = 0; room && target->registry.high && i < target->tasks.n; i++) {
		room = reserve(buf, ATTACH_FRAME_BYTES);
		if (room)
			attach_adopted(target, &target->tasks.list[i], buf);
	}
	return put_process(target, buf, room);
}

int attach_collect_stacks(struct attach *target, struct attach_stacks *stacks,
			  struct pmc_frame_buf *buf)
{
	bool room = attach_stacks_copy(target, stacks);

	while (room) {
		room = reserve(buf, SAMPLE_FRAME_BYTES);
		if (!room || !attach_stacks_next(target, stacks, buf))
			break;
	}
	return room ? finish(target) : no_memory();
}

int attach_collect_thread(struct attach *target, uint32_t slot, struct pmc_frame_buf *buf)
{
	struct attach_regions regions;
	bool room;

	attach_regions_init(&regions);
	attach_regions_only(&regions, slot);
	buf->len = 0;
	room = put_regions(target, &regions, buf) && reserve(buf, ATTACH_FRAME_BYTES);
	if (room)
		attach_row(target, buf, registry_slot(&target->registry, slot), true);
	return put_process(target, buf, room);
}
