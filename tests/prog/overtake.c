/* SPDX-License-Identifier: MIT */
/*
 * overtake N: N children, each with 20 threads. A thread gets SIGTERM, and while it dies of that,
 * each of the others another fatal signal. Prints how many children ended by SIGTERM.
 * prog-flags: -I. -Iinclude */
#include "lib/live/control.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 20 };

static pthread_barrier_t all;

static void *idle(void *arg)
{
	/* Before, libc blocks all signals. */
	pthread_barrier_wait(&all);
	for (;;)
		pause();
	return arg;
}

static int child(void)
{
	static const int others[] = { SIGHUP, SIGINT, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2 };
	/* Without the agent the process is gone. */
	struct pmc_control *control = dlsym(RTLD_DEFAULT, "pmc_agent_control");
	pthread_t threads[THREADS];

	pthread_barrier_init(&all, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, idle, NULL) != 0)
			return 1;
	pthread_barrier_wait(&all);
	pthread_kill(threads[0], SIGTERM);
	while (control && atomic_load(&control->state) == PMC_CONTROL_ON)
		;
	for (int i = 1; i < THREADS; i++)
		pthread_kill(threads[i], others[i % 6]);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 20, terms = 0, status;

	for (int i = 0; i < n; i++) {
		const pid_t pid = fork();

		if (pid == 0)
			return child();
		if (waitpid(pid, &status, 0) != pid)
			return 1;
		terms += WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
	}
	printf("%d of %d ended by SIGTERM\n", terms, n);
	return 0;
}
