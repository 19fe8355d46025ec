/* SPDX-License-Identifier: MIT */
/*
 * totals.c - the inherit groups of the job's first process.
 *
 * The thread group counts every thread of the process, seen or not; the exec group counts exec'd
 * descendants from their exec on. Opened while single-threaded: a group must be complete before
 * a thread inherits it.
 */
#include "agent/totals.h"
#include "agent/agent.h"
#include "agent/core/clock.h"
#include "agent/core/group.h"
#include "agent/note.h"
#include "agent/probe.h"
#include "agent/thread.h"

#include <errno.h>
#include <string.h>

static int open_all(struct agent_totals *totals, const struct pmc_plan *plan,
		    enum pmc_group_kind kind, bool plain)
{
	int move_to, error = 0;

	for (unsigned i = 0; i < AGENT_MAX_FDS; i++)
		totals->fds[i] = -1;
	if (!agent_fds_take(plan->opened))
		return -EMFILE;
	move_to = agent_fds_window_open();
	for (unsigned g = 0; g < plan->groups && !error; g++)
		error = pmc_group_open(plan, g, kind, 0, -1, move_to, totals->fds + plan->first[g],
				       &totals->ids[g]);
	agent_fds_window_close();
	if (error) {
		pmc_group_close(totals->fds, plan->opened);
		agent_fds_give(plan->opened);
		return error;
	}
	totals->plan = plan;
	totals->flags = plain ? PMC_TOTAL_WITH_FORKS : 0;
	return 0;
}

static enum pmc_inherit resolve(enum pmc_inherit asked)
{
	if (asked != PMC_INHERIT_AUTO)
		return asked;
	if (agent.plan.opened == 0)
		return PMC_INHERIT_OFF;
	/* Inherited copies take PMU counters beside the own groups. */
	return agent.plan.hardware ? PMC_INHERIT_CLOCK : PMC_INHERIT_FULL;
}

void agent_totals_open(void)
{
	const struct pmc_plan *plan = &agent.plan;
	int error;

	agent.inherit = resolve(agent.config.inherit);
	if (agent.inherit == PMC_INHERIT_FULL && plan->opened == 0)
		agent.inherit = PMC_INHERIT_CLOCK;
	if (!agent_perf_allowed())
		agent.inherit = PMC_INHERIT_OFF;
	if (agent.inherit == PMC_INHERIT_OFF)
		return;
	if (agent.inherit == PMC_INHERIT_CLOCK) {
		if (pmc_plan_clock(&agent.arena, &agent.clock_plan) != 0)
			return;
		plan = &agent.clock_plan;
	}
	error = open_all(&agent.threads, plan, PMC_GROUP_THREADS, false);
	if (error == -EINVAL) {
		error = open_all(&agent.threads, plan, PMC_GROUP_PLAIN, true);
		if (!error)
			agent_note(NOTE_INHERIT_FORKS);
	}
	if (!error)
		error = open_all(&agent.execs, plan, PMC_GROUP_EXEC, false);
	if (error)
		agent_note(NOTE_INHERIT_OPEN);
	for (unsigned g = 0; agent.threads.plan && g < plan->groups; g++)
		pmc_group_enable(agent.threads.fds[plan->first[g]]);
}

static void one_frame(struct pmc_frame_buf *buf, const struct agent_totals *totals,
		      enum pmc_total_kind kind, uint64_t snapshot)
{
	const struct pmc_plan *plan = totals->plan;
	struct pmc_total_fixed fixed = { .kind = (uint8_t)kind };
	uint32_t reason = 0;

	if (!plan)
		return;
	fixed.flags = (uint8_t)totals->flags;
	fixed.n_groups = (uint16_t)plan->groups;
	fixed.time_ns = pmc_now_ns();
	fixed.eventset = plan->hash;
	pmc_frame_begin(buf, PMC_FRAME_TOTAL, agent.identity, snapshot, &fixed, sizeof(fixed));
	agent_groups_frame(buf, plan, totals->fds, totals->ids, &reason);
	pmc_frame_end(buf);
}

void agent_totals_frames(struct pmc_frame_buf *buf, uint64_t snapshot)
{
	one_frame(buf, &agent.threads, PMC_TOTAL_THREADS, snapshot);
	one_frame(buf, &agent.execs, PMC_TOTAL_EXEC, snapshot);
	if (agent.clock_plan.hash)
		pmc_plan_frame(&agent.clock_plan, buf);
}

static void forget(struct agent_totals *totals)
{
	if (totals->plan)
		pmc_group_close(totals->fds, totals->plan->opened);
	totals->plan = NULL;
}

void agent_totals_forget(void)
{
	forget(&agent.threads);
	forget(&agent.execs);
	agent.clock_plan.hash = 0;
	agent.inherit = PMC_INHERIT_OFF;
}
