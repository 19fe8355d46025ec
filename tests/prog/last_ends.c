/* SPDX-License-Identifier: MIT */
/* last_ends N: N threads that end while main calls exit(). */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_barrier_t all_here;
static atomic_int leaving;

static void *work(void *arg)
{
	pthread_barrier_wait(&all_here);
	while (!leaving)
		;
	for (volatile long i = (long)arg * 200; i > 0; i--)
		;
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 4;

	pthread_barrier_init(&all_here, NULL, (unsigned)n + 1);
	for (long i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, work, (void *)i))
			return 1;
	}
	pthread_barrier_wait(&all_here);
	leaving = 1;
	exit(0);
}
