// SPDX-License-Identifier: MIT
// bench_lambda.cc - C++ benchmarks of lambdas, called once per operation; the last one with a
// parameter, and with work before each sample that is not measured.
//
//	c++ -std=c++17 -O2 bench_lambda.cc -lpmc -ldl -pthread
#include <pmc/bench.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <numeric>
#include <unistd.h>
#include <unordered_map>
#include <vector>

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
	if (!error) {
		static const int64_t lengths[] = { 64, 65536 };
		struct pmc_bench_case what = PMC_BENCH_CASE_INIT;
		std::vector<unsigned> numbers;

		what.name = "std::lower_bound";
		what.parameter = "length";
		what.values = lengths;
		what.n_values = 2;
		error = pmc::bench_run_case(
			bench, what,
			[&](const pmc_bench_sample &) {
				key = key * 5 + 1;
				PMC_DO_NOT_OPTIMIZE(*std::lower_bound(
					numbers.begin(), numbers.end() - 1, key % numbers.size()));
			},
			[&](const pmc_bench_sample &sample) {
				numbers.resize(static_cast<size_t>(sample.value));
				std::iota(numbers.begin(), numbers.end(), 0u);
			});
	}
	if (!error)
		error = pmc_bench_write(bench, STDOUT_FILENO, PMC_BENCH_MARKDOWN);
	pmc_bench_close(bench);
	if (error)
		std::fprintf(stderr, "bench_lambda: %s\n", std::strerror(-error));
	return error != 0;
}
