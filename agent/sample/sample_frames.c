/* SPDX-License-Identifier: MIT */
/* sample_frames.c - MODULE, STACKS and SAMPLES frames of this process image. */
#include "agent/sample/private.h"

#include "agent/base/poison.h"

/* The contents of the dump so far; one thread at a time appends. */
static struct {
	_Atomic bool busy;
	bool eventset;
	struct snapshot_written tables;
	uint32_t lost; /* agent_file_lost() then */
} written = { .tables = { .stacks = 1 } };

void sample_frames_forked(void)
{
	atomic_store(&written.busy, false);
	written.eventset = false;
	written.tables = (struct snapshot_written){ .stacks = 1 };
	written.lost = agent_file_lost();
}

bool agent_sample_next(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot,
		       uint32_t *part)
{
	const struct reader reader = agent_reader(snapshot);

	return sample_event.on && snapshot_samples(&reader, buf, slot, (*part)++) == SNAPSHOT_PUT;
}

__attribute__((noinline)) static bool tables_next(struct pmc_frame_buf *buf, uint64_t snapshot)
{
	const struct reader reader = agent_reader(snapshot);
	bool any = true;

	if (atomic_exchange(&written.busy, true))
		return false;
	if (written.lost != agent_file_lost())
		sample_frames_forked(), atomic_store(&written.busy, true);
	if (!written.eventset && sample_tables.like.eventset) {
		memcpy(buf->data + buf->len, (const void *)(uintptr_t)sample_tables.eventset_frame,
		       sample_tables.eventset_bytes);
		buf->len += sample_tables.eventset_bytes;
		written.eventset = true;
	} else {
		any = snapshot_stacks(&reader, buf, &written.tables) != SNAPSHOT_END;
	}
	atomic_store(&written.busy, false);
	return any;
}

bool agent_sample_tables_next(struct pmc_frame_buf *buf, uint64_t snapshot)
{
	return agent_sample_wanted() && sample_ready() && tables_next(buf, snapshot);
}

void agent_sample_write(struct slot *slot, uint64_t snapshot)
{
	struct sample_thread *thread = sample_event.on ? sample_of(slot) : NULL;
	struct pmc_frame_buf buf;
	uint32_t part = 0, lost;

	if (!thread || (!thread->enabled_ns && !atomic_load(&thread->counts)))
		return;
	if (!agent_buf_open(&buf, (size_t)64 << 10))
		return;
	while (agent_sample_next(&buf, slot, snapshot, &part))
		agent_buf_room(&buf, SAMPLE_FRAME_BYTES);
	agent_buf_room(&buf, SAMPLE_FRAME_BYTES);
	/* After a lost write they begin anew: that is for the next thread or snapshot. */
	lost = agent_file_lost();
	while (agent_file_lost() == lost && agent_sample_tables_next(&buf, snapshot))
		agent_buf_room(&buf, SAMPLE_FRAME_BYTES);
	agent_buf_close(&buf);
}
