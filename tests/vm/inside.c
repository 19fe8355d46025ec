/* SPDX-License-Identifier: MIT */
/*
 * inside THREADS N ROUNDS - threads that are all there before any of them works, each with a loop
 * of N instructions inside three regions, ROUNDS times. prog-flags: -Iinclude -I. */
#include "tests/vm/loop.h"

#include <pmc/region.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_barrier_t all;
static unsigned long n;
static int rounds;

static void *work(void *arg)
{
	pthread_barrier_wait(&all);
	for (int i = 0; i < rounds; i++) {
		pmc_region_begin("outer");
		run_instructions(n);
		pmc_region_begin("middle");
		run_instructions(n);
		pmc_region_begin("inner");
		run_instructions(n);
		pmc_region_end();
		pmc_region_end();
		pmc_region_end();
	}
	pthread_barrier_wait(&all);
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t list[1024];

	n = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	rounds = argc > 3 ? atoi(argv[3]) : 1;
	if (threads < 1 || threads > 1024)
		return 2;
	pthread_barrier_init(&all, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&list[i], NULL, work, NULL) != 0)
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(list[i], NULL);
	return 0;
}
