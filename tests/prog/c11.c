/* SPDX-License-Identifier: MIT */
/* c11: threads created by thrd_create of C11, which does not call the public pthread_create. */
#include "burn.h"

#include <pthread.h>
#include <stdio.h>
#include <threads.h>

static int work(void *arg)
{
	pthread_setname_np(pthread_self(), arg);
	burn_thread_ms(20);
	return 42;
}

static int leave(void *arg)
{
	pthread_setname_np(pthread_self(), arg);
	burn_thread_ms(20);
	thrd_exit(43);
}

int main(void)
{
	thrd_t a, b;
	int got_a = 0, got_b = 0;

	if (thrd_create(&a, work, "c11-return") != thrd_success ||
	    thrd_create(&b, leave, "c11-exit") != thrd_success)
		return 1;
	thrd_join(a, &got_a);
	thrd_join(b, &got_b);
	printf("%d %d\n", got_a, got_b);
	return 0;
}
