/* SPDX-License-Identifier: MIT */
/* main_exit: main calls pthread_exit while threads still run; the last thread prints the CPU time
 * that main had used and ends the process. */
#include "burn.h"

#include <pthread.h>
#include <stdio.h>

static pthread_t main_thread;
static long long main_ns; /* CPU time of main just before it left */

static void *work(void *arg)
{
	pthread_setname_np(pthread_self(), "outlives-main");
	pthread_join(main_thread, NULL);
	burn_thread_ms(20);
	printf("main is gone after %lld ns\n", main_ns);
	fflush(stdout);
	return arg;
}

int main(void)
{
	pthread_t thread;

	main_thread = pthread_self();
	burn_thread_ms(10);
	if (pthread_create(&thread, NULL, work, NULL))
		return 1;
	pthread_detach(thread);
	main_ns = raw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	pthread_exit(NULL);
}
