/* SPDX-License-Identifier: MIT */
/*
 * totals.c - totals of a program that cannot load the agent, from groups that pmctl opens.
 *
 * They are opened on the child before its exec, start with the exec and are inherited by its
 * children. For such programs only: in others they would compete for counters with the agent's.
 */
#include "lib/count/group.h"
#include "lib/dump/frame.h"
#include "lib/plan/plan.h"
#include "tools/cli/pmctl.h"
#include "tools/run/run.h"

#include <string.h>

int run_prepare(struct run *run)
{
	run_check_samples(run);
	for (unsigned i = 0; i < PMC_EVENTS_MAX; i++)
		run->totals.fds[i] = -1;
	return program_obstacle(run->program.kind) && !run->program.hidden ? run_make_plan(run) : 0;
}

void run_totals_open(struct run *run)
{
	struct run_totals *totals = &run->totals;
	const struct pmc_plan *plan = &run->plan;
	const struct pmc_perf_target target = { .kind = PMC_PERF_GROUP_EXEC,
						.pid = run->child.pid,
						.cpu = -1 };

	for (unsigned g = 0; g < plan->groups && !totals->error; g++)
		totals->error = pmc_plan_open_group(plan, g, &target, totals->fds + plan->first[g],
						    &totals->ids[g]);
	if (!totals->error)
		return;
	pmc_perf_group_close(totals->fds, plan->opened);
	tool_warn("no totals of %s: cannot open its counters: %s; see pmctl doctor", run->cmd[0],
		  strerror(-totals->error));
}

/* Finds an event of the plan among counts, which are in the user's order. */
static const struct pmc_count *count_of(const struct pmc_p_set_view *set,
					const struct pmc_count *counts,
					const struct pmc_event *event)
{
	const char *core_type = event->core_type ? event->core_type : "";

	for (unsigned i = 0; i < set->count; i++)
		if (set->events[i].def.position == event->position &&
		    !strcmp(set->events[i].core_type, core_type))
			return &counts[i];
	return NULL;
}

static void subtract(const struct run *run, unsigned g, const struct pmc_p_set_view *set,
		     const struct pmc_count *counts, struct pmc_reading *reading, uint64_t *values)
{
	const struct pmc_plan *plan = &run->plan;

	if (!set || !counts || set->hash != plan->hash)
		return;
	for (unsigned i = 0; i < reading->n; i++) {
		const struct pmc_count *count =
			count_of(set, counts, &plan->events[plan->first[g] + i].event);
		const bool scaled =
			count && (count->state == PMC_SCALED || count->error == PMC_REASON_SCALED);

		if (scaled) {
			*reading = (struct pmc_reading){ .error = PMC_REASON_SCALED };
			return;
		}
		if (count && pmc_count_has_value(count))
			values[i] -= count->raw < values[i] ? count->raw : values[i];
	}
}

/* Subtracts the jobs of programs that this one started: their rows, their unattributed counts, and
 * their descendants. */
static void subtract_jobs(const struct run *run, unsigned g, const struct pmc_profile *profile,
			  struct pmc_reading *reading, uint64_t *values)
{
	struct pmc_thread_buf buf;

	for (uint64_t t = 0; reading->n && t < profile->n_threads; t++) {
		const struct pmc_p_thread *row =
			pmc_profile_thread(profile, profile->threads[t], &buf);

		subtract(run, g, row->set, row->counts, reading, values);
	}
	for (uint64_t i = 0; reading->n && i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		subtract(run, g, process->unattributed.set, process->unattributed.counts, reading,
			 values);
		subtract(run, g, process->descendants.set, process->descendants.counts, reading,
			 values);
	}
}

void run_totals_frames(const struct run *run, const struct pmc_profile *profile,
		       const uint8_t identity[16], struct pmc_frame_buf *buf)
{
	const struct run_totals *totals = &run->totals;
	const struct pmc_plan *plan = &run->plan;
	struct pmc_total_fixed fixed = {
		.kind = PMC_TOTAL_THREADS,
		.flags = PMC_TOTAL_WITH_FORKS,
		.time_ns = run->child.end_ns,
	};

	if (totals->error || !plan->hash)
		return;
	fixed.n_groups = (uint16_t)plan->groups;
	fixed.eventset = pmc_plan_frame(plan, buf);
	pmc_frame_begin(buf, PMC_FRAME_TOTAL, identity, 1, &fixed, sizeof(fixed));
	for (unsigned g = 0; g < plan->groups; g++) {
		uint64_t words[PMC_PERF_GROUP_WORDS(PMC_EVENTS_MAX)];
		unsigned first = plan->first[g];
		struct pmc_reading reading;

		pmc_perf_group_read(totals->fds[first], totals->ids[g], plan->first[g + 1] - first,
				    &reading, words);
		subtract_jobs(run, g, profile, &reading, words);
		pmc_put_reading(buf, &reading, words);
	}
	pmc_frame_end(buf);
}
