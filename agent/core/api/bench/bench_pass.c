/* SPDX-License-Identifier: MIT */
/*
 * bench_pass.c - clock and counters around a single call of the benchmarked function.
 *
 * The groups run all the time and are read before and after the call: that disturbs the work less
 * than starting and stopping them. What the readings and the call itself add to the difference is
 * measured once and subtracted.
 */
#include "agent/core/api/bench/bench.h"
#include "agent/core/base/clock.h"
#include "agent/core/base/number.h"

#include <errno.h>
#include <string.h>

enum { CALIBRATIONS = 64 };

static int leader_of(const struct bench_pass *pass, unsigned g)
{
	return pass->fds[pass->plan->first[g]];
}

int bench_pass_open(struct bench_pass *pass, const struct pmc_plan *plan, struct pmc_arena *arena)
{
	*pass = (struct bench_pass){ .plan = plan };
	pass->groups = pmc_arena_alloc(arena, sizeof(*pass->groups) * (plan->groups + 1));
	if (!pass->groups)
		return -ENOMEM;
	for (unsigned g = 0; g < plan->groups; g++) {
		struct bench_group *group = &pass->groups[g];

		group->error = pmc_plan_open_group(plan, g, PMC_GROUP_OWN, 0, -1, 0,
						   pass->fds + plan->first[g], &group->id);
		if (!group->error)
			group->error = pmc_group_enable(leader_of(pass, g));
	}
	return 0;
}

void bench_pass_close(struct bench_pass *pass)
{
	for (unsigned g = 0; pass->groups && g < pass->plan->groups; g++) {
		unsigned first = pass->plan->first[g];

		pmc_group_close(pass->fds + first, pass->plan->first[g + 1] - first);
	}
}

uint64_t bench_pass_time(pmc_bench_fn run, void *arg, uint64_t ops)
{
	uint64_t start = pmc_now_ns();

	run(arg, ops);
	return pmc_now_ns() - start;
}

static void read_group(const struct bench_pass *pass, unsigned g, struct pmc_reading *reading,
		       uint64_t *values)
{
	unsigned first = pass->plan->first[g], n = pass->plan->first[g + 1] - first;
	uint64_t words[PMC_GROUP_WORDS(PMC_EVENTS_MAX)];

	if (pass->groups[g].error) {
		*reading = (struct pmc_reading){ .error = (uint32_t)-pass->groups[g].error };
		return;
	}
	pmc_group_read(leader_of(pass, g), pass->groups[g].id, n, reading, words);
	memcpy(values, words, reading->n * sizeof(*values));
	/* A pinned group that lost its counters: try to get them back for the next sample. */
	if (reading->error == PMC_REASON_PINNED)
		pmc_group_enable(leader_of(pass, g));
}

/* The difference of two readings of a group, in the values of the sample. */
static void subtract(const struct bench_pass *pass, unsigned g, const struct pmc_reading *after,
		     struct bench_sample *sample)
{
	const struct pmc_reading *before = &pass->groups[g].before;
	uint64_t enabled = after->enabled_ns - before->enabled_ns;
	uint64_t running = after->running_ns - before->running_ns;

	for (unsigned i = pass->plan->first[g]; i < pass->plan->first[g + 1]; i++) {
		sample->states[i] = PMC_NOT_COUNTED;
		if (before->error || after->error ||
		    pmc_scale(sample->values[i] - pass->before[i], enabled, running,
			      &sample->values[i]))
			sample->values[i] = PMC_NO_VALUE;
		else
			sample->states[i] = running < enabled ? PMC_SCALED : PMC_COUNTED;
	}
}

static void take(struct bench_pass *pass, pmc_bench_fn run, void *arg, uint64_t ops,
		 struct bench_sample *sample)
{
	const struct pmc_plan *plan = pass->plan;

	for (unsigned g = 0; g < plan->groups; g++)
		read_group(pass, g, &pass->groups[g].before, pass->before + plan->first[g]);
	sample->time_ns = bench_pass_time(run, arg, ops);
	for (unsigned g = 0; g < plan->groups; g++) {
		struct pmc_reading after;

		read_group(pass, g, &after, sample->values + plan->first[g]);
		subtract(pass, g, &after, sample);
	}
}

void bench_pass_sample(struct bench_pass *pass, pmc_bench_fn run, void *arg, uint64_t ops,
		       struct bench_sample *sample)
{
	take(pass, run, arg, ops, sample);
	sample->time_ns = pmc_sub_sat(sample->time_ns, pass->cost_ns);
	for (unsigned i = 0; i < pass->plan->opened; i++)
		if (sample->values[i] != PMC_NO_VALUE)
			sample->values[i] = pmc_sub_sat(sample->values[i], pass->cost[i]);
}

static void nothing(void *arg, uint64_t ops)
{
	(void)arg;
	(void)ops;
	/* Keeps the compiler from dropping the call. */
	__asm__ volatile("" : : : "memory");
}

/* The least of many samples: at least that much is spent every time. */
void bench_pass_calibrate(struct bench_pass *pass)
{
	struct bench_sample sample;

	pass->cost_ns = UINT64_MAX;
	for (unsigned i = 0; i < pass->plan->opened; i++)
		pass->cost[i] = UINT64_MAX;
	for (unsigned k = 0; k < CALIBRATIONS; k++) {
		take(pass, nothing, NULL, 1, &sample);
		if (sample.time_ns < pass->cost_ns)
			pass->cost_ns = sample.time_ns;
		for (unsigned i = 0; i < pass->plan->opened; i++)
			if (sample.states[i] == PMC_COUNTED && sample.values[i] < pass->cost[i])
				pass->cost[i] = sample.values[i];
	}
	for (unsigned i = 0; i < pass->plan->opened; i++)
		if (pass->cost[i] == UINT64_MAX)
			pass->cost[i] = 0;
}
