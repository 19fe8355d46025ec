/* SPDX-License-Identifier: MIT */
/*
 * fds N: with N threads alive, prints which descriptors open() returns until EMFILE, and the file
 * limits in a child. Prints the number of successful opens to stderr.
 */
#include "burn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static pthread_barrier_t all_here, may_end;

static void *work(void *arg)
{
	burn_thread_ms(1);
	pthread_barrier_wait(&all_here);
	pthread_barrier_wait(&may_end);
	return arg;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 10;
	struct rlimit limit;
	pthread_attr_t attr;
	int fd, last = -1, opened = 0;

	if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, 128 * 1024) ||
	    pthread_barrier_init(&all_here, NULL, n + 1) ||
	    pthread_barrier_init(&may_end, NULL, n + 1))
		return 1;
	for (unsigned i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attr, work, NULL))
			return 1;
		pthread_detach(thread);
	}
	pthread_barrier_wait(&all_here);
	printf("%u threads\n", n);
	getrlimit(RLIMIT_NOFILE, &limit);
	printf("limit %ld\nnumbers", (long)limit.rlim_cur);
	while ((fd = open("/dev/null", O_RDONLY)) >= 0) {
		printf(" %d", fd);
		last = fd;
		opened++;
	}
	printf("\n%s\n", errno == EMFILE ? "EMFILE" : strerror(errno));
	fprintf(stderr, "%d\n", opened);
	for (fd = 3; fd <= last; fd++)
		close(fd);
	fflush(stdout);
	if (system("ulimit -n; ulimit -Hn"))
		return 1;
	printf("dup2 %d\n", dup2(0, 5));
	printf("dup2 %d\n", dup2(5, 40));
	errno = 0;
	printf("close %d %d\n", close(50), errno == EBADF);
	pthread_barrier_wait(&may_end);
	fflush(stdout);
	pthread_exit(NULL);
}
