/* SPDX-License-Identifier: MIT */
/*
 * bad [process|child]: a data race and a use after free, which the sanitizers must report; with an
 * argument the race alone, and an end by _exit, of the process or of a child.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int shared;

static void *work(void *arg)
{
	for (int i = 0; i < 10000; i++)
		shared++;
	return arg;
}

int main(int argc, char **argv)
{
	int status;
	pthread_t a, b;
	volatile int *gone = malloc(sizeof(*gone));

	if (argc > 1 && !strcmp(argv[1], "child") && fork()) {
		wait(&status);
		return WEXITSTATUS(status);
	}
	if (!gone || pthread_create(&a, NULL, work, NULL) || pthread_create(&b, NULL, work, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	if (argc > 1)
		_exit(0);
	*gone = 1;
	free((void *)gone);
	return *gone == 12345;
}
