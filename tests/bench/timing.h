/* SPDX-License-Identifier: MIT */
/* timing.h - the clock and the median that cost programs share. */
#ifndef PMC_BENCH_TIMING_H
#define PMC_BENCH_TIMING_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline int timing_ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts the values. */
static inline unsigned long long median_ns(uint64_t *values, int n)
{
	qsort(values, (size_t)n, sizeof(*values), timing_ascending);
	return values[n / 2];
}

#endif
