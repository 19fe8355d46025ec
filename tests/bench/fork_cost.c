/* SPDX-License-Identifier: MIT */
/* fork_cost THREADS ROUNDS - median ns of fork() itself, and of fork to the child's end, with that
 * many other threads asleep. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *sleep_on(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 500, rounds = argc > 2 ? atoi(argv[2]) : 101;
	static uint64_t fork_ns[1001], all_ns[1001];
	pthread_attr_t attr;

	if (rounds > 1001)
		return 2;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (int i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attr, sleep_on, NULL) != 0)
			return 1;
	}
	for (int r = 0; r < rounds; r++) {
		uint64_t start = now();
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		fork_ns[r] = now() - start;
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
		all_ns[r] = now() - start;
	}
	qsort(fork_ns, (size_t)rounds, sizeof(*fork_ns), ascending);
	qsort(all_ns, (size_t)rounds, sizeof(*all_ns), ascending);
	printf("%llu %llu\n", (unsigned long long)fork_ns[rounds / 2],
	       (unsigned long long)all_ns[rounds / 2]);
	fflush(stdout);
	_exit(0);
}
