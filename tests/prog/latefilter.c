/* SPDX-License-Identifier: MIT */
/* latefilter TIMES [busy]: starts TIMES children; each installs in its eight threads a seccomp
 * filter that kills on perf_event_open, then all eight create threads. With busy the filter kills
 * on prctl, and they create threads all the time. Prints how many children were killed. */
#include "filter.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8 };
static pthread_barrier_t filtered;
static bool busy;

static void *nothing(void *arg)
{
	return arg;
}

static void *make_threads(void *arg)
{
	pthread_t thread;

	if (!busy)
		pthread_barrier_wait(&filtered);
	for (int i = 0; i < (busy ? 30 : 3); i++)
		if (pthread_create(&thread, NULL, nothing, NULL) == 0)
			pthread_join(thread, NULL);
	return arg;
}

static int child(void)
{
	struct sock_filter code[] =
		FILTER(busy ? SYS_prctl : SYS_perf_event_open, SECCOMP_RET_KILL_PROCESS);
	struct sock_fprog filter = { .len = FILTER_LEN, .filter = code };
	pthread_t threads[THREADS];

	pthread_barrier_init(&filtered, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, make_threads, NULL) != 0)
			return 1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter))
		return 1;
	if (!busy)
		pthread_barrier_wait(&filtered);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 100, died = 0;

	busy = argc > 2;
	/* From now on names of threads are looked up. */
	if (busy)
		pthread_setname_np(pthread_self(), "late");
	for (int i = 0; i < times; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			_exit(child());
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		died += status != 0;
	}
	printf("%d died\n", died);
	return 0;
}
