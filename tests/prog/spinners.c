/* SPDX-License-Identifier: MIT */
/*
 * spinners.c - spinners N: ends while N threads compute.
 *
 * prog-flags: -pthread
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int started;

static void *spin(void *arg)
{
	(void)arg;
	atomic_fetch_add(&started, 1);
	for (;;)
		;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t thread;

	for (int i = 0; i < n; i++)
		if (pthread_create(&thread, NULL, spin, NULL))
			return 1;
	while (atomic_load(&started) < n)
		usleep(1000);
	return 0;
}
