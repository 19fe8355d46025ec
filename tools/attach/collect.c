/* SPDX-License-Identifier: MIT */
/* collect.c - the frames of a snapshot from outside, of all threads or of one. */
#include "tools/attach/attach.h"
#include "tools/cli/list.h"

#include <unistd.h>

/* For a region that changes: tries at once, then some with a nap, for a thread preempted in a
 * change. */
#define QUICK	 100u
#define PATIENCE 600u
#define NAP_US	 50u
/* Of frames; no program marks or samples so much. */
#define MOST_BYTES ((size_t)256 << 20)

static void reserve(struct pmc_frame_buf *buf, size_t bytes)
{
	size_t cap = buf->cap ? buf->cap : 64 << 10;

	if (buf->cap - buf->len >= bytes)
		return;
	while (cap - buf->len < bytes)
		cap *= 2;
	buf->data = tool_realloc(buf->data, cap);
	buf->cap = cap;
}

/* Whether the frames are of one process image that is still there. */
static int finish(const struct attach *target)
{
	return attach_same_image(target) ? 0 :
	       attach_has_ended(target)	 ? attach_gone(target->pid) :
					   ATTACH_AGAIN;
}

static int put_process(struct attach *target, struct pmc_frame_buf *buf)
{
	reserve(buf, 512 << 10);
	attach_process_frames(target, buf);
	return finish(target);
}

static bool try_again(struct attach_missing *missing, unsigned try)
{
	if (!missing->tries || try >= PATIENCE)
		return false;
	missing->tries--;
	if (try >= QUICK)
		usleep(NAP_US);
	return true;
}

/* Leaves the rest out if the thread changes its records all the time. */
void attach_put_regions(struct attach *target, struct slot *slot, struct attach_missing *missing,
			struct pmc_frame_buf *buf)
{
	enum snapshot_result result = SNAPSHOT_PUT;
	unsigned try = 0;

	for (uint32_t i = 0; result == SNAPSHOT_PUT;) {
		reserve(buf, REGION_FRAME_BYTES);
		result = buf->len > MOST_BYTES ? SNAPSHOT_DAMAGED :
						 snapshot_region(&target->reader, buf, slot, i);
		if (result == SNAPSHOT_CHANGING && try_again(missing, try++))
			result = SNAPSHOT_PUT;
		else
			i++, try = 0;
	}
	missing->changing += result == SNAPSHOT_CHANGING;
	missing->regions |= result == SNAPSHOT_DAMAGED;
}

/* Samples are those of the slot's thread if that is still alive after they were copied. */
void attach_put_samples(struct attach *target, struct slot *slot, struct attach_missing *missing,
			struct pmc_frame_buf *buf)
{
	const size_t before = buf->len;
	enum snapshot_result result = SNAPSHOT_PUT;

	for (uint32_t part = 0; result == SNAPSHOT_PUT; part++) {
		reserve(buf, SAMPLE_FRAME_BYTES);
		result = buf->len > MOST_BYTES ? SNAPSHOT_DAMAGED :
						 snapshot_samples(&target->reader, buf, slot, part);
	}
	if (!attach_is_alive(target, slot))
		buf->len = before;
	else
		missing->samples |= result == SNAPSHOT_DAMAGED;
}

/* A row is read after its thread's regions: what they counted is part of the row. */
static void put_row(struct attach *target, struct slot *slot, struct attach_missing *missing,
		    struct pmc_frame_buf *buf, bool own_file)
{
	attach_put_regions(target, slot, missing, buf);
	reserve(buf, ATTACH_FRAME_BYTES);
	attach_row(target, buf, slot, own_file);
}

int attach_collect(struct attach *target, struct attach_missing *missing, struct pmc_frame_buf *buf,
		   bool own_file)
{
	int code = attach_look(target);

	if (code)
		return code;
	buf->len = 0;
	*missing = (struct attach_missing){ .tries = ATTACH_TRIES };
	for (uint32_t i = 0; i < target->n_slots; i++) {
		struct slot *slot = registry_slot(&target->registry, i);

		put_row(target, slot, missing, buf, own_file);
		attach_put_samples(target, slot, missing, buf);
	}
	return put_process(target, buf);
}

int attach_collect_stacks(struct attach *target, struct snapshot_written *written,
			  struct attach_missing *missing, struct pmc_frame_buf *buf)
{
	enum snapshot_result result = SNAPSHOT_PUT;

	missing->samples |= target->control.samples && !snapshot_tables(&target->reader);
	while (result != SNAPSHOT_END) {
		reserve(buf, SAMPLE_FRAME_BYTES);
		result = snapshot_stacks(&target->reader, buf, written);
		missing->samples |= result == SNAPSHOT_DAMAGED || buf->len > MOST_BYTES;
		if (buf->len > MOST_BYTES)
			break;
	}
	return finish(target);
}

int attach_collect_thread(struct attach *target, uint32_t index, struct pmc_frame_buf *buf)
{
	struct attach_missing missing = { .tries = ATTACH_FEW_TRIES };

	buf->len = 0;
	put_row(target, registry_slot(&target->registry, index), &missing, buf, true);
	return put_process(target, buf);
}
