/* SPDX-License-Identifier: MIT */
/*
 * counters.c - the events of a bench on Linux: plan, passes, and groups on pmc-spawn.
 *
 * Groups are inherited by the command and start at its exec. If the PMU cannot run all events at
 * once, each run counts one group of them (a pass), so that none is multiplexed.
 */
#include "lib/base/advice.h"
#include "lib/dump/words.h"
#include "tools/bench/spawner.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/try_open.h"

#include <stdio.h>

static bool group_needs_pmu(const struct pmc_plan *plan, unsigned group)
{
	for (unsigned i = plan->first[group]; i < plan->first[group + 1]; i++)
		if (pmc_event_needs_pmu(&plan->events[i].event))
			return true;
	return false;
}

/* The pass of a group: groups without hardware events are in each. */
static unsigned pass_of(const struct pmc_plan *plan, unsigned group)
{
	unsigned pass = 0;

	if (!group_needs_pmu(plan, group))
		return BENCH_EVERY_PASS;
	for (unsigned g = 0; g < group; g++)
		pass += group_needs_pmu(plan, g);
	return pass;
}

const char *const bench_remark;

const char *bench_agent_events(struct bench *bench, size_t r)
{
	(void)r;
	return bench->events ? bench->events : pmc_events_default;
}

unsigned bench_pass_of(const struct bench *bench, const struct pmc_planned *event)
{
	return pass_of(&bench->plan, event->group);
}

int bench_make_plan(struct bench *bench, const struct pmc_events *events)
{
	if (pmc_plan_make(events, tool_perf_open, &bench->arena, &bench->plan))
		return tool_fail(EXIT_FAIL, "out of memory");
	for (unsigned g = 0; g < bench->plan.groups; g++)
		bench->passes += group_needs_pmu(&bench->plan, g);
	bench->passes += bench->passes == 0;
	return 0;
}

void bench_why(const struct bench *bench, const struct pmc_planned *event, char *text, size_t cap)
{
	struct pmc_tried tried;
	struct pmc_attr attr;
	struct pmc_here here;

	(void)bench;
	if (event->error >= PMC_REASON_ADOPTED || event->error <= 0) {
		snprintf(text, cap, "%s", pmc_reason_text((uint32_t)event->error));
		return;
	}
	tried = pmc_plan_tried(event, &attr);
	pmc_here_read(&here, NULL);
	pmc_advice_text(event->error, &tried, &here, text, cap);
}

/* ---- groups ------------------------------------------------------------------------------- */

static void read_group(const struct pmc_plan *plan, const struct bench_runner *runner,
		       unsigned group, struct pmc_reading *reading, uint64_t *words)
{
	unsigned first = plan->first[group];

	pmc_perf_group_read(runner->fds[first], runner->ids[group], plan->first[group + 1] - first,
			    reading, words);
}

static bool is_in_pass(const struct bench *bench, unsigned group, unsigned pass)
{
	unsigned of = pass_of(&bench->plan, group);

	return of == BENCH_EVERY_PASS || of == pass;
}

/*
 * An anchor is a disabled event that children do not inherit. Without one the kernel takes the
 * contexts of pmc-spawn and of its child for equal, and may swap them when it switches from one to
 * the other (perf_event_context_sched_out). The child's exec then enables the events of pmc-spawn
 * itself, and what later children inherit is never enabled.
 */
int bench_counters_open(const struct bench *bench, struct bench_runner *runner, unsigned pass)
{
	const struct pmc_plan *plan = &bench->plan;
	const struct pmc_perf_target own = { .pid = runner->pid, .cpu = -1 };
	const struct pmc_perf_target exec = { .kind = PMC_PERF_GROUP_EXEC,
					      .pid = runner->pid,
					      .cpu = -1 };
	uint64_t anchor_id;
	int error = 0;

	for (unsigned g = 0; g < plan->groups && !error; g++) {
		unsigned first = plan->first[g];

		if (!is_in_pass(bench, g, pass) || runner->fds[first] >= 0)
			continue;
		error = pmc_plan_open_group(plan, g, &exec, runner->fds + first, &runner->ids[g]);
		if (!error)
			error = pmc_perf_group_open(&plan->attrs[first], 1, &own,
						    &runner->anchors[g], &anchor_id);
	}
	return error;
}

void bench_counters_close(const struct bench *bench, struct bench_runner *runner)
{
	pmc_perf_group_close(runner->fds, bench->plan.opened);
	pmc_perf_group_close(runner->anchors, bench->plan.groups);
}

void bench_counters_read(const struct bench *bench, struct bench_command *command,
			 const struct bench_runner *runner, unsigned pass, double *values)
{
	const struct pmc_plan *plan = &bench->plan;

	for (unsigned g = 0; g < plan->groups; g++) {
		uint64_t words[PMC_PERF_GROUP_WORDS(PMC_EVENTS_MAX)];
		unsigned first = plan->first[g];
		struct pmc_reading now;

		if (!is_in_pass(bench, g, pass) || runner->fds[first] < 0)
			continue;
		read_group(plan, runner, g, &now, words);
		for (unsigned m = BENCH_EVENTS; now.n && now.running_ns && m < bench->n_measures;
		     m++) {
			unsigned i = (unsigned)(bench->measures[m].event - plan->events);

			if (i < first || i >= plan->first[g + 1])
				continue;
			values[m] = (double)words[i - first];
			if (now.running_ns < now.enabled_ns) {
				values[m] *= (double)now.enabled_ns / (double)now.running_ns;
				command->scaled[i] = true;
			}
		}
	}
}
