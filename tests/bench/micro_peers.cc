// SPDX-License-Identifier: MIT
// micro_peers.cc - the same functions under pmc/bench.h, google-benchmark and nanobench, in turns.
//
//	micro_peers ROUNDS	a line for each function and round: NAME PMC GOOGLE NANOBENCH, in ns
//	micro_peers --peers	which of the peers were found at compile time
//
// A peer that is not installed has a time of 0.
#include <pmc/bench.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>
#ifdef GOOGLE // set if the program also links
#include <benchmark/benchmark.h>
#endif
#if __has_include(<nanobench.h>)
#define ANKERL_NANOBENCH_IMPLEMENT
#include <nanobench.h>
#define NANOBENCH 1
#endif

// Times are medians of 50 samples of 2 ms.
enum { SAMPLES = 50, SAMPLE_MS = 2 };

template <class Op> static double by_pmc(const Op &op)
{
	struct pmc_bench_options options = PMC_BENCH_INIT;
	struct pmc_bench_result result = {};
	struct pmc_bench *bench;

	options.events = "task-clock";
	options.warmup_ns = 10000000;
	options.sample_ns = SAMPLE_MS * 1000000;
	options.min_samples = options.max_samples = SAMPLES;
	if (pmc_bench_open(&bench, &options, nullptr) || pmc::bench_run(bench, "op", op) ||
	    pmc_bench_get(bench, 0, &result))
		std::exit(1);
	pmc_bench_close(bench);
	return result.time_ns.median;
}

template <class Op> static double by_google(const Op &op)
{
#ifdef GOOGLE
	struct Keep : benchmark::BenchmarkReporter {
		double median = 0;

		bool ReportContext(const Context &) override
		{
			return true;
		}
		void ReportRuns(const std::vector<Run> &runs) override
		{
			for (const Run &run : runs)
				if (run.aggregate_name == "median")
					median = run.GetAdjustedRealTime();
		}
	} keep;

	benchmark::ClearRegisteredBenchmarks();
	benchmark::RegisterBenchmark("op",
				     [&op](benchmark::State &state) {
					     for (auto _ : state)
						     op();
				     })
		->MinTime(SAMPLE_MS / 1000.0)
		->Repetitions(SAMPLES)
		->UseRealTime();
	benchmark::RunSpecifiedBenchmarks(&keep);
	return keep.median;
#else
	(void)op;
	return 0;
#endif
}

template <class Op> static double by_nanobench(const Op &op)
{
#ifdef NANOBENCH
	ankerl::nanobench::Bench bench;

	bench.output(nullptr).epochs(SAMPLES).minEpochTime(std::chrono::milliseconds(SAMPLE_MS));
	bench.run("op", op);
	return bench.results().front().median(ankerl::nanobench::Result::Measure::elapsed) * 1e9;
#else
	(void)op;
	return 0;
#endif
}

// The order changes with the round: a machine that drifts slows none of them more.
template <class Op> static void compare(const char *name, int round, const Op &op)
{
	double times[3] = {};

	for (int k = 0; k < 3; k++) {
		const int which = (round + k) % 3;

		times[which] = which == 0 ? by_pmc(op) :
			       which == 1 ? by_google(op) :
					    by_nanobench(op);
	}
	std::printf("%s %.4f %.4f %.4f\n", name, times[0], times[1], times[2]);
}

// ---- work: not inlined, so that all run the same instructions ----------------------------------

static uint64_t numbers[4096];
static std::map<unsigned, unsigned> sorted;

__attribute__((noinline)) static void multiply()
{
	static uint64_t x = 1;

	for (int i = 0; i < 16; i++)
		x = x * 3 + 1;
	PMC_DO_NOT_OPTIMIZE(x);
}

__attribute__((noinline)) static void find()
{
	static unsigned key;

	key = (key + 7) & 1023;
	PMC_DO_NOT_OPTIMIZE(sorted.find(key)->second);
}

__attribute__((noinline)) static void sum()
{
	uint64_t total = 0;

	for (uint64_t number : numbers) {
		total += number;
		PMC_FORGET(total);
	}
	PMC_DO_NOT_OPTIMIZE(total);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !std::strcmp(argv[1], "--peers")) {
#ifdef GOOGLE
		std::puts("google-benchmark");
#endif
#ifdef NANOBENCH
		std::puts("nanobench");
#endif
		return 0;
	}
	for (unsigned i = 0; i < 1024; i++)
		sorted[i] = i;
	for (int round = 0; round < (argc > 1 ? std::atoi(argv[1]) : 3); round++) {
		compare("multiply", round, [] { multiply(); });
		compare("std::map::find", round, [] { find(); });
		compare("sum_of_4096", round, [] { sum(); });
	}
	return 0;
}
