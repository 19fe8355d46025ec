/* SPDX-License-Identifier: MIT */
/*
 * pmc/bench.h - microbenchmarks with counters: time and events of the same pass, in one table.
 *
 *	static void sum(void *arg, uint64_t ops)
 *	{
 *		const struct vector *v = arg;
 *
 *		while (ops--) {
 *			uint64_t total = vector_sum(v);
 *			PMC_DO_NOT_OPTIMIZE(total);
 *		}
 *	}
 *
 *	struct pmc_bench *bench;
 *
 *	if (pmc_bench_open(&bench, NULL, NULL) == 0) {
 *		pmc_bench_run(bench, "sum", sum, &v, v.bytes);
 *		pmc_bench_run(bench, "sum, unrolled", sum_unrolled, &v, v.bytes);
 *		pmc_bench_write(bench, STDOUT_FILENO, PMC_BENCH_MARKDOWN);
 *	}
 *	pmc_bench_close(bench);
 *
 * How it measures: the function is called with a number of operations that grows until one call,
 * a sample, lasts 1 ms; then, warm, with that number again and again. Clock and counters are read
 * around each sample, so every figure is of the same work. What the readings themselves cost is
 * measured with a function that does nothing, and taken off. Figures are per operation: of time
 * the median, the mean, the standard deviation (n - 1), the least and the greatest of the samples.
 *
 * It works without a PMU: what cannot be counted is left out of the table, and a line says why. Of
 * a counter that had to share the PMU the samples count in which it ran all of the time; if those
 * are fewer than min_samples the others are scaled, and it is marked so. One that never ran has no
 * value.
 *
 * Functions return 0 or a negative errno. A bench and its results belong to one thread at a time;
 * it counts the thread that calls pmc_bench_run, not threads which the function starts. Not for
 * signal handlers. C11 and C++17; link with -lpmc -ldl -pthread.
 */
#ifndef PMC_BENCH_H
#define PMC_BENCH_H

#include <pmc/dump.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* The compiler must have the value in a register or in memory here, and must take all memory for
 * read and written: what led to the value is not dropped. Emits no instruction by itself. */
#define PMC_DO_NOT_OPTIMIZE(value) __asm__ volatile("" : : "r,m"(value) : "memory")
/* The compiler must forget what it knows of an integer or pointer variable: what follows is not
 * computed at compile time, nor once for all operations. */
#define PMC_FORGET(variable) __asm__ volatile("" : "+r"(variable) : : "memory")

/* Does `ops` operations. */
typedef void (*pmc_bench_fn)(void *arg, uint64_t ops);

struct pmc_bench;
struct pmc_failure; /* <pmc/counter_event.h> */

#define PMC_BENCH_EVENTS "task-clock,cycles,instructions,cache-misses,branch-misses"

/* Start from PMC_BENCH_INIT (in C++ and elsewhere, pmc_bench_options_init). 0 and NULL are the
 * usual values. */
struct pmc_bench_options {
	uint32_t size;	      /* of this struct, so that it may grow */
	uint32_t min_samples; /* 10; at least 2 */
	uint32_t max_samples; /* 10,000; at most 1,000,000 */
	const char *events;   /* as pmctl(1) -e takes them; NULL: PMC_BENCH_EVENTS */
	uint64_t warmup_ns;   /* at least so long before the first sample; 50 ms */
	uint64_t sample_ns;   /* the least length of a sample; 1 ms */
	uint64_t total_ns;    /* samples are taken for so long; 500 ms */
};
#ifdef __cplusplus
static inline struct pmc_bench_options pmc_bench_options_init(void)
{
	struct pmc_bench_options options = {};

	options.size = sizeof(options);
	return options;
}
#define PMC_BENCH_INIT (pmc_bench_options_init())
#else
#define PMC_BENCH_INIT                                                                             \
	{                                                                                          \
		.size = sizeof(struct pmc_bench_options)                                           \
	}
static inline struct pmc_bench_options pmc_bench_options_init(void)
{
	const struct pmc_bench_options options = PMC_BENCH_INIT;

	return options;
}
#endif

/* Finds out which of the events can be counted here. options NULL: the usual ones; failure NULL:
 * no words (see pmc/counter_event.h). *bench is NULL on failure. -ENOENT: no such event name;
 * -EINVAL: malformed, or options out of range; -ENOMEM. That an event cannot be opened is no
 * failure. */
int pmc_bench_open(struct pmc_bench **bench, const struct pmc_bench_options *options,
		   struct pmc_failure *failure);

/* Measures one function. The name is copied. bytes_per_op: for bytes per second, 0: none.
 * -ERANGE: more operations do not take more time; the compiler has dropped the work (see
 * PMC_DO_NOT_OPTIMIZE), or run does not heed ops. -EINVAL: no name or function. -ENOMEM. A failed
 * run leaves no result. Counters that do not open this time are told in the result. */
int pmc_bench_run(struct pmc_bench *bench, const char *name, pmc_bench_fn run, void *arg,
		  uint64_t bytes_per_op);

/* Against which result speed-ups are told: the first one, unless this says another. -ENOENT. */
int pmc_bench_set_baseline(struct pmc_bench *bench, size_t index);

struct pmc_bench_stat {
	double median, mean, stddev, min, max;
};

/* One event of one result. */
struct pmc_bench_count {
	const char *event;     /* as it was asked for */
	const char *unit;      /* "" if it is a plain number */
	const char *core_type; /* on hybrid CPUs the type of core that counts it; else "" */
	enum pmc_state state;
	enum pmc_scope scope; /* PMC_SCOPE_USER where the kernel was not permitted */
	int error;	      /* errno of a refused open, else 0 */
	uint64_t samples;     /* that these figures are of */
	uint64_t total;	      /* of those samples, the readings' own cost taken off */
	/* Per operation. The mean is total / operations, so a rare event is not lost. Means
	 * something only if the state is PMC_COUNTED or PMC_SCALED. */
	struct pmc_bench_stat per_op;
};

struct pmc_bench_result {
	const char *name;
	uint64_t ops_per_sample;
	uint64_t samples;
	uint64_t bytes_per_op;
	struct pmc_bench_stat time_ns; /* wall time per operation */
	double ops_per_s;	       /* of the median time */
	double bytes_per_s;	       /* the same; 0 without bytes_per_op */
	double ipc;		       /* instructions per cycle; NaN if not counted */
	double speedup;		       /* baseline's median / this median; NaN if either is 0 */
	bool baseline;
	size_t n_counts;
	const struct pmc_bench_count *counts; /* in the order of the events asked for */
};

/* Results in the order they were run. Valid until the bench is closed; speedup and baseline are as
 * of the call. -ENOENT: there is no such index. */
size_t pmc_bench_n_results(const struct pmc_bench *bench);
int pmc_bench_get(const struct pmc_bench *bench, size_t index, struct pmc_bench_result *result);

enum pmc_bench_format {
	PMC_BENCH_MARKDOWN, /* a table, readable as it is; notes below it */
	PMC_BENCH_JSON,	    /* one object, see pmc_bench(3) */
};

/* Writes all results to a descriptor. Returns 0 or the errno of write(2). */
int pmc_bench_write(const struct pmc_bench *bench, int fd, enum pmc_bench_format format);

/* Accepts NULL. */
void pmc_bench_close(struct pmc_bench *bench);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}

namespace pmc
{
/* Measures op(), a lambda or anything that can be called, once per operation. It must not throw:
 * between it and the caller is C. */
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
