/* SPDX-License-Identifier: MIT */
/* loop_bench.c - one benchmark for a second of CPU time and nothing else: what perf stat counts of
 * this program is the harness's work, but for a little. JSON on stdout. */
#include <pmc/bench.h>

#include <unistd.h>

static void multiply(void *arg, uint64_t ops)
{
	uint64_t x = 1;

	(void)arg;
	while (ops--) {
		x = x * 3 + 1;
		PMC_DO_NOT_OPTIMIZE(x);
	}
}

int main(void)
{
	struct pmc_bench_options options = PMC_BENCH_INIT;
	struct pmc_bench *bench;
	int error;

	options.events = "task-clock";
	options.warmup_ns = 1000000;
	options.min_samples = options.max_samples = 1000;
	error = pmc_bench_open(&bench, &options, NULL);
	if (!error)
		error = pmc_bench_run(bench, "multiply", multiply, NULL, 8);
	if (!error)
		error = pmc_bench_write(bench, STDOUT_FILENO, PMC_BENCH_JSON);
	pmc_bench_close(bench);
	return error != 0;
}
