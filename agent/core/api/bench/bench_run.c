/* SPDX-License-Identifier: MIT */
/* bench_run.c - one benchmark: warm-up, batch size, samples, statistics; see pmc/bench.h. */
#include "agent/core/base/number.h"
#include "agent/core/api/bench/bench.h"
#include "agent/core/base/clock.h"
#include "agent/core/profile/metrics.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define OPS_MAX	   (UINT64_C(1) << 40)
#define GROWTH_MAX 10

/* Finds the number of operations that lasts sample_ns while warming up. The shorter of at least two
 * calls decides, since another program may have had the CPU. 0: no number does. */
static uint64_t grow(const struct pmc_bench_options *options, pmc_bench_fn run, void *arg)
{
	uint64_t begun = pmc_now_ns(), least = UINT64_MAX, ops = 1;
	unsigned calls = 0;

	for (;;) {
		uint64_t took = bench_pass_time(run, arg, ops);
		bool warm = pmc_now_ns() - begun >= options->warmup_ns;
		uint64_t factor;

		least = took < least ? took : least;
		calls++;
		if (least >= options->sample_ns) {
			if (warm && calls >= 2)
				return ops;
			continue;
		}
		if (ops > OPS_MAX)
			return 0;
		/* A tenth more than the estimate, in sixteenths. */
		factor = options->sample_ns * 18 / (least + 1);
		if (factor > 16 * GROWTH_MAX)
			factor = 16 * GROWTH_MAX;
		ops = ops * factor / 16 > ops ? ops * factor / 16 : ops + 1;
		least = UINT64_MAX;
		calls = 0;
	}
}

struct samples {
	double *per_op;	  /* scratch for one statistic */
	uint64_t *times;  /* of every sample */
	uint64_t *values; /* plan->opened of every sample */
	uint8_t *states;  /* the same */
	uint64_t n;
};

static int samples_take(const struct pmc_bench *bench, struct bench_pass *pass, pmc_bench_fn run,
			void *arg, uint64_t ops, struct pmc_arena *arena, struct samples *samples)
{
	const struct pmc_bench_options *options = &bench->options;
	unsigned opened = bench->plan.opened;
	uint64_t begun;

	*samples = (struct samples){ 0 };
	samples->per_op = pmc_arena_alloc(arena, sizeof(double) * options->max_samples);
	samples->times = pmc_arena_alloc(arena, sizeof(uint64_t) * options->max_samples);
	samples->values =
		pmc_arena_alloc(arena, sizeof(uint64_t) * options->max_samples * (opened + 1));
	samples->states = pmc_arena_alloc(arena, (size_t)options->max_samples * (opened + 1));
	if (!samples->per_op || !samples->times || !samples->values || !samples->states)
		return -ENOMEM;
	begun = pmc_now_ns();
	while (samples->n < options->max_samples &&
	       (samples->n < options->min_samples || pmc_now_ns() - begun < options->total_ns)) {
		struct bench_sample sample;

		bench_pass_sample(pass, run, arg, ops, &sample);
		samples->times[samples->n] = sample.time_ns;
		for (unsigned i = 0; i < opened; i++) {
			samples->values[samples->n * opened + i] = sample.values[i];
			samples->states[samples->n * opened + i] = sample.states[i];
		}
		samples->n++;
	}
	return 0;
}

/* Adds the samples of event i that have this state. */
static void gather(const struct samples *samples, unsigned opened, unsigned i, enum pmc_state state,
		   uint64_t ops, struct pmc_bench_count *count)
{
	for (uint64_t k = 0; k < samples->n; k++) {
		uint64_t at = k * opened + i;

		if (samples->states[at] != state)
			continue;
		samples->per_op[count->samples++] = (double)samples->values[at] / (double)ops;
		count->total += samples->values[at];
	}
}

/* Event i of the plan. For a multiplexed event the samples in which it ran all the time are exact;
 * scaled samples are added only if those are too few. */
static void count_of(const struct pmc_bench *bench, const struct bench_pass *pass,
		     const struct samples *samples, uint64_t ops, unsigned i,
		     struct pmc_bench_count *count)
{
	const struct pmc_planned *planned = &bench->plan.events[i];
	unsigned opened = bench->plan.opened;

	*count = (struct pmc_bench_count){
		.event = planned->event.name,
		.unit = planned->event.unit,
		.core_type = planned->event.core_type ? planned->event.core_type : "",
		.scope = (enum pmc_scope)planned->scope,
		.state = (enum pmc_state)planned->state,
		.error = planned->error,
	};
	if (planned->group == PMC_NO_GROUP)
		return;
	count->error = -pass->groups[planned->group].error;
	gather(samples, opened, i, PMC_COUNTED, ops, count);
	count->state = count->samples ? PMC_COUNTED : PMC_NOT_COUNTED;
	if (count->samples < bench->options.min_samples) {
		uint64_t exact = count->samples;

		gather(samples, opened, i, PMC_SCALED, ops, count);
		if (count->samples > exact)
			count->state = PMC_SCALED;
	}
	if (count->samples)
		bench_stat(samples->per_op, count->samples,
			   (double)count->total / (double)count->samples / (double)ops,
			   &count->per_op);
}

/* Computed by metrics.def. */
static int ipc_of(const struct pmc_bench *bench, const struct pmc_bench_count *figures,
		  uint64_t n_samples, struct pmc_arena *arena, double *ipc)
{
	unsigned n = bench->plan.count, metric = 0;
	struct pmc_p_event *events = pmc_arena_alloc(arena, sizeof(*events) * (n + 1));
	struct pmc_count *counts = pmc_arena_alloc(arena, sizeof(*counts) * (n + 1));
	struct pmc_p_set_view set = { .count = n, .events = events };
	struct pmc_metric_input input = { .set = &set, .counts = counts };

	if (!events || !counts)
		return -ENOMEM;
	*ipc = NAN;
	for (unsigned k = 0; k < n; k++) {
		const struct pmc_planned *planned = &bench->plan.events[bench->order[k]];
		const struct pmc_event *event = &planned->event;

		events[k] = (struct pmc_p_event){
			.name = event->name,
			.core_type = event->core_type,
			.def = { .type = event->type,
				 .scope = planned->scope,
				 .config = event->config,
				 .config1 = event->config1,
				 .config2 = event->config2,
				 .config3 = event->config3 },
		};
		/* Multiplexed groups have values of different samples. */
		counts[k].state =
			pmc_scale(figures[k].total, n_samples, figures[k].samples, &counts[k].raw) ?
				PMC_NOT_COUNTED :
				PMC_COUNTED;
	}
	while (metric < pmc_n_metrics && strcmp(pmc_metrics[metric].name, "ipc"))
		metric++;
	pmc_metric_compute(metric, &input, ipc);
	return 0;
}

static int figures_of(struct pmc_bench *bench, const struct bench_pass *pass,
		      const struct samples *samples, struct pmc_arena *scratch,
		      struct pmc_bench_result *result)
{
	unsigned n = bench->plan.count;
	double total = 0;

	struct pmc_bench_count *counts = pmc_arena_alloc(&bench->arena, sizeof(*counts) * (n + 1));

	if (!counts)
		return -ENOMEM;
	for (unsigned k = 0; k < n; k++)
		count_of(bench, pass, samples, result->ops_per_sample, bench->order[k], &counts[k]);
	for (uint64_t k = 0; k < samples->n; k++) {
		total += (double)samples->times[k];
		samples->per_op[k] = (double)samples->times[k] / (double)result->ops_per_sample;
	}
	result->samples = samples->n;
	result->n_counts = n;
	result->counts = counts;
	bench_stat(samples->per_op, samples->n,
		   total / (double)samples->n / (double)result->ops_per_sample, &result->time_ns);
	if (result->time_ns.median > 0) {
		result->ops_per_s = 1e9 / result->time_ns.median;
		result->bytes_per_s = result->ops_per_s * (double)result->bytes_per_op;
	}
	return ipc_of(bench, counts, samples->n, scratch, &result->ipc);
}

static int measure(struct pmc_bench *bench, pmc_bench_fn run, void *arg, struct pmc_arena *scratch,
		   struct pmc_bench_result *result)
{
	struct bench_pass pass = { 0 };
	struct samples samples;
	int error;

	result->ops_per_sample = grow(&bench->options, run, arg);
	if (!result->ops_per_sample)
		return -ERANGE;
	error = bench_pass_open(&pass, &bench->plan, scratch);
	if (!error) {
		bench_pass_calibrate(&pass);
		error = samples_take(bench, &pass, run, arg, result->ops_per_sample, scratch,
				     &samples);
	}
	bench_pass_close(&pass);
	return error ? error : figures_of(bench, &pass, &samples, scratch, result);
}

int pmc_bench_run(struct pmc_bench *bench, const char *name, pmc_bench_fn run, void *arg,
		  uint64_t bytes_per_op)
{
	struct bench_result *result;
	struct pmc_arena scratch = { 0 };
	int kept = errno, error;

	if (!name || !run)
		return -EINVAL;
	result = pmc_arena_alloc(&bench->arena, sizeof(*result));
	if (result)
		result->is.name = pmc_arena_strdup(&bench->arena, name);
	if (!result || !result->is.name) {
		errno = kept;
		return -ENOMEM;
	}
	result->is.bytes_per_op = bytes_per_op;
	error = measure(bench, run, arg, &scratch, &result->is);
	pmc_arena_free(&scratch);
	if (!error) {
		if (bench->last)
			bench->last->next = result;
		else
			bench->first = result;
		bench->last = result;
		bench->n++;
	}
	errno = kept;
	return error;
}
