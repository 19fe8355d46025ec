/* SPDX-License-Identifier: MIT */
/*
 * loops [-t COPIES] N...: a thread for each N, one after another, or COPIES at once for each N;
 * each runs a loop of exactly N instructions (N even) and nothing that depends on N.
 */
/* prog-flags: -Wl,-z,now */
#include "loop.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static unsigned long n_of_all;
static pthread_barrier_t all_here;

static void *one(void *arg)
{
	run_instructions((unsigned long)arg);
	return NULL;
}

static void *one_of_many(void *arg)
{
	pthread_barrier_wait(&all_here);
	run_instructions(n_of_all);
	return arg;
}

static int many(unsigned long copies)
{
	pthread_t *threads = calloc(copies, sizeof(*threads));
	pthread_attr_t attr;

	if (!threads || pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, 192 << 10) ||
	    pthread_barrier_init(&all_here, NULL, (unsigned)copies))
		return 1;
	for (unsigned long i = 0; i < copies; i++)
		if (pthread_create(&threads[i], &attr, one_of_many, NULL))
			return 1;
	for (unsigned long i = 0; i < copies; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long copies = 0;
	int at = 1;

	if (argc > 2 && !strcmp(argv[1], "-t")) {
		copies = strtoul(argv[2], NULL, 10);
		at = 3;
	}
	for (; at < argc; at++) {
		unsigned long n = strtoul(argv[at], NULL, 10);
		pthread_t thread;

		n_of_all = n;
		if (copies) {
			if (many(copies))
				return 1;
			continue;
		}
		if (pthread_create(&thread, NULL, one, (void *)n) || pthread_join(thread, NULL))
			return 1;
	}
	return 0;
}
