// SPDX-License-Identifier: MIT
// bench_lambda.cc - a C++ benchmark of a lambda, called once per operation.
//
//	c++ -std=c++17 -O2 bench_lambda.cc -lpmc -ldl -pthread
#include <pmc/bench.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <unistd.h>
#include <unordered_map>

int main()
{
	struct pmc_bench_options options = PMC_BENCH_INIT;
	struct pmc_bench *bench;
	std::unordered_map<unsigned, unsigned> hashed;
	std::map<unsigned, unsigned> sorted;
	unsigned key = 0;
	int error;

	options.warmup_ns = 5000000;
	options.total_ns = 50000000;
	for (unsigned i = 0; i < 1024; i++)
		hashed[i] = sorted[i] = i;
	error = pmc_bench_open(&bench, &options, nullptr);
	if (!error)
		error = pmc::bench_run(bench, "std::map", [&] {
			key = (key + 7) & 1023;
			PMC_DO_NOT_OPTIMIZE(sorted.find(key)->second);
		});
	if (!error)
		error = pmc::bench_run(bench, "std::unordered_map", [&] {
			key = (key + 7) & 1023;
			PMC_DO_NOT_OPTIMIZE(hashed.find(key)->second);
		});
	if (!error)
		error = pmc_bench_write(bench, STDOUT_FILENO, PMC_BENCH_MARKDOWN);
	pmc_bench_close(bench);
	if (error)
		std::fprintf(stderr, "bench_lambda: %s\n", std::strerror(-error));
	return error != 0;
}
