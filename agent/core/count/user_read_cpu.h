/* SPDX-License-Identifier: MIT */
/* user_read_cpu.h - the instructions that read a counter and the clock, for each processor. */
#ifndef PMC_CORE_COUNT_USER_READ_CPU_H
#define PMC_CORE_COUNT_USER_READ_CPU_H

#include <stdbool.h>
#include <stdint.h>

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
		READ(0)
		READ(1)
		READ(2) READ(3) READ(4) READ(5) READ(6) READ(7) READ(8) READ(9) READ(10) READ(11)
			READ(12) READ(13) READ(14) READ(15) READ(16) READ(17) READ(18) READ(19)
				READ(20) READ(21) READ(22) READ(23) READ(24) READ(25) READ(26)
					READ(27) READ(28) READ(29) READ(30) case 31
		    : __asm__ volatile("mrs %0, pmccntr_el0"
				       : "=r"(*value));
		return true;
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
#endif
