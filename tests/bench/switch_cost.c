/* SPDX-License-Identifier: MIT */
/* switch_cost N: ns per context switch of two threads on one CPU; N round trips of a byte. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int there[2], back[2];
static long n = 100000;

static void *echo(void *arg)
{
	char c;

	for (long i = 0; i < n; i++)
		if (read(there[0], &c, 1) != 1 || write(back[1], &c, 1) != 1)
			exit(1);
	return arg;
}

int main(int argc, char **argv)
{
	struct timespec begin, end;
	pthread_t thread;
	cpu_set_t one;
	char c = 0;

	if (argc > 1)
		n = strtol(argv[1], NULL, 10);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, echo, NULL))
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (long i = 0; i < n; i++)
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			return 1;
	clock_gettime(CLOCK_MONOTONIC, &end);
	pthread_join(thread, NULL);
	printf("%.0f\n",
	       ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
		       (double)(2 * n));
	return 0;
}
