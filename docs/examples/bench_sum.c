/* SPDX-License-Identifier: MIT */
/*
 * bench_sum.c - compares three ways to add up numbers: time and counters in one table.
 *
 * 	cc -std=c11 -O2 bench_sum.c -lpmc -ldl -pthread
 * 	./a.out          a table in Markdown
 * 	./a.out --json   the same and more as JSON
 */
#include <pmc/bench.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { N = 4096 };

static uint64_t numbers[N];

static void sum(void *arg, uint64_t ops)
{
	const uint64_t *from = arg;

	while (ops--) {
		uint64_t total = 0;

		for (int i = 0; i < N; i++) {
			total += from[i];
			/* Keeps the additions in order. */
			PMC_FORGET(total);
		}
		PMC_DO_NOT_OPTIMIZE(total);
	}
}

static void sum_by_four(void *arg, uint64_t ops)
{
	const uint64_t *from = arg;

	while (ops--) {
		uint64_t part[4] = { 0, 0, 0, 0 };

		for (int i = 0; i < N; i += 4)
			for (int k = 0; k < 4; k++)
				part[k] += from[i + k];
		PMC_DO_NOT_OPTIMIZE(part[0] + part[1] + part[2] + part[3]);
	}
}

static void sum_backwards(void *arg, uint64_t ops)
{
	const uint64_t *from = arg;

	while (ops--) {
		uint64_t total = 0;

		for (int i = N; i-- > 0;) {
			total += from[i];
			PMC_FORGET(total);
		}
		PMC_DO_NOT_OPTIMIZE(total);
	}
}

int main(int argc, char **argv)
{
	struct pmc_bench_options options = PMC_BENCH_INIT;
	struct pmc_failure failure;
	struct pmc_bench *bench;
	int error;

	/* Short runs for an example; the defaults are ten times longer. */
	options.warmup_ns = 5000000;
	options.total_ns = 50000000;
	for (int i = 0; i < N; i++)
		numbers[i] = (uint64_t)i;
	error = pmc_bench_open(&bench, &options, &failure);
	if (error) {
		fprintf(stderr, "bench_sum: %s: %s\n", strerror(-error), failure.advice);
		return 1;
	}
	error = pmc_bench_run(bench, "sum", sum, numbers, sizeof(numbers));
	if (!error)
		error = pmc_bench_run(bench, "sum by four", sum_by_four, numbers, sizeof(numbers));
	if (!error)
		error = pmc_bench_run(bench, "sum backwards", sum_backwards, numbers,
				      sizeof(numbers));
	if (!error)
		error = pmc_bench_write(bench, STDOUT_FILENO,
					argc > 1 && !strcmp(argv[1], "--json") ?
						PMC_BENCH_JSON :
						PMC_BENCH_MARKDOWN);
	pmc_bench_close(bench);
	if (error)
		fprintf(stderr, "bench_sum: %s\n", strerror(-error));
	return error != 0;
}
