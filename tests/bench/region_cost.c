/* SPDX-License-Identifier: MIT */
/*
 * region_cost PAIRS ROUNDS - cost of a pair of pmc_region_begin and pmc_region_end, compared with
 * the reads that a pair needs.
 *
 * Prints medians over ROUNDS of PAIRS, in ns each: an empty pair, two plain reads of a group of the
 * same four software events, two of CLOCK_MONOTONIC, two of the thread's CPU clock. Without the
 * agent, the pair does nothing.
 */
#include "tests/bench/group.h"
#include "tests/bench/timing.h"

#include <pmc/region.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static double each(uint64_t *rounds, int n, long pairs)
{
	return (double)median_ns(rounds, n) / (double)pairs;
}

int main(int argc, char **argv)
{
	long pairs = argc > 1 ? atol(argv[1]) : 100000;
	int rounds = argc > 2 ? atoi(argv[2]) : 11, group = open_group(0);
	static uint64_t ns[4][256];
	/* Aligned as the agent's: the kernel's copy to an unaligned address costs more. */
	_Alignas(64) uint64_t data[3 + 2 * 4];
	struct timespec t;

	if (pairs < 1 || rounds < 1 || rounds > 256)
		return 2;
	for (int r = 0; r < rounds; r++) {
		uint64_t start = now_ns();

		for (long i = 0; i < pairs; i++) {
			pmc_region_begin("a region");
			pmc_region_end();
		}
		ns[0][r] = now_ns() - start;
		start = now_ns();
		for (long i = 0; i < 2 * pairs; i++)
			if (read(group, data, sizeof(data)) != sizeof(data))
				return 1;
		ns[1][r] = now_ns() - start;
		start = now_ns();
		for (long i = 0; i < 2 * pairs; i++)
			clock_gettime(CLOCK_MONOTONIC, &t);
		ns[2][r] = now_ns() - start;
		start = now_ns();
		for (long i = 0; i < 2 * pairs; i++)
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		ns[3][r] = now_ns() - start;
	}
	printf("%.2f %.2f %.2f %.2f\n", each(ns[0], rounds, pairs), each(ns[1], rounds, pairs),
	       each(ns[2], rounds, pairs), each(ns[3], rounds, pairs));
	return 0;
}
