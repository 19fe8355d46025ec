/* SPDX-License-Identifier: MIT */
/*
 * waiters N [ENDED [handler|busy]]: ENDED threads that end, then N that use 1 ms of CPU and wait
 * for the end of stdin: main in read, the others alternately in a futex, read and poll. With
 * handler it installs a handler for SIGUSR2, with busy main uses CPU time until the end of stdin.
 * Prints "ready", then how many reads and polls failed.
 */
#include "burn.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_barrier_t started;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static bool over;
static int ends[2];
static atomic_uint disturbed;
static volatile sig_atomic_t handled;

static void on_signal(int signo)
{
	(void)signo;
	handled = handled + 1;
}

static void *work(void *arg)
{
	burn_thread_ms(1);
	return arg;
}

static void *wait_for_end(void *arg)
{
	char c;

	burn_thread_ms(1);
	pthread_barrier_wait(&started);
	switch ((uintptr_t)arg % 3) {
	case 0:
		pthread_mutex_lock(&mutex);
		while (!over)
			pthread_cond_wait(&condition, &mutex);
		pthread_mutex_unlock(&mutex);
		break;
	case 1:
		/* Restarted after a handler if the kernel restarts it. */
		if (read(ends[0], &c, 1) != 0)
			atomic_fetch_add(&disturbed, 1);
		break;
	default: {
		/* Never restarted after a handler, so that an interruption shows. */
		struct pollfd fd = { ends[0], POLLIN, 0 };

		while (poll(&fd, 1, -1) < 0)
			atomic_fetch_add(&disturbed, errno != EINTR);
	}
	}
	return arg;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 10;
	unsigned ended = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	pthread_t *threads = calloc(n + 1, sizeof(*threads));
	pthread_attr_t attr;
	char c;

	if (!threads || pipe(ends) || pthread_attr_init(&attr) ||
	    pthread_attr_setstacksize(&attr, 128 * 1024) ||
	    pthread_barrier_init(&started, NULL, n + 1))
		return 1;
	if (argc > 3 && !strcmp(argv[3], "handler"))
		signal(SIGUSR2, on_signal);
	for (unsigned i = 0; i < ended; i++)
		if (pthread_create(&threads[0], &attr, work, NULL) ||
		    pthread_join(threads[0], NULL))
			return 1;
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&threads[i], &attr, wait_for_end, (void *)(uintptr_t)i))
			return 1;
	pthread_barrier_wait(&started);
	puts("ready");
	fflush(stdout);
	if (argc > 3 && !strcmp(argv[3], "busy"))
		while (poll(&(struct pollfd){ 0, POLLIN, 0 }, 1, 0) == 0)
			burn_thread_ms(1);
	if (read(0, &c, 1) != 0)
		atomic_fetch_add(&disturbed, 1);
	close(ends[1]);
	pthread_mutex_lock(&mutex);
	over = true;
	pthread_cond_broadcast(&condition);
	pthread_mutex_unlock(&mutex);
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("%u threads, %u disturbed, %d handled\n", n, disturbed, (int)handled);
	free(threads);
	return 0;
}
