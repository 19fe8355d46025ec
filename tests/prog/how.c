/* SPDX-License-Identifier: MIT */
/* how exit N|_exit N|exit_group N|signal N|abort|segv: runs a thread, then ends the process that
 * way. */
#include "burn.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *work(void *arg)
{
	burn_thread_ms(10);
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t thread;

	if (argc < 2 || pthread_create(&thread, NULL, work, NULL))
		return 2;
	pthread_join(thread, NULL);
	puts("ending");
	fflush(stdout);
	if (!strcmp(argv[1], "exit"))
		exit(n);
	if (!strcmp(argv[1], "_exit"))
		_exit(n);
	if (!strcmp(argv[1], "exit_group"))
		syscall(SYS_exit_group, n);
	if (!strcmp(argv[1], "abort"))
		abort();
	if (!strcmp(argv[1], "segv"))
		*(volatile int *)(size_t)argc = 1;
	raise(n);
	return 2;
}
