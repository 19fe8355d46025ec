/* SPDX-License-Identifier: MIT */
/*
 * region.c - begin and end of a marked region. Exports pmc_region_begin, pmc_region_end and
 * pmc_region_api, which pmc/region.h looks up.
 *
 * Only signal handlers of the same thread can interfere. A handler that interrupts a begin or an
 * end finds the area busy: its regions are left out, with a note. Anywhere else they nest.
 * Async-signal-safe.
 */
#include "agent/region/region.h"
#include "agent/base/agent.h"
#include "agent/base/fork_guard.h"
#include "agent/base/note.h"
#include "agent/core/base/clock.h"

#include <errno.h>
#include <string.h>

#define PMC_REGION_API_ONLY
#include <pmc/region.h>

#include "agent/base/poison.h"

__thread struct region_area *region_mine;

/* ---- reading the counters ------------------------------------------------------------------*/

__attribute__((noinline)) static void read_group(struct region_area *area, unsigned g,
						 uint64_t *times, uint64_t *values)
{
	const unsigned at = area->first[g], n = area->first[g + 1] - at;
	struct pmc_reading reading = { .error = EBADF };
	int saved = errno;

	if (area->fds[at] >= 0)
		pmc_group_read(area->fds[at], area->ids[g], n, &reading, area->raw);
	errno = saved;
	if (reading.error) {
		area->errors[g] = reading.error;
		memset(area->raw, 0, n * sizeof(*values));
	}
	times[0] = reading.enabled_ns;
	times[1] = reading.running_ns;
	memcpy(values, area->raw, n * sizeof(*values));
}

static bool read_user(struct region_area *area, unsigned g, uint64_t *times, uint64_t *values)
{
	const unsigned at = area->first[g], n = area->first[g + 1] - at;

	return area->mode == REGION_USER &&
	       pmc_user_read_group(area->pages + at, n, &times[0], &times[1], values);
}

static void read_counters(struct region_area *area, uint64_t *words)
{
	uint64_t *times = words + REGION_CPU, *values = times + 2 * area->groups;

	words[REGION_ENDS] = area->ends;
	if (area->mode == REGION_CLOCK) {
		pmc_thread_cpu_ns(0, times);
		return;
	}
	for (unsigned g = 0; g < area->groups; g++, times += 2)
		if (!read_user(area, g, times, values + area->first[g]))
			read_group(area, g, times, values + area->first[g]);
}

/* ---- names ---------------------------------------------------------------------------------*/

static struct region_record *add(struct region_area *area, const char *name, size_t len,
				 uint16_t *hash)
{
	uint32_t index = atomic_load_explicit(&area->n_records, memory_order_relaxed);
	struct region_record *record = region_record(area, index);

	if (index == REGION_RECORDS) {
		agent_note(NOTE_REGION_MANY);
		return region_record(area, REGION_OTHER);
	}
	region_change_begin(area);
	memset(record, 0, region_record_bytes(area->capacity));
	memcpy(record->name, name, len);
	record->name_len = (uint32_t)len;
	*hash = (uint16_t)(index + 1);
	area->end = region_record(area, index + 1);
	atomic_store_explicit(&area->n_records, index + 1, memory_order_relaxed);
	region_change_end(area);
	return record;
}

/* By content: a name need not be a literal, nor stay where it is. */
struct region_record *region_find(struct region_area *area, const char *name)
{
	uint32_t key = 2166136261; /* FNV-1a */
	uint16_t *hash;
	size_t len = 0;

	for (; len < REGION_NAME - 1 && name[len]; len++)
		key = (key ^ (uint8_t)name[len]) * 16777619;
	for (key ^= key >> 16; *(hash = &area->hash[key % REGION_HASH]); key++) {
		struct region_record *record = region_record(area, *hash - 1u);

		if (record->name_len == len && !memcmp(record->name, name, len))
			return record;
	}
	if (name[len])
		agent_note(NOTE_REGION_NAME);
	return add(area, name, len, hash);
}

/* ---- begin and end -------------------------------------------------------------------------*/

void region_enter(struct region_area *area, struct region_record *record)
{
	struct region_entry *entry = region_entry(area, area->depth + 1);

	entry->record = record;
	read_counters(area, entry->words);
	/* A handler that ends the thread closes what is on the stack. */
	atomic_signal_fence(memory_order_seq_cst);
	record->open++;
	area->depth++;
}

void region_leave(struct region_area *area)
{
	struct region_entry *entry = region_entry(area, area->depth);
	struct region_record *record = entry->record;
	const unsigned capacity = area->capacity;
	const region_pair *now = (void *)area->now, *start = (void *)entry->words;
	region_pair *inclusive = (void *)record->words;
	region_pair *exclusive = (void *)(record->words + capacity);
	region_pair *inner = (void *)(entry->words + capacity);
	region_pair *outer = (void *)(region_entry(area, area->depth - 1)->words + capacity);
	const region_pair zero = { 0, 0 };
	bool outermost;

	read_counters(area, area->now);
	region_change_begin(area);
	area->depth--;
	area->ends++;
	record->calls++;
	outermost = --record->open == 0;
	record->outermost += outermost;
	/* Values first, times last: if a handler ends the thread here, what was added to the times
	 * of a group never makes its values look scaled. */
	for (unsigned i = (area->words + 1) / 2; i-- > 0;) {
		region_pair counted = now[i] - start[i];

		inclusive[i] += outermost ? counted : zero;
		exclusive[i] += counted - inner[i];
		outer[i] += counted;
		inner[i] = zero;
	}
	region_change_end(area);
}

/* ---- what programs call --------------------------------------------------------------------*/

/* Whether the calling thread may change its area now. */
static inline bool enter_area(struct region_area *area)
{
	if (area->busy)
		return false;
	area->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

static inline void leave_area(struct region_area *area)
{
	atomic_signal_fence(memory_order_seq_cst);
	area->busy = false;
}

static void begin(struct region_area *area, const char *name)
{
	struct region_record *record;

	if (area->depth == REGION_DEPTH) {
		area->excess++;
		agent_note(NOTE_REGION_DEEP);
		return;
	}
	/* The last region at this depth is the likeliest one. */
	record = region_entry(area, area->depth + 1)->record;
	if (!record || record >= area->end || strcmp(record->name, name) != 0)
		record = region_find(area, name);
	region_enter(area, record);
}

AGENT_API void pmc_region_begin(const char *name)
{
	struct region_area *area;

	if (!agent_active_unless_vfork())
		return;
	area = region_mine ? region_mine : region_attach();
	if (!area)
		return;
	if (area->cost == REGION_COST_UNKNOWN && area->depth == 0)
		region_measure_cost(area);
	if (!enter_area(area)) {
		agent_note(NOTE_REGION_HANDLER);
		return;
	}
	begin(area, name ? name : "");
	leave_area(area);
}

AGENT_API void pmc_region_end(void)
{
	struct region_area *area;

	if (!agent_active_unless_vfork())
		return;
	area = region_mine;
	if (!area && agent_self)
		agent_note(NOTE_REGION_END);
	if (!area || !enter_area(area))
		return;
	if (area->excess)
		area->excess--;
	else if (area->depth)
		region_leave(area);
	else
		agent_note(NOTE_REGION_END);
	leave_area(area);
}

AGENT_API const struct pmc_region_api pmc_region_api = { pmc_region_begin, pmc_region_end };
