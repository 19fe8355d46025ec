/* SPDX-License-Identifier: MIT */
/*
 * crowd N [LIMIT]: N threads alive at once; each works, waits at a barrier for all, and works
 * again. LIMIT: of descriptors, soft and hard, set before.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static pthread_barrier_t all_here;

static void burn(void)
{
	volatile unsigned long x = 0;

	for (unsigned long i = 0; i < 20000; i++)
		x += i;
}

static void *work(void *arg)
{
	burn();
	pthread_barrier_wait(&all_here);
	burn();
	return arg;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 100;
	pthread_t *threads = calloc(n, sizeof(*threads));
	rlim_t most = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	struct rlimit limit = { most, most };
	pthread_attr_t attr;

	if (most && setrlimit(RLIMIT_NOFILE, &limit))
		return 1;
	if (!threads || pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, 128 * 1024) ||
	    pthread_barrier_init(&all_here, NULL, n + 1))
		return 1;
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&threads[i], &attr, work, NULL)) {
			fprintf(stderr, "crowd: thread %u refused\n", i);
			return 1;
		}
	pthread_barrier_wait(&all_here);
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("crowd of %u\n", n);
	free(threads);
	return 0;
}
