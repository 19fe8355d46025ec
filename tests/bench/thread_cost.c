/* SPDX-License-Identifier: MIT */
/* thread_cost N ITER: prints mean ns to create and join a thread of ITER iterations; N threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned long iterations;

static void *work(void *arg)
{
	volatile unsigned long x = 0;

	for (unsigned long i = 0; i < iterations; i++)
		x += i;
	return arg;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 5000;
	struct timespec begin, end;

	iterations = argc > 2 ? strtoul(argv[2], NULL, 10) : 2000;
	for (unsigned long i = 0; i < n + n / 10; i++) {
		pthread_t thread;

		if (i == n / 10) /* the first tenth warms up */
			clock_gettime(CLOCK_MONOTONIC, &begin);
		if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
			return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%.0f\n",
	       ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
		       (double)n);
	return 0;
}
