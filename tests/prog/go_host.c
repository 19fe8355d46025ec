/* SPDX-License-Identifier: MIT */
/* go_host LIBRARY: loads a library of Go code (golib.go) while another thread computes, and calls
 * it from two threads. Prints the results. */
#include "burn.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

static int (*work)(int);
static _Atomic bool stop;

static void *call(void *arg)
{
	*(int *)arg = work(30000);
	return NULL;
}

static void *busy(void *arg)
{
	while (!atomic_load(&stop))
		burn_thread_ms(1);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[2], other;
	int results[2];
	void *library;

	if (argc < 2 || pthread_create(&other, NULL, busy, NULL) != 0)
		return 1;
	burn_thread_ms(50);
	library = dlopen(argv[1], RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)(void *)&work = dlsym(library, "Work");
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, call, &results[i]) != 0)
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&stop, true);
	pthread_join(other, NULL);
	printf("%d %d\n", results[0], results[1]);
	return 0;
}
