/* SPDX-License-Identifier: MIT */
/*
 * bench_cases.c - benchmarks with a parameter, with work before each sample, and on threads: sorts
 * arrays of two sizes in two ways, and lets one and two threads add to a shared number.
 *
 * 	cc -std=c11 -O2 bench_cases.c -lpmc -ldl -pthread
 * 	./a.out          a table in Markdown
 * 	./a.out --json   the same and more as JSON
 */
#include <pmc/bench.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- sorts ---------------------------------------------------------------------------------- */

/* Arrays of `value` numbers, one for each operation of a sample. */
static uint32_t *numbers;

/* Each sample needs unsorted arrays; making them is not measured. */
static void make_arrays(void *arg, const struct pmc_bench_sample *sample)
{
	const size_t n = sample->ops * (size_t)sample->value;
	uint32_t seed = 1;

	(void)arg;
	numbers = malloc(n * sizeof(*numbers));
	if (!numbers)
		abort();
	for (size_t i = 0; i < n; i++)
		numbers[i] = seed = seed * 1664525 + 1013904223;
}

static void free_arrays(void *arg, const struct pmc_bench_sample *sample)
{
	(void)arg;
	(void)sample;
	free(numbers);
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void sort_quickly(void *arg, const struct pmc_bench_sample *sample)
{
	const size_t n = (size_t)sample->value;

	(void)arg;
	for (uint64_t op = 0; op < sample->ops; op++)
		qsort(numbers + op * n, n, sizeof(*numbers), by_value);
}

static void sort_by_insertion(void *arg, const struct pmc_bench_sample *sample)
{
	const size_t n = (size_t)sample->value;

	(void)arg;
	for (uint64_t op = 0; op < sample->ops; op++) {
		uint32_t *array = numbers + op * n;

		for (size_t i = 1; i < n; i++) {
			uint32_t number = array[i];
			size_t k = i;

			for (; k > 0 && array[k - 1] > number; k--)
				array[k] = array[k - 1];
			array[k] = number;
		}
	}
}

/* ---- threads -------------------------------------------------------------------------------- */

static void add(void *arg, const struct pmc_bench_sample *sample)
{
	atomic_ulong *total = arg;

	for (uint64_t op = 0; op < sample->ops; op++)
		atomic_fetch_add(total, 1);
}

static int run(struct pmc_bench *bench)
{
	static const int64_t sizes[] = { 16, 256 };
	struct pmc_bench_case sort = PMC_BENCH_CASE_INIT, count = PMC_BENCH_CASE_INIT;
	atomic_ulong total = 0;
	int error;

	sort.name = "qsort";
	sort.run = sort_quickly;
	sort.setup = make_arrays;
	sort.teardown = free_arrays;
	sort.parameter = "n";
	sort.values = sizes;
	sort.n_values = sizeof(sizes) / sizeof(sizes[0]);
	error = pmc_bench_run_case(bench, &sort);
	if (error)
		return error;
	/* Compared with qsort of as many numbers. */
	sort.name = "insertion";
	sort.run = sort_by_insertion;
	error = pmc_bench_run_case(bench, &sort);
	for (count.threads = 1; count.threads <= 2 && !error; count.threads++) {
		count.name = "atomic add";
		count.run = add;
		count.arg = &total;
		error = pmc_bench_run_case(bench, &count);
	}
	return error;
}

int main(int argc, char **argv)
{
	struct pmc_bench_options options = PMC_BENCH_INIT;
	struct pmc_bench *bench;
	int error;

	/* Short runs for an example; the defaults are ten times longer. */
	options.warmup_ns = 5000000;
	options.total_ns = 50000000;
	error = pmc_bench_open(&bench, &options, NULL);
	if (!error)
		error = run(bench);
	if (!error)
		error = pmc_bench_write(bench, STDOUT_FILENO,
					argc > 1 && !strcmp(argv[1], "--json") ?
						PMC_BENCH_JSON :
						PMC_BENCH_MARKDOWN);
	pmc_bench_close(bench);
	if (error)
		fprintf(stderr, "bench_cases: %s\n", strerror(-error));
	return error != 0;
}
