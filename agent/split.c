/* SPDX-License-Identifier: MIT */
/*
 * split.c - what threads count with after another user of the PMU took counters away.
 *
 * A group that fitted when the plan was made may never run again. Nobody is told: it shows as a
 * group that was enabled and never ran, when a row is made. That may be in a signal handler, so
 * it is only noted there; the next thread that begins makes a plan with the groups in halves, if
 * need be later one with quarters, and has it, as all that follow. Those alive keep what they
 * have, and their rows say so.
 */
#include "agent/split.h"
#include "agent/agent.h"
#include "agent/file.h"
#include "agent/note.h"

#include <string.h>

/* Halves of halves. */
#define PARTS_MAX (1u << PMC_CONTROL_SPLITS)

/* The plans that slots may name in SLOT_SPLIT, from 1. */
static struct split {
	struct pmc_plan plan, user;
	_Atomic bool written;
} splits[PMC_CONTROL_SPLITS];

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

/* The plan's EVENTSET frame, for the dump and for a look from outside. */
static bool publish(const struct pmc_plan *plan, uint64_t *address, uint64_t *bytes)
{
	const size_t room = (size_t)96 << 10;
	struct pmc_frame_buf buf;
	void *data;

	if (!plan->hash)
		return true;
	data = pmc_arena_alloc(&arena, room);
	if (!data)
		return false;
	pmc_frame_buf_init(&buf, data, room);
	pmc_plan_frame(plan, &buf);
	*bytes = buf.len;
	*address = (uint64_t)(uintptr_t)data;
	return true;
}

/* Plan `at` in place. False: there is nothing left to split, or no memory for it. */
static bool make(unsigned at)
{
	struct pmc_control_split *to = &pmc_agent_control.split[at];
	struct split *split = &splits[at];

	if (pmc_plan_split(at ? &splits[at - 1].plan : &agent.plan, &arena, &split->plan) != 0 ||
	    split->plan.count == 0)
		return false;
	if (agent.user_plan.opened && pmc_plan_user(&split->plan, &arena, &split->user) != 0)
		return false;
	if (!publish(&split->plan, &to->frame, &to->bytes) ||
	    !publish(&split->user, &to->user_frame, &to->user_bytes))
		return false;
	for (unsigned g = 0; g <= split->plan.groups; g++)
		to->first[g] = (uint16_t)split->plan.first[g];
	to->eventset = split->plan.hash;
	to->user_eventset = split->user.hash;
	to->groups = split->plan.groups;
	return true;
}

/* By one thread; others take what is there. */
static void make_wanted(unsigned now)
{
	if (atomic_exchange(&making, true))
		return;
	if (atomic_load(&ready) == now && make(now))
		atomic_store(&ready, now + 1);
	else
		atomic_store(&wanted, now);
	atomic_store(&making, false);
}

static unsigned level_of(const struct slot *slot)
{
	return (slot->flags & SLOT_SPLIT) / SLOT_SPLIT_ONE;
}

void agent_split_choose(struct slot *slot)
{
	unsigned now;

	/* None was ever wanted, none is ready. */
	if (!atomic_load_explicit(&wanted, memory_order_relaxed))
		return;
	now = atomic_load_explicit(&ready, memory_order_acquire);
	if (atomic_load_explicit(&wanted, memory_order_relaxed) > now) {
		make_wanted(now);
		now = atomic_load_explicit(&ready, memory_order_acquire);
	}
	if (now == 0)
		return;
	slot->flags |= now * SLOT_SPLIT_ONE;
	if (atomic_exchange(&splits[now - 1].written, true))
		return;
	agent_file_begin();
	agent_file_append((const void *)(uintptr_t)pmc_agent_control.split[now - 1].frame,
			  pmc_agent_control.split[now - 1].bytes);
}

const struct pmc_plan *agent_split_plan(const struct slot *slot)
{
	unsigned at = level_of(slot);

	return at ? &splits[at - 1].plan : &agent.plan;
}

const struct pmc_plan *agent_split_user_plan(const struct slot *slot)
{
	unsigned at = level_of(slot);

	return at ? &splits[at - 1].user : &agent.user_plan;
}

const uint16_t *agent_split_first(const struct slot *slot)
{
	unsigned at = level_of(slot);

	return at ? pmc_agent_control.split[at - 1].first : pmc_agent_control.first;
}

uint64_t agent_split_eventset(const struct slot *slot)
{
	return (slot->flags & SLOT_USER_ONLY) ? agent_split_user_plan(slot)->hash :
						agent_split_plan(slot)->hash;
}

void agent_split_user_frame(const struct slot *slot)
{
	unsigned at = level_of(slot);

	agent_file_begin();
	if (at)
		agent_file_append(
			(const void *)(uintptr_t)pmc_agent_control.split[at - 1].user_frame,
			pmc_agent_control.split[at - 1].user_bytes);
	else
		agent_file_append(agent.user_frame, agent.user_bytes);
}

/* ---- noticing ------------------------------------------------------------------------------*/

/* Groups that share counters wait for each other: a turn each 4 ms unless the administrator wants
 * it otherwise (perf_event_mux_interval_ms), inherit groups beside them. Turns change on a CPU's
 * clock, and a thread that runs in slices is seldom there: behind a copy that takes all counters
 * it may wait for many. */
static uint64_t patience_ns(const struct pmc_plan *plan)
{
	const uint64_t turns = agent.config.inherit == PMC_INHERIT_FULL ? 8 : 1;

	return turns * (plan->groups + 1) * 8000000;
}

static bool next_reading(const uint8_t **at, size_t *len, struct pmc_reading *reading)
{
	size_t bytes;

	if (*len < sizeof(*reading))
		return false;
	memcpy(reading, *at, sizeof(*reading));
	bytes = sizeof(*reading) + reading->n * sizeof(uint64_t);
	if (bytes > *len)
		return false;
	*at += bytes;
	*len -= bytes;
	return true;
}

static bool is_of_core(const struct pmc_plan *plan, unsigned g)
{
	const char *core_type = plan->events[plan->first[g]].event.core_type;

	return core_type && core_type[0];
}

/* On hybrid CPUs a group rests while its thread is on the other cores: that is no loss. */
static uint64_t ran_on_cores(const struct pmc_plan *plan, const uint8_t *at, size_t len)
{
	struct pmc_reading reading;
	uint64_t ns = 0;

	for (unsigned g = 0; g < plan->groups && next_reading(&at, &len, &reading); g++)
		if (is_of_core(plan, g))
			ns += reading.running_ns;
	return ns;
}

/* The CPU time of threads that ended, one after the other, without the first group on the PMU. */
static _Atomic uint64_t starved_ns;

/*
 * A thread that ends before its patience does tells nothing alone; all of them together do, if it
 * is the first group, which has its turn before the others. With PMC_INHERIT=full it may stand
 * behind a copy that takes all counters, and no smaller group would do better.
 */
static bool has_starved(const struct pmc_plan *plan, const struct pmc_reading *first,
			uint64_t patience)
{
	if (!first->n || is_of_core(plan, 0) || !pmc_plan_is_splittable(plan, 0) ||
	    agent.config.inherit == PMC_INHERIT_FULL)
		return false;
	if (!first->running_ns)
		return atomic_fetch_add(&starved_ns, first->enabled_ns) + first->enabled_ns >
		       patience;
	if (atomic_load_explicit(&starved_ns, memory_order_relaxed))
		atomic_store(&starved_ns, 0);
	return false;
}

void agent_split_look(const struct slot *slot, const uint8_t *readings, size_t len, bool last)
{
	const struct pmc_plan *plan = agent_split_plan(slot);
	uint64_t patience = patience_ns(plan), on_cores;
	unsigned at = level_of(slot);
	struct pmc_reading reading;
	bool lost = false;

	if (at >= PMC_CONTROL_SPLITS)
		return;
	on_cores = ran_on_cores(plan, readings, len);
	for (unsigned g = 0; g < plan->groups && next_reading(&readings, &len, &reading); g++) {
		lost |= reading.n && !reading.running_ns && pmc_plan_is_splittable(plan, g) &&
			reading.enabled_ns > patience + (is_of_core(plan, g) ? on_cores : 0);
		if (g == 0 && last && at == atomic_load_explicit(&wanted, memory_order_relaxed))
			lost |= has_starved(plan, &reading, patience);
	}
	if (lost && atomic_compare_exchange_strong(&wanted, &at, at + 1)) {
		atomic_store(&starved_ns, 0);
		agent_note(NOTE_SPLIT);
	}
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
	atomic_store(&starved_ns, 0);
	for (unsigned i = 0; i < PMC_CONTROL_SPLITS; i++)
		atomic_store(&splits[i].written, false);
}
