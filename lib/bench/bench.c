/* SPDX-License-Identifier: MIT */
/*
 * bench.c - opening a bench, and its benchmarks: warm-up, batch size, samples, results; see
 * pmc/bench.h.
 *
 * The groups run all the time and are read before and after each call: that disturbs the work less
 * than starting and stopping them. What the readings and the call itself add to the difference is
 * measured once and subtracted.
 */
#include "lib/bench/bench.h"
#include "lib/base/clock.h"
#include "lib/base/number.h"
#include "lib/bench/statistics.h"
#include "lib/count/group.h"
#include "lib/counter/counter.h"
#include "lib/event/formula.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MS	    UINT64_C(1000000)
#define SAMPLES_MAX 1000000

COUNTER_EXPORT(pmc_bench_options, pmc_bench_options_init, PMC_BENCH_INIT)

static int options_of(const struct pmc_bench_options *from, struct pmc_bench_options *to)
{
	*to = (struct pmc_bench_options)PMC_BENCH_INIT;
	if (from && from->size != sizeof(*from))
		return -EINVAL;
	if (from)
		*to = *from;
	if (!to->events)
		to->events = PMC_BENCH_EVENTS;
	if (!to->warmup_ns)
		to->warmup_ns = 50 * MS;
	if (!to->sample_ns)
		to->sample_ns = MS;
	if (!to->total_ns)
		to->total_ns = 500 * MS;
	if (!to->min_samples)
		to->min_samples = 10;
	if (!to->max_samples)
		to->max_samples = to->min_samples > 10000 ? to->min_samples : 10000;
	if (to->min_samples < 2 || to->max_samples < to->min_samples ||
	    to->max_samples > SAMPLES_MAX)
		return -EINVAL;
	return 0;
}

/* Results are in the order of the options; events per core type are adjacent. */
static int order_events(struct pmc_bench *bench)
{
	const struct pmc_plan *plan = &bench->plan;
	unsigned n = 0;

	bench->order = pmc_arena_alloc(&bench->arena, sizeof(*bench->order) * (plan->count + 1));
	if (!bench->order)
		return -ENOMEM;
	for (unsigned position = 0; n < plan->count; position++)
		for (unsigned i = 0; i < plan->count; i++)
			if (plan->events[i].event.position == position)
				bench->order[n++] = i;
	return 0;
}

static int plan_make(struct pmc_bench *bench, struct pmc_failure *failure)
{
	struct pmc_parse_error wrong;
	struct pmc_events events;
	int error;

	error = pmc_events_parse(bench->options.events, NULL, &bench->arena, &events, &wrong);
	if (error)
		return counter_fail(failure, error, bench->options.events, "%s", wrong.text);
	error = pmc_plan_make(&events, pmc_perf_open_self, &bench->arena, &bench->plan);
	return error ? error : order_events(bench);
}

int pmc_bench_open(struct pmc_bench **bench, const struct pmc_bench_options *options,
		   struct pmc_failure *failure)
{
	struct pmc_bench *made;
	int kept = errno, error;

	if (!bench)
		return counter_fail(failure, -EINVAL, "bench", "NULL");
	*bench = NULL;
	made = calloc(1, sizeof(*made));
	error = made ? options_of(options, &made->options) : -ENOMEM;
	if (error == -ENOMEM)
		counter_fail(failure, error, "", "out of memory");
	else if (error)
		counter_fail(failure, error, "options",
			     "begin with PMC_BENCH_INIT; 2 <= min_samples <= max_samples <= %d",
			     SAMPLES_MAX);
	else
		error = plan_make(made, failure);
	if (error)
		pmc_bench_close(made);
	else
		*bench = made;
	errno = kept;
	return error;
}

void pmc_bench_close(struct pmc_bench *bench)
{
	if (!bench)
		return;
	pmc_arena_free(&bench->arena);
	free(bench);
}

int pmc_bench_set_baseline(struct pmc_bench *bench, size_t index)
{
	if (!bench)
		return -EINVAL;
	if (index >= bench->n)
		return -ENOENT;
	bench->baseline = index;
	return 0;
}

size_t pmc_bench_n_results(const struct pmc_bench *bench)
{
	return bench ? bench->n : 0;
}

int pmc_bench_get(const struct pmc_bench *bench, size_t index, struct pmc_bench_result *to)
{
	double was, is;

	if (!bench || !to)
		return -EINVAL;
	if (index >= bench->n)
		return -ENOENT;
	*to = bench->results[index];
	was = bench->results[bench->baseline].time_ns.median;
	is = to->time_ns.median;
	to->baseline = index == bench->baseline;
	to->speedup = was > 0 && is > 0 ? was / is : NAN;
	return 0;
}

#define OPS_MAX	     (UINT64_C(1) << 40)
#define GROWTH_MAX   10
#define CALIBRATIONS 64

/* ---- the batch size -------------------------------------------------------------------------*/

static uint64_t time_of(pmc_bench_fn run, void *arg, uint64_t ops)
{
	uint64_t start = pmc_now_ns();

	run(arg, ops);
	return pmc_now_ns() - start;
}

/* Finds the number of operations that lasts sample_ns while warming up. The shorter of at least two
 * calls decides, since another program may have had the CPU. 0: no number does. */
static uint64_t grow(const struct pmc_bench_options *options, pmc_bench_fn run, void *arg)
{
	uint64_t begun = pmc_now_ns(), least = UINT64_MAX, ops = 1;
	unsigned calls = 0;

	for (;;) {
		uint64_t took = time_of(run, arg, ops), factor;
		bool warm = pmc_now_ns() - begun >= options->warmup_ns;

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

/* ---- one sample -----------------------------------------------------------------------------*/

/* An event in one sample. */
struct value {
	uint64_t count; /* scaled if the state is PMC_SCALED */
	enum pmc_state state;
};

/* The counters of one run; events are in plan order. */
struct counters {
	const struct pmc_plan *plan;
	struct {
		int error; /* -errno if it could not be opened */
		uint64_t id;
	} groups[PMC_EVENTS_MAX];
	int fds[PMC_EVENTS_MAX];
	uint64_t cost_ns, cost[PMC_EVENTS_MAX]; /* of the readings themselves */
};

struct readings {
	struct pmc_reading groups[PMC_EVENTS_MAX];
	uint64_t values[PMC_EVENTS_MAX];
};

static void counters_open(struct counters *counters, const struct pmc_plan *plan)
{
	counters->plan = plan;
	for (unsigned g = 0; g < plan->groups; g++) {
		int *fds = counters->fds + plan->first[g];
		int error =
			pmc_plan_open_group(plan, g, &PMC_PERF_SELF, fds, &counters->groups[g].id);

		counters->groups[g].error = error ? error : pmc_perf_group_enable(*fds);
	}
}

static void read_all(const struct counters *counters, struct readings *readings)
{
	const unsigned *first = counters->plan->first;
	uint64_t words[PMC_PERF_GROUP_WORDS(PMC_EVENTS_MAX)];

	for (unsigned g = 0; g < counters->plan->groups; g++) {
		struct pmc_reading *reading = &readings->groups[g];
		int leader = counters->fds[first[g]];

		*reading = (struct pmc_reading){ .error = (uint32_t)-counters->groups[g].error };
		if (reading->error)
			continue;
		pmc_perf_group_read(leader, counters->groups[g].id, first[g + 1] - first[g],
				    reading, words);
		memcpy(readings->values + first[g], words, reading->n * sizeof(*words));
		/* A pinned group that lost its counters: try to get them back for the next sample.
		 */
		if (reading->error == PMC_REASON_PINNED)
			pmc_perf_group_enable(leader);
	}
}

/* Time and counts of one call, less the cost of the readings. */
static uint64_t take(const struct counters *counters, pmc_bench_fn run, void *arg, uint64_t ops,
		     struct value *values)
{
	const struct pmc_plan *plan = counters->plan;
	struct readings before, after;
	uint64_t time_ns;

	read_all(counters, &before);
	time_ns = time_of(run, arg, ops);
	read_all(counters, &after);
	for (unsigned i = 0; i < plan->opened; i++) {
		const struct pmc_reading *from = &before.groups[plan->events[i].group];
		const struct pmc_reading *to = &after.groups[plan->events[i].group];
		uint64_t enabled = to->enabled_ns - from->enabled_ns;
		uint64_t running = to->running_ns - from->running_ns;

		values[i] = (struct value){ .state = PMC_NOT_COUNTED };
		if (!from->error && !to->error &&
		    !pmc_scaled(after.values[i] - before.values[i], enabled, running,
				&values[i].count))
			values[i].state = running < enabled ? PMC_SCALED : PMC_COUNTED;
		values[i].count = pmc_sub_sat(values[i].count, counters->cost[i]);
	}
	return pmc_sub_sat(time_ns, counters->cost_ns);
}

static void nothing(void *arg, uint64_t ops)
{
	(void)arg;
	(void)ops;
	/* Keeps the compiler from dropping the call. */
	__asm__ volatile("" : : : "memory");
}

/* The least of many samples: at least that much is spent every time. */
static void calibrate(struct counters *counters)
{
	uint64_t least_ns = UINT64_MAX, least[PMC_EVENTS_MAX];
	struct value values[PMC_EVENTS_MAX];

	memset(least, 0xff, sizeof(least));
	for (unsigned k = 0; k < CALIBRATIONS; k++) {
		uint64_t time_ns = take(counters, nothing, NULL, 1, values);

		least_ns = time_ns < least_ns ? time_ns : least_ns;
		for (unsigned i = 0; i < counters->plan->opened; i++)
			if (values[i].state == PMC_COUNTED && values[i].count < least[i])
				least[i] = values[i].count;
	}
	counters->cost_ns = least_ns;
	for (unsigned i = 0; i < counters->plan->opened; i++)
		counters->cost[i] = least[i] == UINT64_MAX ? 0 : least[i];
}

/* ---- all samples ----------------------------------------------------------------------------*/

struct samples {
	uint64_t n, ops; /* samples; operations in each */
	unsigned opened;
	uint64_t *times;
	struct value *values; /* `opened` of every sample */
	double *per_op;	      /* scratch for one statistic */
};

static int samples_take(const struct pmc_bench_options *options, const struct counters *counters,
			pmc_bench_fn run, void *arg, struct pmc_arena *arena,
			struct samples *samples)
{
	uint64_t max = options->max_samples, begun = pmc_now_ns();

	samples->opened = counters->plan->opened;
	samples->times = pmc_arena_alloc(arena, sizeof(*samples->times) * max);
	samples->values =
		pmc_arena_alloc(arena, sizeof(*samples->values) * max * (samples->opened + 1));
	samples->per_op = pmc_arena_alloc(arena, sizeof(double) * max);
	if (arena->failed)
		return -ENOMEM;
	while (samples->n < max &&
	       (samples->n < options->min_samples || pmc_now_ns() - begun < options->total_ns)) {
		samples->times[samples->n] = take(counters, run, arg, samples->ops,
						  samples->values + samples->n * samples->opened);
		samples->n++;
	}
	return 0;
}

/* Adds the samples of event i that have this state. */
static void gather(const struct samples *samples, unsigned i, enum pmc_state state,
		   struct pmc_bench_count *count)
{
	for (uint64_t k = 0; k < samples->n; k++) {
		const struct value *value = &samples->values[k * samples->opened + i];

		if (value->state != state)
			continue;
		samples->per_op[count->samples++] = (double)value->count / (double)samples->ops;
		count->total += value->count;
	}
}

/* ---- results --------------------------------------------------------------------------------*/

/* Of n >= 1 values. -ENOMEM. */
static int stat_of(const double *values, size_t n, struct pmc_bench_stat *stat)
{
	struct bench_summary summary;

	bench_summarize(values, n, &summary);
	*stat = (struct pmc_bench_stat){ .median = summary.median,
					 .mean = summary.mean,
					 .stddev = summary.stddev,
					 .min = summary.min,
					 .max = summary.max };
	return summary.n ? 0 : -ENOMEM;
}

/* Event i of the plan. For a multiplexed event the samples in which it ran all the time are exact;
 * scaled samples are added only if those are too few. */
static void count_of(const struct pmc_bench *bench, const struct counters *counters,
		     const struct samples *samples, unsigned i, struct pmc_bench_count *count)
{
	const struct pmc_planned *planned = &bench->plan.events[i];

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
	count->error = -counters->groups[planned->group].error;
	gather(samples, i, PMC_COUNTED, count);
	count->state = count->samples ? PMC_COUNTED : PMC_NOT_COUNTED;
	if (count->samples < bench->options.min_samples) {
		uint64_t exact = count->samples;

		gather(samples, i, PMC_SCALED, count);
		if (count->samples > exact)
			count->state = PMC_SCALED;
	}
	if (count->samples)
		stat_of(samples->per_op, count->samples, &count->per_op);
}

/* The first count with a value of an event that is this input of a metric. */
static const struct pmc_bench_count *
find(const struct pmc_bench *bench, const struct pmc_bench_count *counts, enum pmc_input input)
{
	for (unsigned k = 0; k < bench->plan.count; k++) {
		const struct pmc_event *event = &bench->plan.events[bench->order[k]].event;

		if (counts[k].samples &&
		    pmc_is_input(input, event->type, event->config, event->name))
			return &counts[k];
	}
	return NULL;
}

static double ipc_of(const struct pmc_bench *bench, const struct pmc_bench_count *counts)
{
	const struct pmc_bench_count *instructions = find(bench, counts, PMC_INPUT_INSTRUCTIONS);
	const struct pmc_bench_count *cycles = find(bench, counts, PMC_INPUT_CYCLES);

	if (!instructions || !cycles || cycles->per_op.mean <= 0 ||
	    instructions->scope != cycles->scope ||
	    strcmp(instructions->core_type, cycles->core_type))
		return NAN;
	return instructions->per_op.mean / cycles->per_op.mean;
}

static int result_make(struct pmc_bench *bench, const struct counters *counters,
		       const struct samples *samples, struct pmc_bench_result *result)
{
	unsigned n = bench->plan.count;
	struct pmc_bench_count *counts = pmc_arena_alloc(&bench->arena, sizeof(*counts) * (n + 1));

	if (!counts)
		return -ENOMEM;
	for (unsigned k = 0; k < n; k++)
		count_of(bench, counters, samples, bench->order[k], &counts[k]);
	for (uint64_t k = 0; k < samples->n; k++)
		samples->per_op[k] = (double)samples->times[k] / (double)samples->ops;
	if (stat_of(samples->per_op, samples->n, &result->time_ns))
		return -ENOMEM;
	result->ops_per_sample = samples->ops;
	result->samples = samples->n;
	result->n_counts = n;
	result->counts = counts;
	result->ipc = ipc_of(bench, counts);
	if (result->time_ns.median > 0) {
		result->ops_per_s = 1e9 / result->time_ns.median;
		result->bytes_per_s = result->ops_per_s * (double)result->bytes_per_op;
	}
	return 0;
}

static int measure(struct pmc_bench *bench, pmc_bench_fn run, void *arg,
		   struct pmc_bench_result *result)
{
	struct samples samples = { .ops = grow(&bench->options, run, arg) };
	struct counters counters = { 0 };
	struct pmc_arena scratch = { 0 };
	int error;

	if (!samples.ops)
		return -ERANGE;
	counters_open(&counters, &bench->plan);
	calibrate(&counters);
	error = samples_take(&bench->options, &counters, run, arg, &scratch, &samples);
	pmc_perf_group_close(counters.fds, bench->plan.opened);
	if (!error)
		error = result_make(bench, &counters, &samples, result);
	pmc_arena_free(&scratch);
	return error;
}

int pmc_bench_run(struct pmc_bench *bench, const char *name, pmc_bench_fn run, void *arg,
		  uint64_t bytes_per_op)
{
	struct pmc_bench_result *results, result = { .bytes_per_op = bytes_per_op };
	int kept = errno, error;

	if (!bench || !name || !run)
		return -EINVAL;
	result.name = pmc_arena_strdup(&bench->arena, name);
	error = result.name ? measure(bench, run, arg, &result) : -ENOMEM;
	/* `run` may have run benchmarks itself. */
	results = pmc_arena_grow(&bench->arena, bench->results, bench->n, &bench->room,
				 sizeof(*results));
	bench->results = results ? results : bench->results;
	if (!error && !results)
		error = -ENOMEM;
	if (!error)
		results[bench->n++] = result;
	errno = kept;
	return error;
}
