/* SPDX-License-Identifier: MIT */
/*
 * region_reset.c - regions after pmctl ctl: sums restart at a reset, and without groups the CPU
 * clock does not advance while counting is off.
 *
 * pmctl cannot change the records, as only their thread writes to them. The thread applies a reset
 * at its next begin or end. Async-signal-safe.
 */
#include "agent/region/region.h"
#include "agent/thread/thread.h"

#include <string.h>

#include "agent/base/poison.h"

uint64_t region_clock(void)
{
	struct account_words now = { .unknown = 0 };
	struct account_side side;

	pmc_thread_cpu_ns(0, &now.of[ACCOUNT_CPU]);
	agent_account(agent_self, &side);
	account_values(&side, &now);
	return now.of[ACCOUNT_CPU];
}

/* The reading at the reset: what rows subtract since then. */
static void begin_at_reset(const struct region_area *area, uint64_t *words)
{
	const uint64_t *base = set_base(&agent_registry, area->slot->data);
	const uint64_t *values = base + 2 * area->groups;

	words[REGION_ENDS] = area->now[REGION_ENDS];
	words += REGION_CPU;
	if (area->mode == REGION_CLOCK) {
		words[0] = 0;
		return;
	}
	for (unsigned g = 0; g < area->groups; g++) {
		const unsigned at = area->first[g], n = area->first[g + 1] - at;

		/* A group that could not be read at the reset has no reading. */
		if (base[2 * g]) {
			words[0] = base[2 * g];
			words[1] = base[2 * g + 1];
			memcpy(words + 2, values + at, n * sizeof(*words));
		}
		words += 2 + n;
	}
}

void region_start_over(struct region_area *area)
{
	const size_t inner = area->capacity * sizeof(uint64_t);
	struct region_entry *entry = area->top;

	region_change_begin(area);
	area->resets = atomic_load(&pmc_agent_control.resets);
	for (uint32_t i = REGION_OTHER; i < area->n_records; i++) {
		struct region_record *record = region_record(area, i);

		record->calls = record->outermost = 0;
		memset(record->words, 0, 2 * inner);
	}
	for (; entry->record; entry = region_outer(area, entry)) {
		begin_at_reset(area, entry->words);
		memset(entry->words + area->capacity, 0, inner);
	}
	memset(region_bottom(area)->words + area->capacity, 0, inner);
	region_change_end(area);
}
