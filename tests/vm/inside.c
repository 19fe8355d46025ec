/* SPDX-License-Identifier: MIT */
/*
 * inside THREADS N ROUNDS [CMD...] - threads that are all there before any of them works, each with
 * a loop of N instructions inside three regions, ROUNDS times. CMD runs as a child when all have
 * done that and none has ended: each is inside another region then.
 * prog-flags: -Iinclude -I. */
#include "tests/vm/loop.h"

#include <pmc/region.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t all;
static unsigned long n;
static int rounds;
static char **command;

static void *work(void *arg)
{
	pthread_barrier_wait(&all);
	for (int i = 0; i < rounds; i++) {
		pmc_region_begin("outer");
		run_instructions(n);
		pmc_region_begin("middle");
		run_instructions(n);
		pmc_region_begin("inner");
		run_instructions(n);
		pmc_region_end();
		pmc_region_end();
		pmc_region_end();
	}
	if (command) {
		pmc_region_begin("held");
		pthread_barrier_wait(&all);
	}
	pthread_barrier_wait(&all);
	if (command)
		pmc_region_end();
	return arg;
}

static int run_command(void)
{
	int status;
	pid_t pid;

	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	pid = fork();
	if (pid == 0) {
		execvp(command[0], command);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		status = 1;
	pthread_barrier_wait(&all);
	return status != 0;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1, failed = 0;
	pthread_t list[1024];

	n = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	rounds = argc > 3 ? atoi(argv[3]) : 1;
	if (threads < 1 || threads > 1024)
		return 2;
	command = argc > 4 ? argv + 4 : NULL;
	pthread_barrier_init(&all, NULL, (unsigned)(threads + (command != NULL)));
	for (int i = 0; i < threads; i++)
		if (pthread_create(&list[i], NULL, work, NULL) != 0)
			return 1;
	if (command)
		failed = run_command();
	for (int i = 0; i < threads; i++)
		pthread_join(list[i], NULL);
	return failed;
}
