/* SPDX-License-Identifier: MIT */
/*
 * sample.c - samples of a thread as SAMPLES frames; see snapshot.h. Async-signal-safe.
 *
 * Samples are only added to, unless there is a reset, so each part is what the thread had sampled
 * at some moment.
 */
#include "lib/base/clock.h"
#include "lib/base/number.h"
#include "lib/dump/build.h"
#include "lib/snapshot/snapshot.h"

#include <errno.h>
#include <string.h>

/* Only a pmctl ctl reset all the time could come during every copy. */
#define TRIES 20u

const struct sample_tables *snapshot_tables(const struct reader *reader)
{
	const struct sample_tables *tables;

	if (!reader->control->samples)
		return NULL;
	tables = reader_at(reader, COPY_TABLES, reader->control->samples, sizeof(*tables));
	if (!tables || !tables->area)
		return NULL;
	for (unsigned part = 0; part < AREA_PARTS; part++)
		if (tables->at[part] > tables->at[part + 1])
			return NULL;
	return tables;
}

static const struct sample_thread *
thread_of(const struct reader *reader, const struct sample_tables *tables, const struct slot *slot)
{
	const uint32_t index = reader_index(reader, slot);

	if (!tables || index >= sample_room(tables, AREA_THREADS, sizeof(struct sample_thread)))
		return NULL;
	return reader_at(reader, COPY_THREAD,
			 (uintptr_t)tables->area + tables->at[AREA_THREADS] +
				 index * sizeof(struct sample_thread),
			 sizeof(struct sample_thread));
}

const struct sample_thread *snapshot_sample_thread(const struct reader *reader,
						   const struct slot *slot)
{
	return thread_of(reader, snapshot_tables(reader), slot);
}

uint64_t snapshot_sampled(const struct reader *reader, const struct sample_thread *thread,
			  struct pmc_reading *reading)
{
	uint64_t words[PMC_PERF_GROUP_WORDS(1)] = { 0 };
	const int fd = atomic_load(&thread->fd); /* plus 1 */

	*reading = (struct pmc_reading){ .n = 1,
					 .enabled_ns = thread->enabled_ns,
					 .running_ns = thread->running_ns };
	if (fd <= 0)
		return thread->value;
	reader_group(reader, fd - 1, thread->id, 1, reading, words);
	return pmc_sub_sat(words[0], thread->off);
}

static void put_reading(const struct reader *reader, struct pmc_frame_buf *buf,
			const struct sample_thread *thread, const uint64_t sampled[3])
{
	struct pmc_reading reading;
	uint64_t value = snapshot_sampled(reader, thread, &reading);

	reading.enabled_ns = set_less(reading.enabled_ns, sampled[0]);
	reading.running_ns = set_less(reading.running_ns, sampled[1]);
	value = set_less(value, sampled[2]);
	pmc_put_reading(buf, &reading, &value);
}

/* Not inlined: the account is not on the signal stack while groups are read. */
__attribute__((noinline)) uint64_t snapshot_reset(const struct reader *reader,
						  const struct slot *slot, uint64_t sampled[3])
{
	struct account_side side;

	snapshot_account(reader, slot, &side);
	memcpy(sampled, side.sampled, sizeof(side.sampled));
	return side.reset_ns;
}

/* A part of the samples up to pmc_frame_end, as of a reset. */
static enum snapshot_result put_part(const struct reader *reader, struct pmc_frame_buf *buf,
				     const struct slot *slot, uint32_t part, uint64_t reset_ns,
				     const uint64_t sampled[3])
{
	const struct sample_tables *tables = snapshot_tables(reader);
	const struct sample_thread *thread = thread_of(reader, tables, slot);
	const uint32_t from = part * PMC_SAMPLES_PART;
	const struct sample_counts *counts = NULL;
	const struct pmc_sample *list = NULL;
	struct pmc_samples_fixed *fixed;
	uint32_t all = 0, had, left;
	uint64_t at;
	bool cleared;

	if (!tables || !tables->like.eventset)
		return SNAPSHOT_END;
	if (!thread)
		return SNAPSHOT_DAMAGED;
	if (!part && !atomic_load(&thread->fd) && !thread->enabled_ns)
		return SNAPSHOT_END;
	cleared = atomic_load_explicit(&thread->reset_ns, memory_order_acquire) != reset_ns;
	had = atomic_load(&thread->had);
	at = (uintptr_t)atomic_load_explicit(&thread->counts, memory_order_acquire);
	if (at) {
		counts = reader_at(reader, COPY_COUNTS, at, sizeof(*counts));
		if (!counts || counts->capacity > SAMPLE_COUNTS_MOST)
			return SNAPSHOT_DAMAGED;
		all = atomic_load_explicit(&counts->n, memory_order_acquire);
		if (all > counts->capacity)
			return SNAPSHOT_DAMAGED;
	}
	if (had > SAMPLE_COUNTS_MOST)
		return SNAPSHOT_DAMAGED;
	if (part && from >= all && from >= had)
		return SNAPSHOT_END;
	left = cleared || from > all ? 0 : all - from;
	left = left < PMC_SAMPLES_PART ? left : PMC_SAMPLES_PART;
	if (left)
		list = reader_at(reader, COPY_LIST,
				 at + offsetof(struct sample_counts, list) + from * sizeof(*list),
				 left * sizeof(*list));
	if (left && !list)
		return SNAPSHOT_DAMAGED;
	fixed = pmc_frame_begin(buf, PMC_FRAME_SAMPLES, reader->control->identity, reader->snapshot,
				&tables->like, sizeof(tables->like));
	if (!fixed)
		return SNAPSHOT_END;
	fixed->seq = slot->seq;
	fixed->time_ns = pmc_now_ns();
	fixed->part = part;
	fixed->n = left;
	fixed->n_groups = !part;
	if (!part && !cleared) {
		fixed->samples = atomic_load(&thread->samples);
		fixed->lost = atomic_load(&thread->lost);
		fixed->truncated = atomic_load(&thread->truncated);
	}
	if (!part)
		put_reading(reader, buf, thread, sampled);
	if (left)
		pmc_frame_bytes(buf, list, left * sizeof(*list));
	return SNAPSHOT_PUT;
}

/* Not inlined: programs without sampling do not pay for its stack frame on a signal stack. */
__attribute__((noinline)) enum snapshot_result snapshot_samples(const struct reader *reader,
								struct pmc_frame_buf *buf,
								const struct slot *slot,
								uint32_t part)
{
	uint64_t sampled[3], reset_ns = snapshot_reset(reader, slot, sampled), again;

	for (unsigned try = 0; try < TRIES; try++, reset_ns = again) {
		enum snapshot_result result = put_part(reader, buf, slot, part, reset_ns, sampled);

		if (result != SNAPSHOT_PUT)
			return result;
		atomic_thread_fence(memory_order_acquire);
		again = snapshot_reset(reader, slot, sampled);
		if (again == reset_ns) {
			pmc_frame_end(buf);
			return SNAPSHOT_PUT;
		}
		/* The thread may have removed them while they were copied. */
		pmc_frame_drop(buf);
	}
	return SNAPSHOT_CHANGING;
}
