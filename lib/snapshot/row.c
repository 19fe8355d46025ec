/* SPDX-License-Identifier: MIT */
/* row.c - what rows and processes have beside their groups; see snapshot.h. Async-signal-safe. */
#include "lib/base/number.h"
#include "lib/dump/build.h"
#include "lib/snapshot/snapshot.h"

#include <string.h>

static uint32_t created_stack(const struct reader *reader, const struct slot *slot)
{
	const struct sample_tables *tables = snapshot_tables(reader);
	const struct sample_thread *thread =
		tables && tables->creation ? snapshot_sample_thread(reader, slot) : NULL;

	return thread ? thread->created_stack : 0;
}

/* Not inlined: the struct would stay on the signal stack. */
__attribute__((noinline)) struct pmc_thread_fixed *
snapshot_begin_row(const struct reader *reader, struct pmc_frame_buf *buf, const struct slot *slot,
		   enum pmc_thread_state state, bool phases)
{
	const struct pmc_control *control = reader->control;
	struct pmc_thread_fixed *row, start = {
		.seq = slot->seq,
		.tid = slot->tid,
		.state = (uint8_t)state,
		.flags = (uint8_t)(slot->flags | os_flags(control->os)),
		.n_groups = (uint16_t)reader->registry->n_groups,
		.start_ns = slot->start_ns,
		.created_by = slot->created_by,
		.eventset = snapshot_eventset(control, slot),
		.start_site = slot->start_site,
		.reason = slot->reason,
		.created_stack = created_stack(reader, slot),
		.off_ns = phases,
	};

	memcpy(start.name, slot->name, sizeof(start.name));
	row = pmc_begin_thread(buf, control->identity, reader->snapshot, &start);
	if (!row)
		pmc_frame_end(buf);
	return row;
}

void snapshot_account_open(const struct reader *reader, const struct slot *slot, bool stopped,
			   struct account_side *side)
{
	static const uint64_t none[ACCOUNT_WORDS];
	const struct pmc_control *control = reader->control;
	const bool main = slot->flags & PMC_THREAD_MAIN;

	account_open(side, slot->seq + 1, main ? control->carried_thread : none, stopped);
	side->base[ACCOUNT_WALL] = side->at[ACCOUNT_WALL] = slot->start_ns;
	/* The clock of an adopted thread was not read when counting was switched. */
	if (slot->flags & PMC_THREAD_ADOPTED && atomic_load(&control->switched))
		side->unknown = ~0u;
}

void snapshot_account(const struct reader *reader, const struct slot *slot,
		      struct account_side *side)
{
	const struct account *account = NULL;

	if (atomic_load_explicit(&reader->control->switched, memory_order_acquire))
		account = reader_at(reader, COPY_ACCOUNT,
				    (uintptr_t)reader->registry->accounts +
					    reader_index(reader, slot) * sizeof(*account),
				    sizeof(*account));
	if (!account || !account_read(account, slot->seq + 1, side))
		snapshot_account_open(reader, slot, false, side);
}

/* Not inlined: what this and the reading of the words have on the signal stack would be there at
 * the same time. */
__attribute__((noinline)) void snapshot_put_words(const struct reader *reader,
						  const struct slot *slot,
						  struct account_words *now,
						  struct pmc_thread_fixed *row, bool phases)
{
	struct account_side side;

	/* Counting was always on: only what the main thread brought from before is subtracted. */
	if (!phases && !(slot->flags & PMC_THREAD_MAIN)) {
		account_put_row(now, row);
		return;
	}
	snapshot_account(reader, slot, &side);
	account_row(&side, now, row, phases);
}

void snapshot_process(const struct reader *reader, struct account_words *now,
		      struct account_side *room, struct pmc_process_fixed *fixed)
{
	const struct pmc_control *control = reader->control;

	fixed->time_ns = now->of[ACCOUNT_WALL];
	account_read(&control->account, 1, room);
	account_process(room, now, control->carried_process, fixed);
	fixed->threads_seen = atomic_load(&control->seen);
	fixed->threads_counted = pmc_sub_sat(fixed->threads_seen, atomic_load(&control->uncounted));
}
