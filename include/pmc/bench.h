/* SPDX-License-Identifier: MIT */
/*
 * pmc/bench.h - microbenchmarks with counters: time and events of the same pass, in one table.
 *
 * 	static void sum(void *arg, uint64_t ops)
 * 	{
 * 		const struct vector *v = arg;
 *
 * 		while (ops--) {
 * 			uint64_t total = vector_sum(v);
 * 			PMC_DO_NOT_OPTIMIZE(total);
 * 		}
 * 	}
 *
 * 	struct pmc_bench *bench;
 *
 * 	if (pmc_bench_open(&bench, NULL, NULL) == 0) {
 * 		pmc_bench_run(bench, "sum", sum, &v, v.bytes);
 * 		pmc_bench_run(bench, "sum, unrolled", sum_unrolled, &v, v.bytes);
 * 		pmc_bench_write(bench, STDOUT_FILENO, PMC_BENCH_MARKDOWN);
 * 	}
 * 	pmc_bench_close(bench);
 *
 * Method: the function is called with a growing number of operations until one call, a sample,
 * lasts 1 ms, and then repeatedly with that number. Clock and counters are read around each sample,
 * so all results are of the same work. The cost of the readings is measured with an empty function
 * and subtracted. Results are per operation: median, mean, standard deviation (n - 1), minimum and
 * maximum of the samples.
 *
 * It works without a PMU: events that cannot be counted are left out of the table, with a line that
 * gives the reason. For a multiplexed event only samples in which it ran all the time are used; if
 * these are fewer than min_samples, the others are scaled and the event is marked. An event that
 * never ran has no value.
 *
 * Functions return 0 or a negative errno. A bench and its results belong to one thread at a time.
 * It counts the thread that calls pmc_bench_run(), not threads that the function starts. Not
 * async-signal-safe. C11 and C++17; link with -lpmc -ldl -pthread.
 */
#ifndef PMC_BENCH_H
#define PMC_BENCH_H

#include <pmc/api.h>
#include <pmc/dump.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

PMC_API_BEGIN

/* Keeps the compiler from dropping the computation of `value`: it must be in a register or memory
 * here, and all memory counts as read and written. Emits no instruction. */
#define PMC_DO_NOT_OPTIMIZE(value) __asm__ volatile("" : : "r,m"(value) : "memory")
/* Hides the value of an integer or pointer variable from the compiler, so that later code is
 * computed neither at compile time nor once for all operations. */
#define PMC_FORGET(variable) __asm__ volatile("" : "+r"(variable) : : "memory")

/* Performs `ops` operations. */
typedef void (*pmc_bench_fn)(void *arg, uint64_t ops);

struct pmc_bench;
struct pmc_failure; /* <pmc/counter_event.h> */

#define PMC_BENCH_EVENTS "task-clock,cycles,instructions,cache-misses,branch-misses"

/* Start from PMC_BENCH_INIT or pmc_bench_options_init(). 0 and NULL mean the default, given here.
 */
struct pmc_bench_options {
	uint32_t size;	      /* of this struct in bytes, for later versions */
	uint32_t min_samples; /* 10; at least 2 */
	uint32_t max_samples; /* 10,000; at most 1,000,000 */
	const char *events;   /* as pmctl-run(1) -e takes them; NULL: PMC_BENCH_EVENTS */
	uint64_t warmup_ns;   /* minimum time before the first sample; 50 ms */
	uint64_t sample_ns;   /* minimum length of a sample; 1 ms */
	uint64_t total_ns;    /* time to take samples; 500 ms */
};
static inline struct pmc_bench_options pmc_bench_options_init(void)
{
	struct pmc_bench_options options;

	memset(&options, 0, sizeof(options));
	options.size = sizeof(options);
	return options;
}
#ifdef __cplusplus
#define PMC_BENCH_INIT (pmc_bench_options_init())
#else
#define PMC_BENCH_INIT                                                                             \
	{                                                                                          \
		.size = sizeof(struct pmc_bench_options)                                           \
	}
#endif

/* Creates a bench and probes which events can be counted. options NULL: defaults; failure NULL: no
 * explanation. *bench is NULL on failure. -ENOENT: unknown event. -EINVAL: malformed events, or
 * options out of range. -ENOMEM. Events that cannot be opened are not an error. */
int pmc_bench_open(struct pmc_bench **bench, const struct pmc_bench_options *options,
		   struct pmc_failure *failure);

/* Measures one function and adds a result. The name is copied. bytes_per_op: for bytes per second;
 * 0: none. -ERANGE: more operations take no more time: the compiler dropped the work (see
 * PMC_DO_NOT_OPTIMIZE), or `run` ignores `ops`. -EINVAL: no name or function. -ENOMEM. The result
 * says which counters could not be opened. Benchmarks that `run` runs itself come first. */
int pmc_bench_run(struct pmc_bench *bench, const char *name, pmc_bench_fn run, void *arg,
		  uint64_t bytes_per_op);

/* Sets the result that speed-ups are relative to; by default the first. -ENOENT: no such index. */
int pmc_bench_set_baseline(struct pmc_bench *bench, size_t index);

struct pmc_bench_stat {
	double median, mean, stddev, min, max;
};

/* One event of one result. */
struct pmc_bench_count {
	const char *event;     /* as in the options */
	const char *unit;      /* "" for a plain count */
	const char *core_type; /* on hybrid CPUs the core type that counts it; else "" */
	enum pmc_state state;
	enum pmc_scope scope; /* PMC_SCOPE_USER if kernel mode is not permitted */
	int error;	      /* errno of a refused open, else 0 */
	uint64_t samples;     /* samples used */
	uint64_t total;	      /* sum of those samples, less the cost of reading */
	/* Per operation; valid if the state is PMC_COUNTED or PMC_SCALED. The mean is total /
	 * operations. */
	struct pmc_bench_stat per_op;
	uint64_t reserved[4];
};

struct pmc_bench_result {
	const char *name;
	uint64_t ops_per_sample;
	uint64_t samples;
	uint64_t bytes_per_op;
	struct pmc_bench_stat time_ns; /* wall time per operation */
	double ops_per_s;	       /* from the median time */
	double bytes_per_s;	       /* from the median time; 0 without bytes_per_op */
	double ipc;		       /* instructions per cycle; NaN if not counted */
	double speedup;		       /* baseline's median / this median; NaN if either is 0 */
	bool baseline;
	size_t n_counts;
	const struct pmc_bench_count *counts; /* in the order of options.events */
	uint64_t reserved[8];
};

/* Results in the order of the runs, valid until the bench is closed. speedup and baseline are those
 * at the call. -ENOENT: no such index. */
size_t pmc_bench_n_results(const struct pmc_bench *bench);
int pmc_bench_get(const struct pmc_bench *bench, size_t index, struct pmc_bench_result *result);

enum pmc_bench_format {
	PMC_BENCH_MARKDOWN, /* a padded table, with notes below */
	PMC_BENCH_JSON,	    /* one object, see pmc_bench(3) */
};

/* Writes all results to a descriptor. 0 or the negative errno of write(2). */
int pmc_bench_write(const struct pmc_bench *bench, int fd, enum pmc_bench_format format);

/* Accepts NULL. */
void pmc_bench_close(struct pmc_bench *bench);

PMC_API_END

#ifdef __cplusplus
namespace pmc
{
/* Measures op(), called once per operation. It must not throw: its caller is C code. */
template <class Op>
inline int bench_run(struct pmc_bench *bench, const char *name, const Op &op,
		     uint64_t bytes_per_op = 0)
{
	struct loop {
		static void run(void *arg, uint64_t ops)
		{
			const Op &one = *static_cast<const Op *>(arg);

			while (ops--)
				one();
		}
	};

	return pmc_bench_run(bench, name, loop::run,
			     const_cast<void *>(static_cast<const void *>(&op)), bytes_per_op);
}
} // namespace pmc
#endif

#endif
