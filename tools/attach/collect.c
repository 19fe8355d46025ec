/* SPDX-License-Identifier: MIT */
/* collect.c - the frames of a snapshot from outside, of all threads or of one. */
#include "agent/core/dump/build.h"
#include "tools/attach/region.h"
#include "tools/cli/pmctl.h"

#include <stdlib.h>

/* See agent/base/notes.def, whose codes are smaller, and tools/run/complete.c. */
#define NOTE_NO_SAMPLES 1001

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

static int finish(struct attach *target, struct pmc_frame_buf *buf, bool room)
{
	if (!room || !reserve(buf, 512 << 10))
		return tool_fail(EXIT_FAIL, "out of memory");
	attach_process_frames(target, buf);
	return attach_same_image(target) ? 0 :
	       attach_has_ended(target)	 ? attach_gone(target->pid) :
					   ATTACH_AGAIN;
}

/* In a file of its own nothing else would say why samples are missing. */
static void note_samples(const struct attach *target, struct pmc_frame_buf *buf)
{
	const struct pmc_note_fixed note = { .code = NOTE_NO_SAMPLES, .level = 1, .count = 1 };

	if (target->control.sampling)
		pmc_build_note(buf, target->control.identity, target->control.snapshot, &note,
			       "samples are in the snapshots that the process takes itself "
			       "(PMC_DUMP, PMC_INTERVAL, its end), not in those of pmctl dump");
}

/* Appends regions and rows of one look, then the frames of the process. A row is read after its
 * thread's regions: what they counted is part of the row. */
int attach_collect(struct attach *target, struct attach_regions *regions, struct pmc_frame_buf *buf,
		   bool own_file)
{
	bool room = true;
	int code = attach_look(target);

	if (code)
		return code;
	attach_regions_init(regions);
	buf->len = 0;
	do {
		room = reserve(buf, ATTACH_FRAME_BYTES);
	} while (room && attach_regions_next(target, regions, buf));
	for (uint32_t i = 0; room && i < target->n_slots; i++) {
		room = reserve(buf, ATTACH_FRAME_BYTES);
		if (room)
			attach_row(target, buf, registry_slot(&target->registry, i), own_file);
	}
	/* No slots: PMC_ONLY or PMC_SKIP excludes the program, and it gets no rows. */
	for (size_t i = 0; room && target->registry.high && i < target->tasks.n; i++) {
		room = reserve(buf, ATTACH_FRAME_BYTES);
		if (room)
			attach_adopted(target, &target->tasks.list[i], buf);
	}
	code = finish(target, buf, room);
	if (!code && own_file)
		note_samples(target, buf);
	return code;
}

int attach_collect_thread(struct attach *target, uint32_t slot, struct pmc_frame_buf *buf)
{
	struct attach_regions regions;
	bool room = true;

	attach_regions_init(&regions);
	attach_regions_only(&regions, slot);
	buf->len = 0;
	do {
		room = reserve(buf, ATTACH_FRAME_BYTES);
	} while (room && attach_regions_next(target, &regions, buf));
	room = room && reserve(buf, ATTACH_FRAME_BYTES);
	if (room)
		attach_row(target, buf, registry_slot(&target->registry, slot), true);
	return finish(target, buf, room);
}
