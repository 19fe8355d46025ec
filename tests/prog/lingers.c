/* SPDX-License-Identifier: MIT */
/*
 * lingers N: a thread stays in its last destructor, called after the agent's, while N more threads
 * start and end; then main returns.
 */
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_key_t key;
static unsigned rounds;
static sem_t lingers;

static void destroy(void *value)
{
	if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
		pthread_setspecific(key, value);
		return;
	}
	sem_post(&lingers);
	for (;;)
		pause();
}

static void *linger(void *arg)
{
	pthread_setspecific(key, &key);
	return arg;
}

static void *end(void *arg)
{
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t thread;

	/* Beyond the first block of 32 keys: glibc calls its destructor after those of the block.
	 */
	for (int i = 0; i < 40; i++)
		if (pthread_key_create(&key, i == 39 ? destroy : NULL) != 0)
			return 1;
	sem_init(&lingers, 0, 0);
	if (pthread_create(&thread, NULL, linger, NULL) != 0)
		return 1;
	sem_wait(&lingers);
	for (int i = 0; i < n; i++) {
		if (pthread_create(&thread, NULL, end, NULL) != 0)
			return 1;
		pthread_join(thread, NULL);
	}
	printf("%d threads\n", n + 2);
	return 0;
}
