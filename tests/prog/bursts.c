/* SPDX-License-Identifier: MIT */
/*
 * bursts ROUNDS N: two threads start and join N threads each, ROUNDS times. In even rounds (from 0)
 * the N threads wait and end together, so that they compete for CPUs during thread exit.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct gate {
	pthread_mutex_t mutex;
	pthread_cond_t opened;
	bool open;
};

static int rounds, each;

static void *pass(void *arg)
{
	struct gate *gate = arg;

	pthread_mutex_lock(&gate->mutex);
	while (!gate->open)
		pthread_cond_wait(&gate->opened, &gate->mutex);
	pthread_mutex_unlock(&gate->mutex);
	return NULL;
}

static void *make(void *arg)
{
	pthread_t *threads = calloc((size_t)each, sizeof(*threads));
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 32768);
	for (int round = 0; round < rounds; round++) {
		struct gate gate = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
				     round % 2 };

		for (int i = 0; i < each; i++)
			if (pthread_create(&threads[i], &attr, pass, &gate))
				exit(1);
		pthread_mutex_lock(&gate.mutex);
		gate.open = true;
		pthread_cond_broadcast(&gate.opened);
		pthread_mutex_unlock(&gate.mutex);
		for (int i = 0; i < each; i++)
			pthread_join(threads[i], NULL);
	}
	pthread_attr_destroy(&attr);
	free(threads);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t makers[2];

	rounds = argc > 1 ? atoi(argv[1]) : 1;
	each = argc > 2 ? atoi(argv[2]) : 1;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&makers[i], NULL, make, NULL))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(makers[i], NULL);
	printf("%d threads\n", 2 * rounds * each + 3);
	return 0;
}
