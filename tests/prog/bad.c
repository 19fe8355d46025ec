/* SPDX-License-Identifier: MIT */
/* bad: a data race and a use after free, which the sanitizers must report. */
#include <pthread.h>
#include <stdlib.h>

static int shared;

static void *work(void *arg)
{
	for (int i = 0; i < 10000; i++)
		shared++;
	return arg;
}

int main(void)
{
	pthread_t a, b;
	volatile int *gone = malloc(sizeof(*gone));

	if (!gone || pthread_create(&a, NULL, work, NULL) || pthread_create(&b, NULL, work, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	*gone = 1;
	free((void *)gone);
	return *gone == 12345;
}
