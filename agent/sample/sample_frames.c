/* SPDX-License-Identifier: MIT */
/* sample_frames.c - MODULE, STACKS and SAMPLES frames of this process image. */
#include "agent/base/agent.h"
#include "lib/base/clock.h"
#include "lib/count/group.h"
#include "lib/dump/build.h"
#include "agent/output/file.h"
#include "agent/sample/private.h"

#include <string.h>
#include <sys/mman.h>

#include "agent/base/poison.h"

/* What is in the dump so far; one thread at a time appends. */
static struct {
	_Atomic bool busy;
	bool eventset;
	uint32_t modules, stacks; /* the next */
	uint32_t lost;		  /* agent_file_lost() then */
} written = { .stacks = 1 };

void sample_frames_forked(void)
{
	atomic_store(&written.busy, false);
	written.eventset = false;
	written.modules = 0;
	written.stacks = 1;
	written.lost = agent_file_lost();
}

static void put_reading(struct pmc_frame_buf *buf, const struct sample_thread *thread,
			const uint64_t sampled[3])
{
	struct pmc_reading reading = { .n = 1,
				       .enabled_ns = thread->enabled_ns,
				       .running_ns = thread->running_ns };
	uint64_t words[PMC_PERF_GROUP_WORDS(1)] = { thread->value };
	int fd = atomic_load(&thread->fd) - 1;

	if (fd >= 0) {
		reading = (struct pmc_reading){ 0 };
		pmc_perf_group_read(fd, thread->id, 1, &reading, words);
		words[0] -= thread->off;
	}
	reading.enabled_ns = set_less(reading.enabled_ns, sampled[0]);
	reading.running_ns = set_less(reading.running_ns, sampled[1]);
	words[0] = set_less(words[0], sampled[2]);
	pmc_put_reading(buf, &reading, words);
}

/* A part of the samples up to pmc_frame_end, as of a reset; false: there is none. */
static bool put_part(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot, uint32_t part,
		     uint64_t reset_ns, const uint64_t sampled[3])
{
	const struct sample_thread *thread = sample_of(slot);
	const bool cleared =
		atomic_load_explicit(&thread->reset_ns, memory_order_acquire) != reset_ns;
	const struct sample_counts *counts =
		atomic_load_explicit(&thread->counts, memory_order_acquire);
	const uint32_t all = counts ? atomic_load_explicit(&counts->n, memory_order_acquire) : 0;
	const uint32_t from = part * PMC_SAMPLES_PART;
	const uint32_t left = cleared || from > all ? 0 : all - from;
	struct pmc_samples_fixed *fixed;

	if (part && from >= all && from >= atomic_load(&thread->had))
		return false;
	fixed = pmc_begin_samples(buf, agent.identity, snapshot, &sample_tables.like);
	if (!fixed)
		return false;
	fixed->seq = slot->seq;
	fixed->time_ns = pmc_now_ns();
	fixed->part = part;
	fixed->n = left < PMC_SAMPLES_PART ? left : PMC_SAMPLES_PART;
	fixed->n_groups = !part;
	if (!part && !cleared) {
		fixed->samples = atomic_load(&thread->samples);
		fixed->lost = atomic_load(&thread->lost);
		fixed->truncated = atomic_load(&thread->truncated);
	}
	if (!part)
		put_reading(buf, thread, sampled);
	if (fixed->n)
		pmc_frame_bytes(buf, counts->list + from, fixed->n * sizeof(counts->list[0]));
	return true;
}

/* Not inlined: programs without sampling do not pay for its stack frame on a signal stack. */
__attribute__((noinline)) static bool next(struct pmc_frame_buf *buf, struct slot *slot,
					   uint64_t snapshot, uint32_t *part)
{
	struct sample_thread *thread = sample_of(slot);
	uint64_t sampled[3], reset_ns, again;

	if (!thread || !sample_tables.like.eventset ||
	    (!*part && !atomic_load(&thread->fd) && !thread->enabled_ns))
		return false;
	reset_ns = sample_reset(slot, sampled);
	while (put_part(buf, slot, snapshot, *part, reset_ns, sampled)) {
		atomic_thread_fence(memory_order_acquire);
		again = sample_reset(slot, sampled);
		if (again == reset_ns) {
			pmc_frame_end(buf);
			++*part;
			return true;
		}
		/* The thread may have removed them while they were copied. */
		pmc_frame_drop(buf);
		reset_ns = again;
	}
	return false;
}

bool agent_sample_next(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot,
		       uint32_t *part)
{
	return sample_event.on && next(buf, slot, snapshot, part);
}

static void put(struct pmc_frame_buf *buf, const void *frame, size_t bytes)
{
	memcpy(buf->data + buf->len, frame, bytes);
	buf->len += bytes;
}

static bool put_module(struct pmc_frame_buf *buf)
{
	size_t bytes;
	const void *frame = sample_module_frame(written.modules, &bytes);

	if (!frame)
		return false;
	put(buf, frame, bytes);
	written.modules++;
	return true;
}

/* As many stacks as fit. */
static bool put_stacks(struct pmc_frame_buf *buf, uint64_t snapshot, size_t most)
{
	struct pmc_stacks_fixed fixed = { 0 };
	const uint32_t end = sample_stacks();
	struct pmc_stacks_fixed *in_frame;
	uint64_t *hashes;
	struct pmc_stack_def def;
	const uint64_t *words;

	if (written.stacks >= end)
		return false;
	/* After the number of stacks: all their modules are known by now. */
	fixed.n_modules = sample_modules();
	in_frame = pmc_begin_stacks(buf, agent.identity, snapshot, &fixed);
	hashes = pmc_frame_room(buf, fixed.n_modules * sizeof(*hashes));
	if (!in_frame || !hashes) {
		pmc_frame_drop(buf);
		return false;
	}
	for (unsigned i = 0; i < fixed.n_modules; i++)
		hashes[i] = sample_module_hash(i);
	while (written.stacks < end && buf->len - buf->start + 8 + 8 * PMC_STACK_DEPTH_MAX < most) {
		words = sample_stack(written.stacks, &def);
		/* A thread is still writing it: the next time. */
		if (!words && written.stacks + 64 >= end)
			break;
		written.stacks++;
		if (!words)
			continue;
		pmc_put_stack(buf, &def, words);
		in_frame->n_stacks++;
	}
	if (!in_frame->n_stacks) {
		pmc_frame_drop(buf);
		return false;
	}
	pmc_frame_end(buf);
	return true;
}

__attribute__((noinline)) static bool tables_next(struct pmc_frame_buf *buf, uint64_t snapshot)
{
	bool any = false;

	if (atomic_exchange(&written.busy, true))
		return false;
	if (written.lost != agent_file_lost())
		sample_frames_forked(), atomic_store(&written.busy, true);
	if (!written.eventset && sample_tables.like.eventset) {
		put(buf, (const void *)(uintptr_t)sample_tables.eventset_frame,
		    sample_tables.eventset_bytes);
		written.eventset = any = true;
	} else if (put_module(buf)) {
		any = true;
	} else {
		any = put_stacks(buf, snapshot, SAMPLE_FRAME_BYTES);
	}
	atomic_store(&written.busy, false);
	return any;
}

bool agent_sample_tables_next(struct pmc_frame_buf *buf, uint64_t snapshot)
{
	return agent_sample_wanted() && sample_ready() && tables_next(buf, snapshot);
}

#define ROOM ((size_t)64 << 10)

static void make_room(struct pmc_frame_buf *buf)
{
	if (buf->cap - buf->len >= SAMPLE_FRAME_BYTES)
		return;
	agent_file_append(buf->data, buf->len);
	buf->len = 0;
}

void agent_sample_write(struct slot *slot, uint64_t snapshot)
{
	struct sample_thread *thread = sample_event.on ? sample_of(slot) : NULL;
	struct pmc_frame_buf buf;
	uint32_t part = 0, lost;
	void *map;

	if (!thread || (!thread->enabled_ns && !atomic_load(&thread->counts)))
		return;
	map = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return;
	pmc_frame_buf_init(&buf, map, ROOM);
	agent_file_begin();
	while (agent_sample_next(&buf, slot, snapshot, &part))
		make_room(&buf);
	make_room(&buf);
	/* After a lost write they begin anew: that is for the next thread or snapshot. */
	lost = agent_file_lost();
	while (agent_file_lost() == lost && agent_sample_tables_next(&buf, snapshot))
		make_room(&buf);
	agent_file_append(buf.data, buf.len);
	munmap(map, ROOM);
}
