/* SPDX-License-Identifier: MIT */
/*
 * idlers N TURNS [PAUSE]: N threads that use 50 us of CPU time and then sleep for PAUSE us
 * (10,000), TURNS times. Prints "done", and ends at the end of stdin.
 *
 * prog-flags: -pthread
 */
#include "burn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long turns = 200, pause_us = 10000;

static void *idle(void *arg)
{
	const struct timespec pause = { pause_us / 1000000, pause_us % 1000000 * 1000 };

	for (long i = 0; i < turns; i++) {
		const long long end = raw_clock_ns(CLOCK_THREAD_CPUTIME_ID) + 50000;

		while (raw_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
			;
		nanosleep(&pause, NULL);
	}
	return arg;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 50;
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));

	if (argc > 2)
		turns = strtol(argv[2], NULL, 10);
	if (argc > 3)
		pause_us = strtol(argv[3], NULL, 10);
	for (long i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, idle, NULL))
			return 1;
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	fflush(stdout);
	while (getchar() != EOF)
		;
	free(threads);
	return 0;
}
