/* SPDX-License-Identifier: MIT */
/*
 * user_read_now.h - the seqlock loop over perf_event_mmap_page, for those whom a call costs too
 * much; else see user_read.h.
 */
#ifndef PMC_CORE_COUNT_USER_READ_NOW_H
#define PMC_CORE_COUNT_USER_READ_NOW_H

#include "agent/core/count/user_read.h"
#include "agent/core/count/user_read_cpu.h"

#define user_inline static inline __attribute__((always_inline))

/* The kernel writes the page of a thread's own event on that thread's processor: what must not be
 * reordered is the compiler's work alone. */
user_inline void user_barrier(void)
{
	__asm__ volatile("" : : : "memory");
}

/* The count, if it is on a counter that user space may read: index, not cap_user_rdpmc alone, which
 * arm64 sets whatever the permission. */
user_inline bool user_count(pmc_user_page *page, uint64_t *value)
{
	uint32_t index = page->index;
	unsigned unused = 64u - page->pmc_width;
	uint64_t counter;

	if (index == 0 || unused > 63 || !page->cap_user_rdpmc || !cpu_counter(index - 1, &counter))
		return false;
	/* The counter is as wide as the hardware has it, and counts up from a negative number. */
	*value = (uint64_t)page->offset + (uint64_t)((int64_t)(counter << unused) >> unused);
	return true;
}

/* Time that passed since the kernel last wrote the page. */
user_inline uint64_t user_time_since(pmc_user_page *page)
{
	uint64_t cycles = cpu_clock(), rest;
	unsigned shift = page->time_shift;
	uint64_t mult = page->time_mult;

	/* A counter of fewer than 64 bits wraps. */
	if (page->cap_user_time_short)
		cycles = page->time_cycles + ((cycles - page->time_cycles) & page->time_mask);
	rest = cycles & (((uint64_t)1 << shift) - 1);
	return page->time_offset + (cycles >> shift) * mult + (rest * mult >> shift);
}

user_inline bool user_now(pmc_user_page *page, uint64_t *value, uint64_t *enabled_ns,
			  uint64_t *running_ns, uint32_t *lock)
{
	uint64_t since;

	do {
		*lock = page->lock;
		user_barrier();
		if (!page->cap_user_time || !user_count(page, value))
			return false;
		since = user_time_since(page);
		*enabled_ns = page->time_enabled + since;
		*running_ns = page->time_running + since;
		user_barrier();
	} while (page->lock != *lock);
	return true;
}

/* All of one moment: if the scheduler came in between, all are read again, or this code's own
 * instructions would be in some counts and not in others. */
user_inline bool user_now_group(pmc_user_page *const *pages, unsigned n, uint64_t *enabled_ns,
				uint64_t *running_ns, uint64_t *values)
{
	uint32_t leader, lock;

	do {
		if (!user_now(pages[0], &values[0], enabled_ns, running_ns, &leader))
			return false;
		for (unsigned i = 1; i < n; i++) {
			pmc_user_page *page = pages[i];

			do {
				lock = page->lock;
				user_barrier();
				if (!user_count(page, &values[i]))
					return false;
				user_barrier();
			} while (page->lock != lock);
		}
	} while (n > 1 && pages[0]->lock != leader);
	return true;
}

#endif
