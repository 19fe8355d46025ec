/* SPDX-License-Identifier: MIT */
/*
 * sort.h - a stable merge sort without allocation, fast where a list comes nearly in order.
 *
 * Inlined, so that the compiler sees the item size and the comparison.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Negative, 0 or positive, as for qsort_r. */
typedef int pmc_order(const void *a, const void *b, const void *arg);

/* The end of the ascending run that starts at item `from`. */
static inline __attribute__((always_inline)) size_t pmc_run_end(const char *items, size_t from,
								size_t n, size_t size,
								pmc_order *order, const void *arg)
{
	while (++from < n)
		if (order(items + (from - 1) * size, items + from * size, arg) > 0)
			break;
	return from < n ? from : n;
}

/* Merges neighbouring runs until one is left. */
static inline __attribute__((always_inline)) void
pmc_merge_runs(char *items, char *scratch, size_t n, size_t size, pmc_order *order, const void *arg)
{
	char *from = items, *to = scratch;

	while (pmc_run_end(from, 0, n, size, order, arg) < n) {
		char *swap = from, *put = to;

		for (size_t low = 0; low < n;) {
			size_t mid = pmc_run_end(from, low, n, size, order, arg), i = low, j = mid;
			size_t high = mid < n ? pmc_run_end(from, mid, n, size, order, arg) : n;

			for (; i < mid && j < high; put += size) {
				bool left = order(from + i * size, from + j * size, arg) <= 0;

				memcpy(put, from + (left ? i++ : j++) * size, size);
			}
			memcpy(put, from + i * size, (mid - i) * size);
			put += (mid - i) * size;
			memcpy(put, from + j * size, (high - j) * size);
			put += (high - j) * size;
			low = high;
		}
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, n * size);
}

/* scratch has room for n items too. The run at the start is merged once, with the sorted rest. */
static inline __attribute__((always_inline)) void
pmc_sort(void *items, void *scratch, size_t n, size_t size, pmc_order *order, const void *arg)
{
	char *const first = items, *const copy = scratch;
	size_t low = n ? pmc_run_end(first, 0, n, size, order, arg) : 0, high = n - low;

	if (!high)
		return;
	pmc_merge_runs(first + low * size, scratch, high, size, order, arg);
	memcpy(copy, first + low * size, high * size);
	for (char *put = first + n * size; high;) {
		const bool left =
			low && order(first + (low - 1) * size, copy + (high - 1) * size, arg) > 0;

		memcpy(put -= size, left ? first + --low * size : copy + --high * size, size);
	}
}
