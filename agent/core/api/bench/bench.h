/* SPDX-License-Identifier: MIT */
/* bench.h - struct pmc_bench; private to agent/core/api. */
#ifndef PMC_CORE_API_BENCH_H
#define PMC_CORE_API_BENCH_H

#include "agent/core/base/out.h"
#include "agent/core/plan/plan.h"

#include <pmc/bench.h>
#include <pmc/group.h>

struct bench_result {
	struct pmc_bench_result is;
	struct bench_result *next;
};

struct pmc_bench {
	struct pmc_arena arena;
	struct pmc_bench_options options; /* with defaults filled in */
	struct pmc_plan plan;
	unsigned *order; /* indexes into plan.events, in the order of the options */
	struct bench_result *first, *last;
	size_t n, baseline;
};

/* ---- bench_pass.c ------------------------------------------------------------------------- */
/* The counters of one run. Values are in plan order. */
struct bench_pass {
	const struct pmc_plan *plan;
	struct bench_group {
		int error; /* -errno if it could not be opened */
		uint64_t id;
		struct pmc_reading before; /* the call */
	} * groups;
	int fds[PMC_EVENTS_MAX];
	uint64_t before[PMC_EVENTS_MAX];	/* values */
	uint64_t cost_ns, cost[PMC_EVENTS_MAX]; /* of the readings themselves */
};

struct bench_sample {
	uint64_t time_ns;
	uint64_t values[PMC_EVENTS_MAX]; /* PMC_NO_VALUE: none this time */
	uint8_t states[PMC_EVENTS_MAX];
};

/* Opens and starts the plan's groups on the calling thread. A group that fails has its error. 0 or
 * -ENOMEM. */
int bench_pass_open(struct bench_pass *pass, const struct pmc_plan *plan, struct pmc_arena *arena);
void bench_pass_close(struct bench_pass *pass);
/* Wall time of one call, without counters. */
uint64_t bench_pass_time(pmc_bench_fn run, void *arg, uint64_t ops);
/* Time and counts of one call, less the cost of the readings. */
void bench_pass_sample(struct bench_pass *pass, pmc_bench_fn run, void *arg, uint64_t ops,
		       struct bench_sample *sample);
/* Measures that cost. */
void bench_pass_calibrate(struct bench_pass *pass);

/* ---- bench_stat.c ------------------------------------------------------------------------- */
/* Statistics of n >= 1 values, which are sorted. The caller gives the mean, which is exact only as
 * a quotient of sums. */
void bench_stat(double *values, size_t n, double mean, struct pmc_bench_stat *stat);

/* ---- bench_write.c, bench_table.c ----------------------------------------------------------- */
bool bench_has_value(const struct pmc_bench_count *count);
/* The reason that count i has no value: one line, cut to fit `text`. Returns it. */
#define BENCH_WHY_BYTES 320
const char *bench_why(const struct pmc_bench *bench, const struct pmc_bench_result *result,
		      size_t i, char *text, size_t bytes);

/* A Markdown table with notes below. */
void bench_markdown(const struct pmc_bench *bench, struct pmc_out *out);

#endif
