/* SPDX-License-Identifier: MIT */
/*
 * split.c - what threads count with after another user of the PMU took counters away.
 *
 * The plan is made again with its groups in halves, if need be once more with quarters: level 1 and
 * level 2. The next thread that begins has it, as all that follow; those alive get it when a
 * snapshot finds that one of their groups does not run any more.
 *
 * split_look.c  notices it
 * split_move.c  gives a thread that is alive the groups of the next level
 */
#include "agent/thread/split.h"
#include "agent/base/agent.h"
#include "agent/output/file.h"
#include "agent/base/note.h"

#include <string.h>

/* Halves of halves. */
#define PARTS_MAX (1u << SLOT_LEVELS)

/* The plans of level 1 and up. */
static struct split {
	struct pmc_plan plan, user;
	uint16_t from[PMC_EVENTS_MAX]; /* which events of the level below */
	_Atomic bool written;
} splits[SLOT_LEVELS];

/* How many are made, and how many there should be. */
static _Atomic unsigned ready, wanted;
static _Atomic bool making;
static struct pmc_arena arena;

unsigned agent_split_most_groups(void)
{
	const struct pmc_plan *plan = &agent.plan;
	unsigned most = 0;

	for (unsigned g = 0; g < plan->groups; g++) {
		unsigned n = plan->first[g + 1] - plan->first[g];

		most += !pmc_plan_is_splittable(plan, g) ? 1 : n < PARTS_MAX ? n : PARTS_MAX;
	}
	return most;
}

/* Each in a frame of its own: a handler may be what makes a plan, on the host's signal stack. */
#define APART __attribute__((noinline))

APART static bool divide(unsigned at)
{
	struct split *split = &splits[at];

	return pmc_plan_split(agent_split_plan(at), &arena, &split->plan, split->from) == 0 &&
	       split->plan.count > 0;
}

APART static bool divide_user(unsigned at)
{
	struct split *split = &splits[at];

	return !agent.user_plan.opened || pmc_plan_user(&split->plan, &arena, &split->user) == 0;
}

/* Plan `at` in place. False: there is nothing left to split, or no memory for it. */
static bool make(unsigned at)
{
	struct pmc_control_split *to = &pmc_agent_control.split[at];
	struct split *split = &splits[at];

	if (!divide(at) || !divide_user(at))
		return false;
	to->frame = (uint64_t)(uintptr_t)split->plan.frame;
	to->bytes = split->plan.frame_bytes;
	to->user_frame = (uint64_t)(uintptr_t)split->user.frame;
	to->user_bytes = split->user.frame_bytes;
	for (unsigned g = 0; g <= split->plan.groups; g++)
		to->first[g] = (uint16_t)split->plan.first[g];
	for (unsigned i = 0; i < split->plan.opened; i++)
		to->from[i] =
			at ? pmc_agent_control.split[at - 1].from[split->from[i]] : split->from[i];
	to->eventset = split->plan.hash;
	to->user_eventset = split->user.hash;
	to->groups = split->plan.groups;
	return true;
}

/* By one thread; others take what is there. */
APART static void make_wanted(unsigned now)
{
	if (atomic_exchange(&making, true))
		return;
	if (atomic_load(&ready) == now && make(now))
		atomic_store(&ready, now + 1);
	else
		atomic_store(&wanted, now);
	atomic_store(&making, false);
}

unsigned agent_split_wanted(void)
{
	return atomic_load_explicit(&wanted, memory_order_relaxed);
}

bool agent_split_want(unsigned level)
{
	unsigned below = level - 1;

	if (!atomic_compare_exchange_strong(&wanted, &below, level))
		return false;
	agent_note(NOTE_SPLIT);
	return true;
}

unsigned agent_split_ready(void)
{
	unsigned now = atomic_load_explicit(&ready, memory_order_acquire);

	if (agent_split_wanted() <= now)
		return now;
	make_wanted(now);
	return atomic_load_explicit(&ready, memory_order_acquire);
}

void agent_split_choose(struct slot *slot)
{
	unsigned now;

	/* None was ever wanted, none is ready. */
	if (!agent_split_wanted())
		return;
	now = agent_split_ready();
	if (now == 0)
		return;
	slot->born = now;
	atomic_store_explicit(&slot->level, now, memory_order_relaxed);
	if (atomic_exchange(&splits[now - 1].written, true))
		return;
	agent_file_begin();
	agent_file_append((const void *)(uintptr_t)pmc_agent_control.split[now - 1].frame,
			  pmc_agent_control.split[now - 1].bytes);
}

const struct pmc_plan *agent_split_plan(unsigned level)
{
	return level ? &splits[level - 1].plan : &agent.plan;
}

const struct pmc_plan *agent_split_user_plan(unsigned level)
{
	return level ? &splits[level - 1].user : &agent.user_plan;
}

const uint16_t *agent_split_from(unsigned level)
{
	return splits[level - 1].from;
}

const uint16_t *agent_split_first(unsigned level)
{
	return level ? pmc_agent_control.split[level - 1].first : pmc_agent_control.first;
}

uint64_t agent_split_eventset(const struct slot *slot, unsigned level)
{
	return (slot->flags & SLOT_USER_ONLY) ? agent_split_user_plan(level)->hash :
						agent_split_plan(level)->hash;
}

void agent_split_user_frame(unsigned level)
{
	const struct pmc_plan *plan = agent_split_user_plan(level);

	agent_file_begin();
	agent_file_append(plan->frame, plan->frame_bytes);
}

void agent_split_frames(struct pmc_frame_buf *buf)
{
	unsigned now = atomic_load_explicit(&ready, memory_order_acquire);

	for (unsigned i = 0; i < now; i++)
		pmc_plan_frame(&splits[i].plan, buf);
}

void agent_split_forked(void)
{
	atomic_store(&making, false);
	agent_split_look_forked();
	for (unsigned i = 0; i < SLOT_LEVELS; i++)
		atomic_store(&splits[i].written, false);
}
