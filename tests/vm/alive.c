/* SPDX-License-Identifier: MIT */
/*
 * alive TAKE THREADS N ROUNDS HOW [CMD]: threads that each run N instructions ROUNDS times. After
 * the first round TAKE counters of CPU 0 are taken by pinned per-CPU events, as any other user of
 * the PMU may at any time. Half way through,
 *
 *	wait    nothing happens
 *	signal  nothing happens, but the first thread raises SIGUSR2 after every round, on a signal
 *	        stack: printed is how much of it that took beyond what an empty handler takes
 *	churn   the main thread creates a hundred threads of 10,000 instructions one by one
 *	fork    each thread forks a child that runs N
 *	region  nothing happens, but the second thread's rounds are marked as a region
 *	never   the counters were taken before the threads began, each of which runs 2 N at once,
 *		raises SIGUSR2 and ends after a little more
 *	CMD     the main thread runs it while the others stand still
 */
/* prog-flags: -Wl,-z,now -Iinclude */
#include "loop.h"
#include "take.h"

#include <pmc/region.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64, SHORT = 100, PAINT = 0xa5 };

static pthread_barrier_t barrier;
static unsigned long n, rounds;
static const char *how;

static unsigned char stack[256 << 10];

static void nothing(int signo)
{
	(void)signo;
}

static void on_stack(void)
{
	const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };

	sigaltstack(&alternate, NULL);
	memset(stack, PAINT, sizeof(stack));
}

static long taken(void)
{
	long untouched = 0;

	while (untouched < (long)sizeof(stack) && stack[untouched] == PAINT)
		untouched++;
	return (long)sizeof(stack) - untouched;
}

/* What a signal takes anyway. */
static long bare(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = nothing;
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, NULL);
	on_stack();
	raise(SIGUSR1);
	return taken();
}

static void child(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		run_instructions(n);
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		abort();
}

static void *work(void *arg)
{
	const int signals = strcmp(how, "signal") == 0 && !arg;
	long frame = 0;

	if (signals) {
		frame = bare();
		on_stack();
	}
	for (unsigned long i = 0; i < rounds; i++) {
		const int marked = arg && strcmp(how, "region") == 0;

		if (marked)
			pmc_region_begin("round");
		run_instructions(n);
		if (marked)
			pmc_region_end();
		if (signals)
			raise(SIGUSR2);
		if (i == 0 || i == rounds / 2) {
			pthread_barrier_wait(&barrier);
			pthread_barrier_wait(&barrier);
		}
		if (i == rounds / 2 && strcmp(how, "fork") == 0)
			child();
	}
	if (signals)
		printf("%ld\n", taken() - frame);
	return NULL;
}

/* Less than a turn after the groups changed, which had never run. */
static void *work_starved(void *arg)
{
	run_instructions(2 * n);
	raise(SIGUSR2);
	run_instructions(n / 1000);
	return arg;
}

static void *work_little(void *arg)
{
	run_instructions(10000);
	return arg;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	pthread_t thread[MOST], one;
	int bad = 0;

	if (argc < 6 || threads > MOST)
		return 2;
	n = strtoul(argv[3], NULL, 10);
	rounds = strtoul(argv[4], NULL, 10);
	how = argv[5];
	if (strcmp(how, "never") == 0) {
		bad = take_counters(atoi(argv[1]));
		for (unsigned i = 0; i < threads; i++)
			bad |= pthread_create(&one, NULL, work_starved, NULL) ||
			       pthread_join(one, NULL);
		return bad;
	}
	pthread_barrier_init(&barrier, NULL, threads + 1);
	for (unsigned i = 0; i < threads; i++)
		bad |= pthread_create(&thread[i], NULL, work, i ? &thread[i] : NULL);
	pthread_barrier_wait(&barrier);
	bad |= take_counters(atoi(argv[1]));
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	if (argc > 6)
		bad |= system(argv[6]) != 0;
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < SHORT && strcmp(how, "churn") == 0; i++)
		bad |= pthread_create(&one, NULL, work_little, NULL) || pthread_join(one, NULL);
	for (unsigned i = 0; i < threads; i++)
		bad |= pthread_join(thread[i], NULL);
	return bad;
}
