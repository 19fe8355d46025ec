/* SPDX-License-Identifier: MIT */
/*
 * mark_regions.c - counts of each thread in each part of its work, by marked regions.
 *
 * 	cc -O2 -I include docs/examples/mark_regions.c -o mark_regions -pthread
 * 	LD_PRELOAD=libpmcagent.so PMC_OUT=run.pmc ./mark_regions
 * 	pmctl report --by region run.pmc
 *
 * Needs no library; without the agent a mark costs a nanosecond.
 */
#include <pmc/region.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, NUMBERS = 100000 };

static int ascending(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static void *work(void *arg)
{
	unsigned seed = 1 + *(int *)arg;
	int *numbers = malloc(NUMBERS * sizeof(*numbers));

	if (!numbers)
		return NULL;
	pmc_region_begin("fill");
	for (int i = 0; i < NUMBERS; i++) {
		seed = seed * 1103515245 + 12345;
		numbers[i] = (int)(seed >> 8);
	}
	pmc_region_end();
	pmc_region_begin("sort");
	qsort(numbers, NUMBERS, sizeof(*numbers), ascending);
	pmc_region_end();
	free(numbers);
	return arg;
}

int main(void)
{
	pthread_t threads[THREADS];
	int ids[THREADS];

	for (int i = 0; i < THREADS; i++) {
		ids[i] = i;
		if (pthread_create(&threads[i], NULL, work, &ids[i]) != 0)
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("sorted");
	return 0;
}
