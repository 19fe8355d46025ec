/* SPDX-License-Identifier: MIT */
/*
 * starve.c - starve N MS: N threads on one CPU use MS ms of CPU time each; another sleeps. At its
 * end each prints its TID and, from the kernel, its run delay, user and system time in ns.
 *
 * prog-flags: -pthread
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static long ms;

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long ns_of(struct timeval t)
{
	return t.tv_sec * 1000000000 + t.tv_usec * 1000;
}

static void *work(void *asleep)
{
	unsigned long long cpu = 0, delay = 0;
	struct rusage usage;
	FILE *file;

	if (asleep)
		usleep((useconds_t)ms * 1000);
	while (!asleep && seconds(CLOCK_THREAD_CPUTIME_ID) * 1000 < (double)ms)
		if ((long)(seconds(CLOCK_MONOTONIC) * 100) % 2)
			close(open("/", O_RDONLY));
	file = fopen("/proc/thread-self/schedstat", "r");
	if (!file || fscanf(file, "%llu %llu", &cpu, &delay) != 2)
		exit(1);
	fclose(file);
	getrusage(RUSAGE_THREAD, &usage);
	printf("%d %llu %ld %ld\n", gettid(), delay, ns_of(usage.ru_utime), ns_of(usage.ru_stime));
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[1]) : 0;
	pthread_t threads[64];
	cpu_set_t one;

	if (n < 1 || n > 63)
		return 2;
	ms = atol(argv[2]);
	sched_getaffinity(0, sizeof(one), &one);
	for (int cpu = CPU_SETSIZE - 1; CPU_COUNT(&one) > 1; cpu--)
		CPU_CLR(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (long i = 0; i <= n; i++)
		pthread_create(&threads[i], NULL, work, i == n ? &ms : NULL);
	for (int i = 0; i <= n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
