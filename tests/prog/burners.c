/* SPDX-License-Identifier: MIT */
/*
 * burners.c - burners N MS: at a line of input, N threads one after the other, each of which uses
 * MS milliseconds of CPU time. Prints the CPU time of the process in ns since then, and ends at the
 * end of input.
 *
 * prog-flags: -pthread
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static long most_ns;

static void *burn(void *arg)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec * 1000000000 + now.tv_nsec < most_ns);
	return arg;
}

static long used_ns(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000000 +
	       (use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	long before;

	if (argc != 3)
		return 2;
	most_ns = atol(argv[2]) * 1000000;
	getchar();
	before = used_ns();
	for (long i = 0; i < atol(argv[1]); i++)
		if (pthread_create(&thread, NULL, burn, NULL) || pthread_join(thread, NULL))
			return 1;
	printf("%ld\n", used_ns() - before);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
