/* SPDX-License-Identifier: MIT */
/*
 * sample.c - copies the samples of threads of another process.
 *
 * A thread's samples are those of its slot's thread if that is still alive after they were copied.
 * Until then they are only added to, unless there is a reset: a copy is what the thread had sampled
 * at some moment.
 */
#include "tools/attach/sample.h"
#include "lib/base/clock.h"
#include "lib/base/number.h"
#include "lib/count/group.h"
#include "lib/dump/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of frames; no program samples so much. */
#define MOST_BYTES ((size_t)256 << 20)
/* Only a pmctl ctl reset all the time could come during every copy. */
#define TRIES 20u

void attach_sample_tables(struct attach *target)
{
	struct sample_tables *tables = &target->samples;

	if (!target->control.samples ||
	    attach_read(target, target->control.samples, tables, sizeof(*tables)) != 0) {
		tables->area = NULL;
		return;
	}
	for (unsigned part = 0; part < AREA_PARTS; part++)
		if (tables->at[part] > tables->at[part + 1])
			tables->area = NULL;
}

/* Whether the thread of a copied slot has not ended. */
static bool is_alive(const struct attach *target, const struct slot *slot)
{
	const uint32_t index = target->index[registry_index(&target->registry, slot)];
	struct slot now;

	return attach_read(target, target->slots_address + index * target->registry.slot_bytes,
			   &now, sizeof(now)) == 0 &&
	       (now.word & ~0xffffu) == SLOT_LIVE && now.seq == slot->seq;
}

static int read_thread(const struct attach *target, const struct slot *slot,
		       struct sample_thread *thread)
{
	const struct sample_tables *tables = &target->samples;
	const uint32_t index = target->index[registry_index(&target->registry, slot)];

	if (index >= sample_room(tables, AREA_THREADS, sizeof(*thread)))
		return -EFAULT;
	return attach_read(target,
			   (uintptr_t)tables->area + tables->at[AREA_THREADS] +
				   index * sizeof(*thread),
			   thread, sizeof(*thread));
}

uint32_t attach_created_stack(const struct attach *target, const struct slot *slot)
{
	struct sample_thread thread;

	return target->samples.area && target->samples.creation &&
			       read_thread(target, slot, &thread) == 0 && is_alive(target, slot) ?
		       thread.created_stack :
		       0;
}

/* As of the agent, see agent/sample/sample_frames.c. */
static void read_event(const struct attach *target, const struct sample_thread *thread,
		       struct pmc_reading *reading, uint64_t *value)
{
	uint64_t words[PMC_PERF_GROUP_WORDS(1)] = { thread->value };
	int fd;

	*reading = (struct pmc_reading){ .enabled_ns = thread->enabled_ns,
					 .running_ns = thread->running_ns,
					 .n = 1 };
	*value = thread->value;
	if (thread->fd <= 0)
		return;
	*reading = (struct pmc_reading){ .n = 0 };
	fd = attach_group_dup(target, thread->fd - 1, thread->id, &reading->error);
	if (fd < 0)
		return;
	pmc_perf_group_read(fd, thread->id, 1, reading, words);
	close(fd);
	*value = pmc_sub_sat(words[0], thread->off);
}

bool attach_sampling(const struct attach *target)
{
	return target->samples.area && target->samples.like.eventset;
}

void attach_sampled(const struct attach *target, const struct slot *slot, uint64_t sampled[3])
{
	struct sample_thread thread;
	struct pmc_reading reading;
	uint64_t value;

	if (!attach_sampling(target) || read_thread(target, slot, &thread) != 0)
		return;
	read_event(target, &thread, &reading, &value);
	if (!reading.n)
		return;
	/* 1 ns remains, as of groups: the event has counted 0. */
	sampled[0] = reading.enabled_ns - (reading.enabled_ns > 0);
	sampled[1] = reading.running_ns - (reading.running_ns > 0);
	sampled[2] = value;
}

enum copied { COPIED, NO_SAMPLES, DAMAGED, NO_MEMORY };

static enum copied copy_list(const struct attach *target, struct attach_samples *samples)
{
	const uint64_t at = (uintptr_t)samples->thread.counts;
	struct sample_counts counts;

	samples->n = 0;
	samples->all = samples->thread.had;
	if (samples->all > SAMPLE_COUNTS_MOST)
		return DAMAGED;
	if (!at)
		return COPIED;
	if (attach_read(target, at, &counts, sizeof(counts)) != 0 ||
	    counts.capacity > SAMPLE_COUNTS_MOST || counts.n > counts.capacity)
		return DAMAGED;
	if (samples->all < counts.n)
		samples->all = counts.n;
	if (counts.n > samples->room) {
		void *list = realloc(samples->list, counts.n * sizeof(*samples->list));

		if (!list)
			return NO_MEMORY;
		samples->list = list;
		samples->room = counts.n;
	}
	samples->n = counts.n;
	return attach_read(target, at + offsetof(struct sample_counts, list), samples->list,
			   counts.n * sizeof(*samples->list)) == 0 ?
		       COPIED :
		       DAMAGED;
}

static enum copied copy_once(const struct attach *target, const struct slot *slot,
			     const struct account_side *side, struct attach_samples *samples)
{
	struct sample_thread *thread = &samples->thread;
	struct pmc_reading *reading = &samples->reading;
	enum copied copied;

	samples->time_ns = pmc_now_ns();
	if (read_thread(target, slot, thread) != 0)
		return DAMAGED;
	if (!thread->fd && !thread->enabled_ns)
		return NO_SAMPLES;
	copied = copy_list(target, samples);
	if (copied != COPIED)
		return copied;
	if (thread->reset_ns != side->reset_ns)
		samples->n = 0, thread->lost = thread->truncated = 0;
	read_event(target, thread, reading, &samples->value);
	reading->enabled_ns = set_less(reading->enabled_ns, side->sampled[0]);
	reading->running_ns = set_less(reading->running_ns, side->sampled[1]);
	samples->value = set_less(samples->value, side->sampled[2]);
	return COPIED;
}

static enum copied copy(const struct attach *target, const struct slot *slot,
			struct attach_samples *samples)
{
	struct account_side side, after;
	enum copied copied;

	snapshot_account(&target->reader, slot, &after);
	for (unsigned try = 0; try < TRIES; try++) {
		side = after;
		copied = copy_once(target, slot, &side, samples);
		snapshot_account(&target->reader, slot, &after);
		if (after.reset_ns == side.reset_ns)
			break;
	}
	return copied == NO_MEMORY || is_alive(target, slot) ? copied : NO_SAMPLES;
}

/* The next thread that samples. */
static bool next_slot(const struct attach *target, struct attach_samples *samples)
{
	while (samples->next_slot < target->n_slots) {
		const struct slot *slot = registry_slot(&target->registry, samples->next_slot++);
		enum copied copied = copy(target, slot, samples);

		samples->damaged |= copied == DAMAGED;
		samples->no_memory = copied == NO_MEMORY;
		if (copied == COPIED) {
			samples->slot = slot;
			samples->part = 0;
			return true;
		}
		if (copied == NO_MEMORY)
			return false;
	}
	return false;
}

static uint64_t taken(const struct attach_samples *samples)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < samples->n; i++)
		sum += samples->list[i].count;
	return sum;
}

static void put_part(const struct attach *target, struct attach_samples *samples,
		     struct pmc_frame_buf *buf)
{
	const struct pmc_samples_fixed *like = &target->samples.like;
	const uint32_t from = samples->part * PMC_SAMPLES_PART;
	const uint32_t left = from < samples->n ? samples->n - from : 0;
	const bool first = !samples->part;
	const struct pmc_samples_fixed fixed = {
		.seq = samples->slot->seq,
		.time_ns = samples->time_ns,
		.eventset = like->eventset,
		.part = samples->part,
		.n = left < PMC_SAMPLES_PART ? left : PMC_SAMPLES_PART,
		.period = like->period,
		.frequency = like->frequency,
		.samples = first ? taken(samples) : 0,
		.lost = first ? samples->thread.lost : 0,
		.truncated = first ? samples->thread.truncated : 0,
		.n_groups = first,
	};

	pmc_begin_samples(buf, target->control.identity, target->control.snapshot, &fixed);
	if (first)
		pmc_put_reading(buf, &samples->reading, &samples->value);
	if (fixed.n)
		pmc_frame_bytes(buf, samples->list + from, fixed.n * sizeof(*samples->list));
	pmc_frame_end(buf);
	samples->bytes += SAMPLE_FRAME_BYTES;
	samples->part++;
	if (samples->all - from <= PMC_SAMPLES_PART)
		samples->slot = NULL;
}

bool attach_samples_next(const struct attach *target, struct attach_samples *samples,
			 struct pmc_frame_buf *buf)
{
	samples->damaged |= target->control.samples && !target->samples.area;
	if (!attach_sampling(target))
		return false;
	if (samples->bytes > MOST_BYTES) {
		samples->damaged = true;
		return false;
	}
	if (!samples->slot)
		return next_slot(target, samples);
	put_part(target, samples, buf);
	return true;
}

void attach_samples_free(struct attach_samples *samples)
{
	free(samples->list);
	samples->list = NULL;
	samples->room = 0;
}
