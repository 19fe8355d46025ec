/* SPDX-License-Identifier: MIT */
/* tsd: a thread whose thread-specific data burns 30 ms in each of two rounds of destructors. */
#include "burn.h"

#include <pthread.h>
#include <stdio.h>

static pthread_key_t key;
static int rounds;

static void destroy(void *value)
{
	burn_thread_ms(30);
	if (++rounds < 2)
		pthread_setspecific(key, value);
}

static void *work(void *arg)
{
	pthread_setname_np(pthread_self(), "with-tsd");
	pthread_setspecific(key, &key);
	return arg;
}

int main(void)
{
	pthread_t thread;

	if (pthread_key_create(&key, destroy) || pthread_create(&thread, NULL, work, NULL))
		return 1;
	pthread_join(thread, NULL);
	printf("%d rounds\n", rounds);
	return 0;
}
