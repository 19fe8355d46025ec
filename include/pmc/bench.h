/* SPDX-License-Identifier: MIT */
/*
 * pmc/bench.h - microbenchmarks with counters: time and events of the same pass, in one table.
 *
 * The function is called with a growing number of operations until one call, a sample, lasts 1 ms,
 * and then repeatedly with that number. Clock and counters are read around each sample, and the
 * cost of that is subtracted. Results are per operation. For a multiplexed event only samples in
 * which it ran all the time are used; if these are fewer than min_samples, the others are scaled
 * and the event is marked. Method, statistics and an example: pmc_bench(3).
 *
 * Functions return 0 or a negative errno. A bench and its results belong to one thread at a time.
 * Counted are the thread that calls pmc_bench_run() and the threads of pmc_bench_run_case(), not
 * threads that the function starts. Not async-signal-safe. C11 and C++17; link with -lpmc -ldl
 * -pthread.
 */
#ifndef PMC_BENCH_H
#define PMC_BENCH_H

#include <pmc/api.h>
#include <pmc/counter_event.h>
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

/* One call of the functions of a case. */
struct pmc_bench_sample {
	uint64_t ops;	  /* operations to perform, in each thread */
	int64_t value;	  /* of the parameter; 0: there is none */
	uint32_t thread;  /* from 0; 0 is the thread that called pmc_bench_run_case() */
	uint32_t threads; /* that run at the same time */
};
typedef void (*pmc_bench_sample_fn)(void *arg, const struct pmc_bench_sample *sample);

/* Start from PMC_BENCH_CASE_INIT or pmc_bench_case_init(). 0 and NULL mean the default. */
struct pmc_bench_case {
	uint32_t size;	  /* of this struct in bytes, for later versions */
	uint32_t threads; /* 1; at most 1,024 */
	const char *name;
	pmc_bench_sample_fn run;
	/* Before and after each call of `run`, on thread 0; neither timed nor counted. */
	pmc_bench_sample_fn setup, teardown;
	void *arg;
	uint64_t bytes_per_op;
	const char *parameter; /* its name; NULL: no parameter */
	const int64_t *values; /* of the parameter; a result for each */
	size_t n_values;
};
static inline struct pmc_bench_case pmc_bench_case_init(void)
{
	struct pmc_bench_case what;

	memset(&what, 0, sizeof(what));
	what.size = sizeof(what);
	return what;
}
#ifdef __cplusplus
#define PMC_BENCH_INIT	    (pmc_bench_options_init())
#define PMC_BENCH_CASE_INIT (pmc_bench_case_init())
#else
#define PMC_BENCH_INIT                                                                             \
	{                                                                                          \
		.size = sizeof(struct pmc_bench_options)                                           \
	}
#define PMC_BENCH_CASE_INIT                                                                        \
	{                                                                                          \
		.size = sizeof(struct pmc_bench_case)                                              \
	}
#endif

/* As pmc_bench_run(), for each value of a parameter. With several threads all start `run` at the
 * same time: the time of a sample is that from the first start to the last end, counts are sums
 * over the threads, and operations are those of all threads. Texts are copied. -EINVAL also: too
 * many threads, values without a parameter or the reverse. -EAGAIN: a thread cannot be created.
 * After an error the results of earlier values remain. */
int pmc_bench_run_case(struct pmc_bench *bench, const struct pmc_bench_case *what);

/* Sets the result that speed-ups are relative to; by default the first. Of a case with a parameter
 * all results are: each for those of the same value. -ENOENT: no such index. */
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
	const double *samples_per_op; /* as samples_ns of the result; NaN: not used */
	uint64_t reserved[3];
};

struct pmc_bench_result {
	const char *name;
	uint64_t ops_per_sample; /* of all threads */
	uint64_t samples;
	uint64_t bytes_per_op;
	struct pmc_bench_stat time_ns; /* wall time per operation */
	double ops_per_s;	       /* from the median time */
	double bytes_per_s;	       /* from the median time; 0 without bytes_per_op */
	double ipc;		       /* instructions per cycle; NaN if not counted */
	/* Time of the baseline / this time, of the means without the lowest and highest quarter of
	 * samples; of all samples if there are fewer than 10. NaN: no baseline, or a time of 0. */
	double speedup;
	bool baseline;
	bool significant; /* the interval of the speed-up excludes 1 */
	/* |drift| > 0.05, mad_ns > 0.05 * median, or stddev > 0.25 * mean: measure again. */
	bool unstable;
	uint32_t threads;
	size_t n_counts;
	const struct pmc_bench_count *counts; /* in the order of options.events */
	double mad_ns;			      /* median absolute deviation from the median */
	uint64_t outliers; /* samples beyond the quartiles by > 1.5 interquartile ranges */
	double drift;	   /* median of the second half of samples / that of the first, - 1 */
	/* 95 % interval of the speed-up, with an allowance of 3 % for changes of the machine's
	 * speed between two benchmarks; NaN if there is no speed-up. */
	double speedup_low, speedup_high;
	const double *samples_ns; /* time per operation of each sample, in the order of time */
	const char *parameter;	  /* NULL: none */
	int64_t value;
	uint64_t reserved[4];
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
struct bench_nothing {
	void operator()(const pmc_bench_sample &) const
	{
	}
};

/* Measures op(sample), called once per operation, by all threads at the same time; setup(sample)
 * and teardown(sample) are called before and after each sample. `what` has the rest. None may
 * throw: their caller is C code. */
template <class Op, class Setup = bench_nothing, class Teardown = bench_nothing>
inline int bench_run_case(struct pmc_bench *bench, struct pmc_bench_case what, const Op &op,
			  const Setup &setup = Setup(), const Teardown &teardown = Teardown())
{
	struct calls {
		const Op &op;
		const Setup &setup;
		const Teardown &teardown;
	} all = { op, setup, teardown };

	what.arg = &all;
	what.run = [](void *arg, const pmc_bench_sample *sample) {
		const Op &one = static_cast<calls *>(arg)->op;

		for (uint64_t n = sample->ops; n > 0; n--)
			one(*sample);
	};
	what.setup = [](void *arg, const pmc_bench_sample *sample) {
		static_cast<calls *>(arg)->setup(*sample);
	};
	what.teardown = [](void *arg, const pmc_bench_sample *sample) {
		static_cast<calls *>(arg)->teardown(*sample);
	};
	return pmc_bench_run_case(bench, &what);
}

/* Measures op(), called once per operation. */
template <class Op>
inline int bench_run(struct pmc_bench *bench, const char *name, const Op &op,
		     uint64_t bytes_per_op = 0)
{
	struct pmc_bench_case what = pmc_bench_case_init();

	what.name = name;
	what.bytes_per_op = bytes_per_op;
	return bench_run_case(bench, what, [&op](const pmc_bench_sample &) { op(); });
}
} // namespace pmc
#endif

#endif
