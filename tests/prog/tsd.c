/* SPDX-License-Identifier: MIT */
/* tsd [c11]: a thread whose thread-specific data has a destructor that uses 30 ms of CPU in each of
 * two rounds. c11: the key is created by tss_create. */
#include "burn.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <threads.h>

static pthread_key_t key;
static int rounds;
static long long burnt_ns; /* CPU time of the destructors */

static void destroy(void *value)
{
	long long start = raw_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	burn_thread_ms(30);
	burnt_ns += raw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	if (++rounds < 2)
		pthread_setspecific(key, value);
}

static void *work(void *arg)
{
	pthread_setname_np(pthread_self(), "with-tsd");
	pthread_setspecific(key, &key);
	return arg;
}

static bool make_key(bool c11)
{
	tss_t tss;

	if (!c11)
		return pthread_key_create(&key, destroy) == 0;
	if (tss_create(&tss, destroy) != thrd_success)
		return false;
	key = tss; /* in glibc and musl the two types are the same */
	return true;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argv;
	if (!make_key(argc > 1) || pthread_create(&thread, NULL, work, NULL))
		return 1;
	pthread_join(thread, NULL);
	printf("%d rounds, %lld ns\n", rounds, burnt_ns);
	return 0;
}
