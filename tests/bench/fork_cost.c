/* SPDX-License-Identifier: MIT */
/* fork_cost THREADS ROUNDS [FILES] - median ns of fork() and of fork() to the child's exit, with
 * THREADS other threads asleep and FILES files open. */
#include "tests/bench/timing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *sleep_on(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 500, rounds = argc > 2 ? atoi(argv[2]) : 101;
	int files = argc > 3 ? atoi(argv[3]) : 0;
	static uint64_t fork_ns[1001], all_ns[1001];
	pthread_attr_t attr;

	if (rounds > 1001)
		return 2;
	for (int i = 0; i < files; i++)
		if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
			return 1;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (int i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attr, sleep_on, NULL) != 0)
			return 1;
	}
	for (int r = 0; r < rounds; r++) {
		uint64_t start = now_ns();
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		fork_ns[r] = now_ns() - start;
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
		all_ns[r] = now_ns() - start;
	}
	printf("%llu %llu\n", median_ns(fork_ns, rounds), median_ns(all_ns, rounds));
	fflush(stdout);
	_exit(0);
}
