/* SPDX-License-Identifier: MIT */
/*
 * bench_pass.c - one pass over the work: clock and counters around a single call.
 *
 * The groups run all the time and are read before and after, which disturbs the work less than
 * starting and stopping them; what both readings and the call itself put into the difference is
 * the same every time, so it is measured and taken off.
 */
#include "agent/core/api/bench.h"
#include "agent/core/base/number.h"
#include "agent/core/base/clock.h"

#include <errno.h>

enum { CALIBRATIONS = 64 };

int bench_pass_open(struct bench_pass *pass, const struct pmc_plan *plan, struct pmc_arena *arena)
{
	*pass = (struct bench_pass){ .plan = plan };
	pass->groups = pmc_arena_alloc(arena, sizeof(*pass->groups) * (plan->groups + 1));
	pass->events = pmc_arena_alloc(arena, sizeof(*pass->events) * (plan->opened + 1));
	pass->errors = pmc_arena_alloc(arena, sizeof(*pass->errors) * (plan->groups + 1));
	if (!pass->groups || !pass->events || !pass->errors)
		return -ENOMEM;
	for (unsigned g = 0; g < plan->groups; g++) {
		unsigned at = plan->first[g], n = plan->first[g + 1] - at;
		struct pmc_typed_event *events = pass->events + at;

		pass->errors[g] =
			typed_open_planned(&pass->groups[g], events, &plan->events[at], n, 0, -1);
		if (!pass->errors[g])
			pass->errors[g] = pmc_typed_enable(&pass->groups[g], events);
	}
	return 0;
}

void bench_pass_close(struct bench_pass *pass)
{
	for (unsigned g = 0; pass->groups && g < pass->plan->groups; g++)
		pmc_typed_close(&pass->groups[g], pass->events + pass->plan->first[g]);
}

uint64_t bench_pass_time(pmc_bench_fn run, void *arg, uint64_t ops)
{
	uint64_t start = pmc_now_ns();

	run(arg, ops);
	return pmc_now_ns() - start;
}

/* A group whose first reading failed has no difference to give. */
static void read_group(struct bench_pass *pass, unsigned g, bool begun, struct bench_sample *sample)
{
	unsigned at = pass->plan->first[g], n = pass->plan->first[g + 1] - at;
	struct pmc_typed_times times;
	int error;

	error = pmc_typed_read(&pass->groups[g], pass->events + at, n, sample->values + at, &times);
	for (unsigned i = at; i < at + n; i++) {
		sample->states[i] = begun ? (uint8_t)times.state : PMC_NOT_COUNTED;
		if (!begun)
			sample->values[i] = PMC_NO_VALUE;
	}
	/* A pinned group lost its place: try to get it back for the next sample. */
	if (error == -ENODATA)
		pmc_typed_enable(&pass->groups[g], pass->events + at);
}

static void take(struct bench_pass *pass, pmc_bench_fn run, void *arg, uint64_t ops,
		 struct bench_sample *sample)
{
	bool begun[PMC_EVENTS_MAX];

	for (unsigned g = 0; g < pass->plan->groups; g++) {
		unsigned at = pass->plan->first[g], n = pass->plan->first[g + 1] - at;

		begun[g] = !pmc_typed_reset(&pass->groups[g], pass->events + at, n);
	}
	sample->time_ns = bench_pass_time(run, arg, ops);
	for (unsigned g = 0; g < pass->plan->groups; g++)
		read_group(pass, g, begun[g], sample);
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
	/* Keeps the call a call. */
	__asm__ volatile("" : : : "memory");
}

/* The least of many: what is taken off was spent for certain. */
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
		/* Estimates are not that small; PMC_NO_VALUE is the greatest number. */
		for (unsigned i = 0; i < pass->plan->opened; i++)
			if (sample.states[i] == PMC_COUNTED && sample.values[i] < pass->cost[i])
				pass->cost[i] = sample.values[i];
	}
	for (unsigned i = 0; i < pass->plan->opened; i++)
		if (pass->cost[i] == UINT64_MAX)
			pass->cost[i] = 0;
}
