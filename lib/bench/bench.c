/* SPDX-License-Identifier: MIT */
/* bench.c - opening and closing a bench: options, events, results; see pmc/bench.h. */
#include "lib/bench/bench.h"
#include "lib/counter/counter.h"
#include "lib/counter/counter_event.h"

#include <errno.h>
#include <math.h>

#define MS	    UINT64_C(1000000)
#define SAMPLES_MAX 1000000

static int options_of(const struct pmc_bench_options *from, struct pmc_bench_options *to)
{
	*to = pmc_bench_options_init();
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

	if (pmc_events_parse(bench->options.events, NULL, &bench->arena, &events, &wrong))
		return counter_fail(failure, counter_event_error(&wrong), bench->options.events,
				    "%s", wrong.text);
	error = pmc_plan_make(&events, pmc_perf_open_self, &bench->arena, &bench->plan);
	return error ? error : order_events(bench);
}

int pmc_bench_open(struct pmc_bench **bench, const struct pmc_bench_options *options,
		   struct pmc_failure *failure)
{
	struct pmc_arena arena = { 0 };
	struct pmc_bench *made;
	int kept = errno, error;

	if (!bench)
		return counter_fail(failure, -EINVAL, "bench", "NULL");
	*bench = NULL;
	made = pmc_arena_alloc(&arena, sizeof(*made));
	if (!made) {
		errno = kept;
		return counter_fail(failure, -ENOMEM, "", "out of memory");
	}
	made->arena = arena;
	error = options_of(options, &made->options);
	if (error)
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
	struct pmc_arena arena;

	if (!bench)
		return;
	arena = bench->arena;
	pmc_arena_free(&arena);
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

static const struct bench_result *nth(const struct pmc_bench *bench, size_t index)
{
	const struct bench_result *result = bench->first;

	while (result && index--)
		result = result->next;
	return result;
}

int pmc_bench_get(const struct pmc_bench *bench, size_t index, struct pmc_bench_result *to)
{
	const struct bench_result *result, *baseline;
	double was, is;

	if (!bench || !to)
		return -EINVAL;
	result = nth(bench, index);
	baseline = nth(bench, bench->baseline);
	if (!result)
		return -ENOENT;
	was = baseline->is.time_ns.median;
	is = result->is.time_ns.median;
	*to = result->is;
	to->baseline = index == bench->baseline;
	to->speedup = was > 0 && is > 0 ? was / is : NAN;
	return 0;
}
