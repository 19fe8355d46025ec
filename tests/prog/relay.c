/* SPDX-License-Identifier: MIT */
/*
 * relay.c - relay N US: N threads one after the other. Each prints its TID, sleeps US microseconds,
 * creates the next one, and ends.
 *
 * prog-flags: -pthread
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long left, us;

static void *run(void *arg)
{
	pthread_t next;

	pthread_detach(pthread_self());
	printf("%d\n", gettid());
	fflush(stdout);
	usleep((useconds_t)us);
	if (--left <= 0)
		exit(0);
	if (pthread_create(&next, NULL, run, arg))
		exit(1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t first;

	if (argc != 3)
		return 2;
	left = atol(argv[1]);
	us = atol(argv[2]);
	if (pthread_create(&first, NULL, run, NULL))
		return 1;
	for (;;)
		pause();
}
