/* SPDX-License-Identifier: MIT */
/* user_read_cpu.h - reads counters and the clock in user space; see user_read.h. */
#pragma once

#include "lib/count/user_read.h"

#define cpu_inline static inline __attribute__((always_inline))

#if defined(__x86_64__)

/* Intel SDM 2B, RDPMC: ECX as perf_event_mmap_page's index less one has it. */
cpu_inline bool cpu_counter(uint32_t counter, uint64_t *value)
{
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter));
	*value = (uint64_t)high << 32 | low;
	return true;
}

cpu_inline uint64_t cpu_clock(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

#elif defined(__aarch64__)

/* Arm ARM, PMEVCNTR<n>_EL0 and PMCCNTR_EL0: the number is part of the instruction. Not PMSELR_EL0:
 * a context switch between that and the read would lose it. */
cpu_inline bool cpu_counter(uint32_t counter, uint64_t *value)
{
#define READ(n)                                                                                    \
	case n:                                                                                    \
		__asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(*value));                     \
		return true;
	switch (counter) {
		/* clang-format off */
		READ(0) READ(1) READ(2) READ(3) READ(4) READ(5) READ(6) READ(7)
		READ(8) READ(9) READ(10) READ(11) READ(12) READ(13) READ(14) READ(15)
		READ(16) READ(17) READ(18) READ(19) READ(20) READ(21) READ(22) READ(23)
		READ(24) READ(25) READ(26) READ(27) READ(28) READ(29) READ(30)
	case 31:
		__asm__ volatile("mrs %0, pmccntr_el0" : "=r"(*value));
		return true;
		/* clang-format on */
	default:
		return false;
	}
#undef READ
}

cpu_inline uint64_t cpu_clock(void)
{
	uint64_t value;

	/* Without the barrier it may be read ahead of what it is to time. */
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value) : : "memory");
	return value;
}

#else

cpu_inline bool cpu_counter(uint32_t counter, uint64_t *value)
{
	(void)counter;
	(void)value;
	return false;
}

cpu_inline uint64_t cpu_clock(void)
{
	return 0;
}

#endif

/* The kernel writes the page of a thread's own event on that thread's processor: only the compiler
 * has to be kept from reordering. */
cpu_inline void user_barrier(void)
{
	__asm__ volatile("" : : : "memory");
}

/* False: user space may not read it now. index and cap_user_rdpmc both have to allow it: arm64 sets
 * the latter whatever the permission. */
cpu_inline bool read_count(pmc_user_page *page, uint64_t *value)
{
	uint32_t index = page->index;
	unsigned unused = 64u - page->pmc_width;
	uint64_t counter;

	if (index == 0 || unused > 63 || !page->cap_user_rdpmc || !cpu_counter(index - 1, &counter))
		return false;
	/* Sign extension: a counter is as wide as the hardware has it, and counts up from a
	 * negative number. */
	*value = (uint64_t)page->offset + (uint64_t)((int64_t)(counter << unused) >> unused);
	return true;
}

/* The page's times, and what has passed since the kernel wrote them. */
cpu_inline void read_times(pmc_user_page *page, uint64_t *enabled_ns, uint64_t *running_ns)
{
	uint64_t cycles = cpu_clock(), rest, since;
	unsigned shift = page->time_shift;
	uint64_t mult = page->time_mult;

	/* A clock of fewer than 64 bits wraps. */
	if (page->cap_user_time_short)
		cycles = page->time_cycles + ((cycles - page->time_cycles) & page->time_mask);
	rest = cycles & (((uint64_t)1 << shift) - 1);
	since = page->time_offset + (cycles >> shift) * mult + (rest * mult >> shift);
	*enabled_ns = page->time_enabled + since;
	*running_ns = page->time_running + since;
}

/* A group of n >= 1 events now; the times are those of pages[0]. False: some event cannot be read
 * without a system call at this moment (not scheduled, no permission, no clock that user space can
 * read). */
cpu_inline bool pmc_user_read_group(pmc_user_page *const *pages, unsigned n, uint64_t *enabled_ns,
				    uint64_t *running_ns, uint64_t *values)
{
	pmc_user_page *page, *leader = pages[0];
	uint32_t scheduled, lock;

	/* If the scheduler came in between, all are read again: else this code's own instructions
	 * would be in some counts and not in others. */
	do {
		scheduled = leader->lock;
		if (!leader->cap_user_time)
			return false;
		for (unsigned i = 0; i < n; i++) {
			page = pages[i];
			do {
				lock = page->lock;
				user_barrier();
				if (!read_count(page, &values[i]))
					return false;
				user_barrier();
			} while (page->lock != lock);
		}
		read_times(leader, enabled_ns, running_ns);
		user_barrier();
	} while (leader->lock != scheduled);
	return true;
}
