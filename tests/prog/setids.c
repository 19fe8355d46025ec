/* SPDX-License-Identifier: MIT */
/* setids N: calls setuid N times, which each time interrupts all threads (glibc's SIGSETXID), while
 * four threads compute. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 4 };

static _Atomic bool stop;

static void *compute(void *arg)
{
	volatile unsigned sum = 0;

	while (!atomic_load(&stop))
		for (unsigned i = 0; i < 1000; i++)
			sum += i;
	return arg;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1, failed = 0;
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, compute, NULL) != 0)
			return 1;
	for (int i = 0; i < rounds; i++)
		failed += setuid(getuid()) != 0;
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d failed\n", failed);
	return 0;
}
