/* SPDX-License-Identifier: MIT */
/*
 * process_cost ROUNDS IDLE_MS PRELOAD...: starts /bin/true ROUNDS times with each LD_PRELOAD ("-":
 * none), in a new order each round. Prints for each the median time in µs and the median of its
 * per-round difference to the first. With IDLE_MS 0 this program keeps perf events open so that the
 * kernel's perf code stays warm; otherwise it is idle for IDLE_MS before every start.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define VARIANTS_MAX 8

extern char **environ;

struct result {
	double median_us, delta_us;
};

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof(*values), by_value);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static double start_us(const char *preload)
{
	static char *argv[] = { (char *)"true", NULL };
	char *env[512], text[4200];
	double begin;
	int n = 0, status;
	pid_t pid;

	for (char **e = environ; *e && n < 500; e++)
		env[n++] = *e;
	if (strcmp(preload, "-")) {
		snprintf(text, sizeof(text), "LD_PRELOAD=%s", preload);
		env[n++] = text;
	}
	env[n] = NULL;
	begin = now_us();
	if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, env))
		exit(1);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status)
		fprintf(stderr, "process_cost: %s: status %d\n", preload, status);
	return now_us() - begin;
}

static void shuffle(int *order, int n)
{
	for (int i = n - 1; i > 0; i--) {
		int k = rand() % (i + 1), was = order[i];

		order[i] = order[k];
		order[k] = was;
	}
}

static void keep_warm(void)
{
	static const int kinds[] = { PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
				     PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS };

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct perf_event_attr attr;

		memset(&attr, 0, sizeof(attr));
		attr.size = sizeof(attr);
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = (unsigned)kinds[i];
		syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0, variants = argc - 3;
	long idle_ms = argc > 2 ? atol(argv[2]) : 0;
	struct result results[VARIANTS_MAX];
	double *times[VARIANTS_MAX], *deltas;
	int order[VARIANTS_MAX];

	if (rounds < 1 || variants < 1 || variants > VARIANTS_MAX)
		return 2;
	deltas = calloc((size_t)rounds, sizeof(*deltas));
	for (int v = 0; v < variants; v++)
		times[v] = calloc((size_t)rounds, sizeof(**times)), order[v] = v;
	if (!idle_ms)
		keep_warm();
	for (int r = -1; r < rounds; r++) { /* round -1 fills the caches */
		shuffle(order, variants);
		for (int i = 0; i < variants; i++) {
			int v = order[i];
			double us;

			if (idle_ms) {
				struct timespec idle = { idle_ms / 1000, idle_ms % 1000 * 1000000 };
				nanosleep(&idle, NULL);
			}
			us = start_us(argv[3 + v]);
			if (r >= 0)
				times[v][r] = us;
		}
	}
	/* Differences first: the median sorts. */
	for (int v = variants; v--;) {
		double delta;

		for (int r = 0; r < rounds; r++)
			deltas[r] = times[v][r] - times[0][r];
		delta = median(deltas, rounds);
		results[v] = (struct result){ median(v ? times[v] : deltas, rounds), delta };
	}
	results[0].median_us = median(times[0], rounds);
	for (int v = 0; v < variants; v++)
		printf("%.1f %.1f\n", results[v].median_us, results[v].delta_us);
	return 0;
}
