/* SPDX-License-Identifier: MIT */
/*
 * end_race CHILDREN THREADS: each of the child processes, two at a time, starts detached threads
 * and exits when the last one has done its work, so while some are about to end.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int working;

static void *work(void *arg)
{
	for (volatile int i = 0; i < 5000; i++)
		;
	working--;
	return arg;
}

static void child(int threads)
{
	pthread_attr_t detached;
	pthread_t thread;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	working = threads;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, &detached, work, NULL) != 0)
			exit(1);
	while (working)
		sched_yield();
	exit(0);
}

int main(int argc, char **argv)
{
	int children = argc > 2 ? atoi(argv[1]) : 100, threads = argc > 2 ? atoi(argv[2]) : 6;
	int status, failed = 0;

	for (int i = 0; i < children; i++) {
		pid_t pid = fork();

		if (pid == 0)
			child(threads);
		if (i > 0 || pid < 0)
			failed |= wait(&status) < 0 || status;
	}
	failed |= wait(&status) < 0 || status;
	puts(failed ? "failed" : "all ended");
	return failed;
}
