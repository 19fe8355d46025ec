/* SPDX-License-Identifier: MIT */
/*
 * user_read.h - reading the calling thread's own counters without a system call.
 *
 * The kernel shares a page per event (perf_event_open(2), "MMAP layout"; struct
 * perf_event_mmap_page in <linux/perf_event.h>): what to add to the hardware counter, which counter
 * that is, and a sequence number to read both as one. It works for the thread that the event
 * counts, while the event is on a counter. All of it is async-signal-safe: raw system calls, the
 * caller's memory, no allocation.
 */
#pragma once

#include "lib/count/group.h"

typedef const volatile struct perf_event_mmap_page pmc_user_page;

/* Asks for user access where the kernel wants it asked for (arm64: config1 bit 1, if
 * kernel.perf_user_access allows it; drivers/perf/arm_pmuv3.c). False: the attr is as it was.
 * Only for events of one task that are not inherited. */
bool pmc_user_request(struct pmc_attr *attr);
/* Takes that back, for a kernel that refuses the event with it. */
void pmc_user_unrequest(struct pmc_attr *attr);

/* Maps the event's page. 0; -EPERM, -ENOMEM: the limits on locked memory
 * (kernel.perf_event_mlock_kb; of that at most half is taken, the rest is the host's); other -errno
 * of mmap(2). */
int pmc_user_map(int fd, pmc_user_page **page);
/* NULL is nothing to do. */
void pmc_user_unmap(pmc_user_page *page);
/* In a forked child: the kernel did not copy the pages, none is mapped any more. */
void pmc_user_forked(void);

/* ---- reading ----------------------------------------------------------------------------- */

#define user_inline static inline __attribute__((always_inline))

#if defined(__x86_64__)

/* Intel SDM 2B, RDPMC: ECX as perf_event_mmap_page's index less one has it. */
user_inline bool user_counter(uint32_t counter, uint64_t *value)
{
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter));
	*value = (uint64_t)high << 32 | low;
	return true;
}

user_inline uint64_t user_clock(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

#elif defined(__aarch64__)

/* Arm ARM, PMEVCNTR<n>_EL0 and PMCCNTR_EL0: the number is part of the instruction. Not PMSELR_EL0:
 * a context switch between that and the read would lose it. */
user_inline bool user_counter(uint32_t counter, uint64_t *value)
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

user_inline uint64_t user_clock(void)
{
	uint64_t value;

	/* Without the barrier it may be read ahead of what it is to time. */
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value) : : "memory");
	return value;
}

#endif

/* The kernel writes the page of a thread's own event on that thread's processor: only the compiler
 * has to be kept from reordering. */
user_inline void user_barrier(void)
{
	__asm__ volatile("" : : : "memory");
}

/* False: user space may not read it now. index and cap_user_rdpmc both have to allow it: arm64 sets
 * the latter whatever the permission. */
user_inline bool user_count(pmc_user_page *page, uint64_t *value)
{
	uint32_t index = page->index;
	unsigned unused = 64u - page->pmc_width;
	uint64_t counter;

	if (index == 0 || unused > 63 || !page->cap_user_rdpmc ||
	    !user_counter(index - 1, &counter))
		return false;
	/* Sign extension: a counter is as wide as the hardware has it, and counts up from a
	 * negative number. */
	*value = (uint64_t)page->offset + (uint64_t)((int64_t)(counter << unused) >> unused);
	return true;
}

/* The page's times, and what has passed since the kernel wrote them. */
user_inline void user_times(pmc_user_page *page, uint64_t *enabled_ns, uint64_t *running_ns)
{
	uint64_t cycles = user_clock(), rest, since;
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
user_inline bool pmc_user_read_group(pmc_user_page *const *pages, unsigned n, uint64_t *enabled_ns,
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
				if (!user_count(page, &values[i]))
					return false;
				user_barrier();
			} while (page->lock != lock);
		}
		user_times(leader, enabled_ns, running_ns);
		user_barrier();
	} while (leader->lock != scheduled);
	return true;
}
