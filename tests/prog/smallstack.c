/* SPDX-License-Identifier: MIT */
/* smallstack: 20 threads with stacks of 16 KiB, of which each uses 6 KiB. */
#include "burn.h"

#include <limits.h>
#include <pthread.h>

#include <stdio.h>
#include <string.h>

static int deep(void)
{
	volatile char room[6000];
	int n = 0;

	memset((char *)room, 1, sizeof(room));
	burn_thread_ms(1);
	for (unsigned i = 0; i < sizeof(room); i++)
		n += room[i];
	return n;
}

static void *work(void *arg)
{
	*(int *)arg = deep();
	return NULL;
}

int main(void)
{
	pthread_attr_t attr;
	int sum = 0;

	pthread_attr_init(&attr);
	if (pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN))
		return 1;
	for (int i = 0; i < 20; i++) {
		pthread_t thread;
		int n = 0;

		if (pthread_create(&thread, &attr, work, &n))
			return 1;
		pthread_join(thread, NULL);
		sum += n;
	}
	printf("sum %d\n", sum);
	return 0;
}
