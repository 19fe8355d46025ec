/* SPDX-License-Identifier: MIT */
/* main_exit: main leaves by pthread_exit while threads run on; the last of them ends the process.
 */
#include "burn.h"

#include <pthread.h>
#include <stdio.h>

static pthread_t main_thread;

static void *work(void *arg)
{
	pthread_setname_np(pthread_self(), "outlives-main");
	pthread_join(main_thread, NULL);
	burn_thread_ms(20);
	puts("main is gone");
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
	pthread_exit(NULL);
}
