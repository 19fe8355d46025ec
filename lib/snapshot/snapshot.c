/* SPDX-License-Identifier: MIT */
/* snapshot.c - rows, totals and regions as frames; see snapshot.h. Async-signal-safe. */
#include "lib/snapshot/snapshot.h"
#include "lib/base/number.h"

#include <errno.h>
#include <string.h>

/* ---- readings of groups, in rows and totals ------------------------------------------------ */

static uint32_t put_group(const struct reader *reader, struct pmc_frame_buf *buf,
			  const struct snapshot_groups *groups, unsigned g, uint32_t reason,
			  struct snapshot_seen *seen)
{
	unsigned first = groups->first[g], n = groups->first[g + 1] - first;
	/* Aligned to a cache line: the kernel's copy to an unaligned address costs 0.1 us more. */
	uint64_t *words = (uint64_t *)(((uintptr_t)buf->data + buf->cap -
					PMC_PERF_GROUP_WORDS(n) * sizeof(*words)) &
				       ~(uintptr_t)(SNAPSHOT_LINE - 1));
	const uint64_t *base_times = groups->base + 2 * g;
	const uint64_t *base = groups->base + 2 * groups->groups + first;
	struct pmc_reading reading = { .error = reason ? reason : EBADF };
	uint64_t *values;

	if (groups->fds[first] >= 0)
		reader_group(reader, groups->fds[first], groups->ids[g], n, &reading, words);
	if (reading.n) {
		seen->enabled_ns = reading.enabled_ns;
		if (!reading.running_ns && reading.enabled_ns > seen->waited_ns)
			seen->waited_ns = reading.enabled_ns;
		reading.enabled_ns = set_less(reading.enabled_ns, base_times[0]);
		reading.running_ns = set_less(reading.running_ns, base_times[1]);
	}
	values = pmc_put_reading(buf, &reading, NULL);
	for (unsigned i = 0; values && i < reading.n; i++)
		values[i] = set_less(words[i], base[i]);
	return reading.error;
}

struct snapshot_seen snapshot_put_groups(const struct reader *reader, struct pmc_frame_buf *buf,
					 const struct snapshot_groups *groups, uint32_t *reason)
{
	struct snapshot_seen seen = { 0 };

	for (unsigned g = 0; g < groups->groups; g++) {
		uint32_t error = put_group(reader, buf, groups, g, *reason, &seen);

		*reason = *reason ? *reason : error;
		if (g == 0)
			seen.first_waited_ns = seen.waited_ns;
	}
	return seen;
}

void snapshot_total(const struct reader *reader, struct pmc_frame_buf *buf,
		    const struct pmc_control_totals *totals, enum pmc_total_kind kind)
{
	const struct snapshot_groups groups = snapshot_groups_of_total(totals);
	const struct pmc_total_fixed fixed = {
		.kind = (uint8_t)kind,
		.flags = (uint8_t)totals->flags,
		.n_groups = (uint16_t)totals->groups,
		.time_ns = pmc_now_ns(),
		.eventset = totals->eventset,
	};
	uint32_t reason = 0;

	if (!totals->groups && (kind != PMC_TOTAL_UNCORE || !totals->eventset))
		return;
	pmc_frame_begin(buf, PMC_FRAME_TOTAL, reader->control->identity, reader->snapshot, &fixed,
			sizeof(fixed));
	snapshot_put_groups(reader, buf, &groups, &reason);
	pmc_frame_end(buf);
}

/* ---- what rows and processes have beside their groups ---------------------------------------- */

/* The values in a row, of now. */
static void put_row(const struct account_words *now, struct pmc_thread_fixed *row)
{
	row->cpu_ns = now->of[ACCOUNT_CPU];
	row->minor_faults = now->of[ACCOUNT_MINOR];
	row->major_faults = now->of[ACCOUNT_MAJOR];
	row->voluntary_switches = now->of[ACCOUNT_VOLUNTARY];
	row->involuntary_switches = now->of[ACCOUNT_INVOLUNTARY];
	if (now->unknown & ACCOUNT_BIT(ACCOUNT_CPU))
		row->flags |= PMC_THREAD_NO_CPU;
	if (now->unknown & (ACCOUNT_FAULTS | ACCOUNT_SWITCHES))
		row->flags |= PMC_THREAD_NO_RUSAGE;
	if (!(row->flags & PMC_THREAD_DELAY))
		return;
	row->delay_ns = now->of[ACCOUNT_DELAY];
	if (now->unknown & ACCOUNT_BIT(ACCOUNT_DELAY))
		row->flags &= (uint8_t)~PMC_THREAD_DELAY;
}

/* The same of now less the account's, in a row whose start_ns is known. phases: it has room for
 * off_ns and reset_ns. */
static void put_counted(const struct account_side *side, struct account_words *now,
			struct pmc_thread_fixed *row, bool phases)
{
	const uint64_t time_ns = now->of[ACCOUNT_WALL];

	account_values(side, now);
	put_row(now, row);
	if (side->stopped)
		row->flags |= PMC_THREAD_OFF;
	if (!phases)
		return;
	row->reset_ns = side->reset_ns;
	row->off_ns = row->start_ns ? pmc_sub_sat(pmc_sub_sat(time_ns, row->start_ns),
						  now->of[ACCOUNT_WALL]) :
				      0;
}

/* The values in a PROCESS frame whose start_ns, time_ns and pre_cpu_ns are known. */
static void put_process(const struct account_side *side, struct account_words *now,
			const uint64_t carried[ACCOUNT_WORDS], struct pmc_process_fixed *process)
{
	account_values(side, now);
	process->cpu_ns = now->of[ACCOUNT_CPU];
	process->minor_faults = now->of[ACCOUNT_MINOR];
	process->major_faults = now->of[ACCOUNT_MAJOR];
	process->voluntary_switches = now->of[ACCOUNT_VOLUNTARY];
	process->involuntary_switches = now->of[ACCOUNT_INVOLUNTARY];
	process->overhead_ns = now->of[ACCOUNT_OVERHEAD];
	/* A program in a time namespace of its own may have started later than now. */
	process->off_ns = pmc_sub_sat(pmc_sub_sat(process->time_ns, process->start_ns),
				      now->of[ACCOUNT_WALL]);
	if (now->unknown & ACCOUNT_SWITCHES)
		process->flags |= PMC_PROCESS_NO_SWITCHES;
	/* CPU time from before the agent belongs to no later phase. */
	if (side->stopped || side->base[ACCOUNT_CPU] != carried[ACCOUNT_CPU])
		process->pre_cpu_ns = 0;
}

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
		   enum pmc_thread_state state, bool phases, bool delay)
{
	const struct pmc_control *control = reader->control;
	struct pmc_thread_fixed *row, start = {
		.seq = slot->seq,
		.tid = slot->tid,
		.state = (uint8_t)state,
		.flags = (uint8_t)(slot->flags | (delay ? PMC_THREAD_DELAY : 0)),
		.n_groups = (uint16_t)(reader->registry->n_groups + control->accounts),
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
__attribute__((noinline)) static void put_words(const struct reader *reader,
						const struct slot *slot, struct account_words *now,
						struct pmc_thread_fixed *row, bool phases)
{
	struct account_side side;

	/* Counting was always on: only what the main thread brought from before is subtracted. */
	if (!phases && !(slot->flags & PMC_THREAD_MAIN)) {
		put_row(now, row);
		now->of[ACCOUNT_WALL] = pmc_sub_sat(now->of[ACCOUNT_WALL], slot->start_ns);
		return;
	}
	snapshot_account(reader, slot, &side);
	put_counted(&side, now, row, phases);
}

static enum pmc_account account_of(const struct pmc_control *control, unsigned event)
{
	const unsigned kind = control->accounted[event];

	return pmc_event_account(kind & ACCOUNTED_OS ? PMC_TYPE_OS : PERF_TYPE_SOFTWARE,
				 kind & ~ACCOUNTED_OS);
}

unsigned snapshot_accounted(const struct pmc_control *control, unsigned group,
			    const struct account_words *now, uint64_t *values)
{
	const unsigned first = control->first[group], n = control->first[group + 1] - first;
	const uint8_t *kinds = control->accounted + first;
	const uint64_t *of = now->of;
	const struct pmc_accounted accounts = {
		.cpu_ns = of[ACCOUNT_CPU],
		.minor_faults = of[ACCOUNT_MINOR],
		.major_faults = of[ACCOUNT_MAJOR],
		.switches = of[ACCOUNT_VOLUNTARY] + of[ACCOUNT_INVOLUNTARY],
		.user_ns = of[ACCOUNT_USER],
		.system_ns = of[ACCOUNT_SYSTEM],
		.delay_ns = of[ACCOUNT_DELAY],
		.elapsed_ns = of[ACCOUNT_WALL],
	};

	for (unsigned i = 0; i < n; i++)
		values[i] = pmc_event_accounted(kinds[i] & ACCOUNTED_OS ? PMC_TYPE_OS :
									  PERF_TYPE_SOFTWARE,
						kinds[i] & ~ACCOUNTED_OS, &accounts);
	return n;
}

void snapshot_put_words(const struct reader *reader, struct pmc_frame_buf *buf,
			const struct slot *slot, struct account_words *now,
			struct pmc_thread_fixed *row, bool phases)
{
	static const uint32_t needs[PMC_ACCOUNTS] = {
		[PMC_ACCOUNT_CLOCK] = ACCOUNT_BIT(ACCOUNT_CPU),
		[PMC_ACCOUNT_USAGE] = ACCOUNT_USAGE,
		[PMC_ACCOUNT_DELAY] = ACCOUNT_BIT(ACCOUNT_DELAY),
		[PMC_ACCOUNT_ELAPSED] = ACCOUNT_BIT(ACCOUNT_WALL),
	};
	const struct pmc_control *control = reader->control;
	const unsigned groups = reader->registry->n_groups;
	uint64_t values[PMC_ACCOUNTED_MOST];

	put_words(reader, slot, now, row, phases);
	if (!slot->start_ns)
		now->unknown |= ACCOUNT_BIT(ACCOUNT_WALL);
	for (unsigned g = groups; g < groups + control->accounts; g++) {
		const enum pmc_account account = account_of(control, control->first[g]);
		/* A thread that waits for a CPU does not use one. */
		uint64_t ns =
			account == PMC_ACCOUNT_ELAPSED ?
				now->of[ACCOUNT_WALL] :
				row->cpu_ns +
					(account == PMC_ACCOUNT_DELAY ? now->of[ACCOUNT_DELAY] : 0);
		struct pmc_reading reading = { .n = snapshot_accounted(control, g, now, values) };

		/* CPU clocks exclude stolen time, up to all of a short thread's: its count is 0. */
		if (!ns && !phases)
			ns = 1;
		reading.enabled_ns = reading.running_ns = ns;
		if (now->unknown & needs[account])
			reading = (struct pmc_reading){ .error = PMC_REASON_OS };
		pmc_put_reading(buf, &reading, values);
	}
}

void snapshot_process(const struct reader *reader, struct account_words *now,
		      struct account_side *room, struct pmc_process_fixed *fixed)
{
	const struct pmc_control *control = reader->control;

	fixed->time_ns = now->of[ACCOUNT_WALL];
	account_read(&control->account, 1, room);
	put_process(room, now, control->carried_process, fixed);
	fixed->threads_seen = atomic_load(&control->seen);
	fixed->threads_counted = pmc_sub_sat(fixed->threads_seen, atomic_load(&control->uncounted));
}

/* ---- a region's record as a REGION frame ---------------------------------------------------- */

/* Differences modulo 2^64 may be slightly negative. none: they are from before a reset. */
static uint64_t at_least_0(uint64_t sum, bool none)
{
	return (int64_t)sum < 0 || none ? 0 : sum;
}

/* A run delay is not known: to read it would cost a begin and an end a file of /proc each. */
static void put_readings(struct pmc_frame_buf *buf, const struct region_area *area,
			 const struct pmc_control *control, uint32_t reason, const uint64_t *words,
			 bool none)
{
	const uint16_t *first = control->first;

	words += REGION_CPU;
	for (unsigned g = 0; g < area->groups; g++) {
		const unsigned n = first[g + 1] - first[g];
		struct pmc_reading reading = { .error = area->errors[g] };
		uint64_t *to;

		if (area->mode == REGION_CLOCK)
			reading.error = reason ? reason : EBADF;
		if (account_of(control, first[g]) == PMC_ACCOUNT_DELAY)
			reading.error = PMC_REASON_OS;
		if (!reading.error) {
			reading.enabled_ns = at_least_0(words[0], none);
			reading.running_ns = at_least_0(words[1], none);
			reading.n = n;
		}
		to = pmc_put_reading(buf, &reading, NULL);
		for (unsigned i = 0; to && i < reading.n; i++)
			to[i] = at_least_0(words[2 + i], none);
		words += 2 + n;
	}
}

/* Appends a REGION frame up to pmc_frame_end. */
static void fill(const struct reader *reader, struct pmc_frame_buf *buf, const struct slot *slot,
		 const struct region_area *area, const struct region_record *record)
{
	const struct pmc_control *control = reader->control;
	/* By a reset that is still to be applied. */
	const bool cleared = area->resets != atomic_load(&control->resets);
	const uint64_t *inclusive = record->words;
	const uint64_t *exclusive = inclusive + area->capacity;
	const uint64_t calls = cleared ? 0 : record->calls;
	bool has_cpu = calls && (area->mode == REGION_CLOCK ||
				 (!area->errors[0] && at_least_0(inclusive[REGION_CPU], cleared)));
	struct pmc_region_fixed fixed = {
		.seq = area->owner - 1,
		.calls = calls,
		.outermost = cleared ? 0 : record->outermost,
		.nested = at_least_0(inclusive[REGION_ENDS], cleared),
		.direct = at_least_0(exclusive[REGION_ENDS], cleared),
		.open = record->open,
		.time_ns = pmc_now_ns(),
		.eventset = area->eventset,
		.cpu_ns = has_cpu ? at_least_0(inclusive[REGION_CPU], cleared) : 0,
		.self_cpu_ns = has_cpu ? at_least_0(exclusive[REGION_CPU], cleared) : 0,
		.inside_cpu_ns = area->inside[REGION_CPU],
		.around_cpu_ns = area->around[REGION_CPU],
		.n_groups = (uint16_t)area->groups,
		.flags = (uint16_t)((has_cpu ? PMC_REGION_CPU : 0) |
				    (area->cost == REGION_COST_MEASURED ? PMC_REGION_COST : 0) |
				    (area->mode == REGION_USER ? PMC_REGION_USER_READS : 0)),
	};

	pmc_frame_begin(buf, PMC_FRAME_REGION, control->identity, reader->snapshot, &fixed,
			sizeof(fixed));
	pmc_frame_str(buf, record->name, record->name_len);
	put_readings(buf, area, control, slot->reason, inclusive, cleared);
	put_readings(buf, area, control, slot->reason, exclusive, cleared);
	put_readings(buf, area, control, slot->reason, area->inside, false);
	put_readings(buf, area, control, slot->reason, area->around, false);
}

/* Whether the area has the groups of its thread, and sizes that an agent writes. */
static bool is_sound(const struct reader *reader, const struct region_area *area)
{
	const unsigned groups = reader->registry->n_groups + reader->control->accounts;
	const unsigned readings = 2 * groups + reader->control->first[groups];
	const unsigned words = REGION_CPU + (area->mode == REGION_CLOCK ? 1 : readings);

	return area->groups == groups && area->mode < REGION_MODES && area->words == words &&
	       words <= area->capacity && area->capacity <= REGION_WORDS &&
	       area->n_records <= REGION_RECORDS;
}

/* The frame of a record, which may have changed meanwhile. */
static enum snapshot_result put(const struct reader *reader, struct pmc_frame_buf *buf,
				const struct slot *slot, uint64_t at, uint32_t index)
{
	const struct region_area *area = reader_at(reader, COPY_AREA, at, REGION_AREA_HEAD);
	const struct region_record *record;

	if (!area)
		return SNAPSHOT_DAMAGED;
	if (atomic_load(&area->owner) != slot->seq + 1)
		return SNAPSHOT_END;
	if (!is_sound(reader, area))
		return SNAPSHOT_DAMAGED;
	if (index >= atomic_load(&area->n_records))
		return SNAPSHOT_END;
	record = reader_at(reader, COPY_RECORD, at + region_record_at(area->capacity, index),
			   region_record_bytes(area->capacity));
	if (!record || record->name_len >= REGION_NAME)
		return SNAPSHOT_DAMAGED;
	if (record->calls || record->open || area->resets)
		fill(reader, buf, slot, area, record);
	return SNAPSHOT_PUT;
}

/* The number that is odd while records change. */
static uint64_t sequence_of(const struct reader *reader, uint64_t at)
{
	const _Atomic uint64_t *word = reader_at(reader, COPY_WORD, at, sizeof(*word));

	return word ? atomic_load_explicit(word, memory_order_acquire) : 0;
}

enum snapshot_result snapshot_region(const struct reader *reader, struct pmc_frame_buf *buf,
				     const struct slot *slot, uint32_t index)
{
	const uint64_t at = atomic_load(&slot->regions),
		       sequence = at ? sequence_of(reader, at) : 0;
	const size_t before = buf->len;
	enum snapshot_result result;

	if (!at)
		return SNAPSHOT_END;
	if (sequence & 1)
		return SNAPSHOT_CHANGING;
	result = put(reader, buf, slot, at, REGION_OTHER + index);
	atomic_thread_fence(memory_order_acquire);
	if (sequence_of(reader, at) != sequence)
		result = SNAPSHOT_CHANGING;
	if (buf->len == before)
		return result;
	if (result == SNAPSHOT_PUT)
		pmc_frame_end(buf);
	else
		pmc_frame_drop(buf);
	return result;
}
