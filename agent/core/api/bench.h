/* SPDX-License-Identifier: MIT */
/* bench.h - what is behind struct pmc_bench; private to agent/core/api. */
#ifndef PMC_CORE_API_BENCH_H
#define PMC_CORE_API_BENCH_H

#include "agent/core/plan/plan.h"

#include <pmc/bench.h>
#include <pmc/group.h>

struct bench_result {
	struct pmc_bench_result is;
	struct bench_result *next;
};

struct pmc_bench {
	struct pmc_arena arena;
	struct pmc_bench_options options; /* the usual values filled in */
	struct pmc_plan plan;
	unsigned *order; /* of the list asked for: indexes into plan.events */
	struct bench_result *first, *last;
	size_t n, baseline;
};

/* ---- bench_pass.c ------------------------------------------------------------------------- */
/* The counters of one run, and what one call of the function took. Values are in plan order. */
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
/* Time and counts of one call, the readings' own cost taken off. */
void bench_pass_sample(struct bench_pass *pass, pmc_bench_fn run, void *arg, uint64_t ops,
		       struct bench_sample *sample);
/* Finds out the cost. */
void bench_pass_calibrate(struct bench_pass *pass);

/* ---- bench_stat.c ------------------------------------------------------------------------- */
/* Of n >= 1 values, which it sorts. The mean is what the caller says: sums are exact, means of
 * ratios are not. */
void bench_stat(double *values, size_t n, double mean, struct pmc_bench_stat *stat);

#endif
