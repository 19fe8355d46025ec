/* SPDX-License-Identifier: MIT */
/* tree DEPTH MS: main and a thread use MS ms of CPU each, then a child does so with DEPTH - 1. */
#include "burn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static long ms;

static void *work(void *arg)
{
	pthread_setname_np(pthread_self(), "leaf");
	burn_thread_ms(ms);
	return arg;
}

int main(int argc, char **argv)
{
	long depth = argc > 1 ? strtol(argv[1], NULL, 10) : 3;
	int status = 0;
	pthread_t thread;

	ms = argc > 2 ? strtol(argv[2], NULL, 10) : 50;
	if (pthread_create(&thread, NULL, work, NULL))
		return 1;
	burn_thread_ms(ms);
	pthread_join(thread, NULL);
	if (depth > 1) {
		char next[24];
		pid_t pid;

		snprintf(next, sizeof(next), "%ld", depth - 1);
		pid = fork();
		if (!pid) {
			execl(argv[0], argv[0], next, argc > 2 ? argv[2] : "50", (char *)NULL);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, &status, 0) < 0)
			return 1;
	}
	printf("depth %ld\n", depth);
	return status ? 1 : 0;
}
