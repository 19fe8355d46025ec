/* SPDX-License-Identifier: MIT */
/*
 * snapshot THREADS ROUNDS - cost of a snapshot compared with plain reads of as many groups.
 *
 * Run under the agent with PMC_DUMP=USR2 and four software events. Each round reads one group of
 * the same four events per thread, opened by this program, and then raises SIGUSR2. Prints the
 * medians in ns: plain reads, snapshot.
 */
#include "tests/bench/group.h"
#include "tests/bench/timing.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static sem_t ready;
static int tids[4096];

static void *wait_for_ever(void *arg)
{
	*(int *)arg = (int)syscall(SYS_gettid);
	sem_post(&ready);
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000, rounds = argc > 2 ? atoi(argv[2]) : 21;
	static int leaders[4096];
	static uint64_t bare[256], snapshot[256];
	pthread_attr_t attr;

	if (n > 4096 || rounds > 256)
		return 2;
	sem_init(&ready, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (int i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attr, wait_for_ever, &tids[i]) != 0)
			return 1;
		while (sem_wait(&ready) != 0 && errno == EINTR)
			;
	}
	for (int i = 0; i < n; i++)
		leaders[i] = open_group(tids[i]);
	for (int r = 0; r < rounds; r++) {
		uint64_t data[3 + 2 * 4], start = now_ns();

		for (int i = 0; i < n; i++)
			if (read(leaders[i], data, sizeof(data)) != sizeof(data))
				return 1;
		bare[r] = now_ns() - start;
		start = now_ns();
		raise(SIGUSR2);
		snapshot[r] = now_ns() - start;
	}
	printf("%llu %llu\n", median_ns(bare, rounds), median_ns(snapshot, rounds));
	fflush(stdout);
	_exit(0);
}
