/* SPDX-License-Identifier: MIT */
/*
 * preempts.c - a thread that computes, and one on the same CPU that wakes up 4,000 times. Prints
 * "NAME CPU_NS" of each, by its own clock.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define WAKES 4000

static _Atomic int done;

static void print(const char *name)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	printf("%s %lld\n", name, ts.tv_sec * 1000000000LL + ts.tv_nsec);
}

static void *wake(void *arg)
{
	const struct timespec ts = { 0, 100000 };

	pthread_setname_np(pthread_self(), "wakes");
	for (int i = 0; i < WAKES; i++)
		nanosleep(&ts, NULL);
	print("wakes");
	done = 1;
	return arg;
}

int main(void)
{
	pthread_t thread;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) || pthread_create(&thread, NULL, wake, NULL))
		return 1;
	while (!done)
		;
	print("preempts");
	return pthread_join(thread, NULL) != 0;
}
