/* SPDX-License-Identifier: MIT */
/*
 * detach FIFO FILE: a daemon that outlives the process that started it: leaves the session, points
 * descriptors 0 to 2 to /dev/null, waits for a byte from FIFO, runs a thread and writes FILE.
 */
#include "burn.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>

static void *work(void *arg)
{
	burn_thread_ms(5);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char c = 0;

	if (argc < 3)
		return 2;
	puts("starting");
	fflush(stdout);
	if (daemon(1, 0))
		return 1;
	int in = open(argv[1], O_RDONLY);

	if (in < 0 || read(in, &c, 1) != 1 || pthread_create(&thread, NULL, work, NULL))
		return 1;
	pthread_join(thread, NULL);
	int out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);

	return out < 0 || write(out, "done\n", 5) != 5;
}
