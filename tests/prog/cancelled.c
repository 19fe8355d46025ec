/* SPDX-License-Identifier: MIT */
/* cancelled N: N times four threads compute until they are cancelled asynchronously, while another
 * thread forks. Prints how many were cancelled, and how many children ended well. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4 };

static _Atomic unsigned running;
static _Atomic bool stop;

__attribute__((noinline)) static unsigned descend(unsigned depth, volatile unsigned *sum)
{
	*sum += depth;
	return depth ? descend(depth - 1, sum) + *sum : *sum;
}

static void *compute(void *arg)
{
	volatile unsigned sum = 0;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	atomic_fetch_add(&running, 1);
	for (;;)
		descend(20, &sum);
	return arg;
}

static void *fork_on(void *arg)
{
	unsigned *bad = arg;

	while (!atomic_load(&stop)) {
		int status = -1;
		pid_t child = fork();

		if (child == 0)
			_exit(7);
		*bad += waitpid(child, &status, 0) != child || status != 7 << 8;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1, cancelled = 0, bad = 0;
	pthread_t forks, threads[THREADS];

	if (pthread_create(&forks, NULL, fork_on, &bad) != 0)
		return 1;
	for (unsigned i = 0; i < rounds; i++) {
		atomic_store(&running, 0);
		for (unsigned n = 0; n < THREADS; n++)
			if (pthread_create(&threads[n], NULL, compute, NULL) != 0)
				return 1;
		while (atomic_load(&running) < THREADS)
			usleep(100);
		usleep(1000 + i % 7 * 300);
		for (unsigned n = 0; n < THREADS; n++)
			pthread_cancel(threads[n]);
		for (unsigned n = 0; n < THREADS; n++) {
			void *result;

			pthread_join(threads[n], &result);
			cancelled += result == PTHREAD_CANCELED;
		}
	}
	atomic_store(&stop, true);
	pthread_join(forks, NULL);
	printf("%u cancelled, %u bad children\n", cancelled, bad);
	return 0;
}
