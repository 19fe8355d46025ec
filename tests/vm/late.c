/* SPDX-License-Identifier: MIT */
/*
 * late TAKE N [THREADS]: a thread of N instructions; then TAKE counters of CPU 0 are taken by
 * pinned per-CPU events, as any other user of the PMU may at any time; then five more threads, or
 * as many as are asked for, one by one.
 */
/* prog-flags: -Wl,-z,now */
#include "loop.h"
#include "take.h"

#include <pthread.h>
#include <stdlib.h>

static unsigned long n;

static void *loop(void *arg)
{
	run_instructions(n);
	return arg;
}

static int one_thread(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, loop, NULL) || pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	if (argc != 3 && argc != 4)
		return 2;
	n = strtoul(argv[2], NULL, 10);
	if (one_thread() || take_counters(atoi(argv[1])))
		return 1;
	for (int i = 0; i < (argc == 4 ? atoi(argv[3]) : 5); i++)
		if (one_thread())
			return 1;
	return 0;
}
