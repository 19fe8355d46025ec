/* SPDX-License-Identifier: MIT */
/* churn N ITER: creates and joins N threads in sequence, each of which runs ITER iterations. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

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
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	unsigned long joined = 0;
	struct rusage usage;

	iterations = argc > 2 ? strtoul(argv[2], NULL, 10) : 2000;
	for (unsigned long i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, work, NULL))
			return 1;
		if (!pthread_join(thread, NULL))
			joined++;
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("joined %lu\n", joined);
	/* A third argument names a file for output that differs between runs. */
	if (argc > 3) {
		FILE *f = fopen(argv[3], "w");

		if (!f || fprintf(f, "%ld\n", usage.ru_maxrss) < 0 || fclose(f))
			return 1;
	}
	return 0;
}
