/* SPDX-License-Identifier: MIT */
/*
 * split_look.c - notices that a group does not run any more; see split.c.
 *
 * Nobody is told when another user of the PMU takes its counters: it shows as time enabled that
 * goes on while time running does not, when a row is made.
 */
#include "agent/base/agent.h"
#include "agent/thread/split.h"
#include "agent/thread/thread.h"

#include <string.h>

#include "agent/base/poison.h"

/* Threads that get smaller groups in one snapshot, which may run in a handler of the host's: some
 * 50 us each. The next snapshot goes on. */
#define MOVES_MOST 128u

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

/* Since the group was last seen to run; since its begin if nobody looked. looks: see slot_more. */
static void since(const uint64_t *looks, unsigned g, struct pmc_reading *reading)
{
	/* After a reset all of it is new. */
	if (!looks || reading->enabled_ns < looks[2 * g] || reading->running_ns < looks[2 * g + 1])
		return;
	reading->enabled_ns -= looks[2 * g];
	reading->running_ns -= looks[2 * g + 1];
}

/* On hybrid CPUs a group rests while its thread is on the other cores: that is no loss. */
static uint64_t ran_on_cores(const struct pmc_plan *plan, const uint64_t *looks, const uint8_t *at,
			     size_t len)
{
	struct pmc_reading reading;
	uint64_t ns = 0;

	for (unsigned g = 0; g < plan->groups && next_reading(&at, &len, &reading); g++) {
		since(looks, g, &reading);
		if (is_of_core(plan, g))
			ns += reading.running_ns;
	}
	return ns;
}

/* Whether a group that a plan of the next level takes apart has waited for too long. */
static bool has_lost(const struct pmc_plan *plan, const uint64_t *looks, const uint8_t *readings,
		     size_t len)
{
	uint64_t patience = patience_ns(plan), on_cores = ran_on_cores(plan, looks, readings, len);
	struct pmc_reading reading;
	bool lost = false;

	for (unsigned g = 0; g < plan->groups && next_reading(&readings, &len, &reading); g++) {
		since(looks, g, &reading);
		lost |= reading.n && !reading.running_ns && pmc_plan_is_splittable(plan, g) &&
			reading.enabled_ns > patience + (is_of_core(plan, g) ? on_cores : 0);
	}
	return lost;
}

/* ---- rows ----------------------------------------------------------------------------------*/

/* The CPU time of threads that ended, one after the other, without the first group on the PMU. */
static _Atomic uint64_t starved_ns;

/*
 * A thread that ends before its patience does tells nothing alone; all of them together do, if it
 * is the first group, which has its turn before the others. With PMC_INHERIT=full it may stand
 * behind a copy that takes all counters, and no smaller group would do better.
 */
static bool has_starved(const struct pmc_plan *plan, const uint8_t *readings, size_t len)
{
	struct pmc_reading first;

	if (!next_reading(&readings, &len, &first) || !first.n || is_of_core(plan, 0) ||
	    !pmc_plan_is_splittable(plan, 0) || agent.config.inherit == PMC_INHERIT_FULL)
		return false;
	if (!first.running_ns)
		return atomic_fetch_add(&starved_ns, first.enabled_ns) + first.enabled_ns >
		       patience_ns(plan);
	if (atomic_load_explicit(&starved_ns, memory_order_relaxed))
		atomic_store(&starved_ns, 0);
	return false;
}

void agent_split_look(const struct slot *slot, unsigned level, const uint8_t *readings, size_t len,
		      bool last)
{
	const struct pmc_plan *plan = agent_split_plan(level);
	bool lost;

	/* Groups that replaced others say for how long those waited, too. */
	if (level >= SLOT_LEVELS || level != slot->born)
		return;
	lost = has_lost(plan, NULL, readings, len);
	if (last && level == agent_split_wanted())
		lost |= has_starved(plan, readings, len);
	if (lost && agent_split_want(level + 1))
		atomic_store(&starved_ns, 0);
}

/* ---- threads that are alive ----------------------------------------------------------------*/

static struct {
	_Atomic bool busy;
	unsigned moves;
} looking;

bool agent_split_begin(void)
{
	if (!agent.plan.hardware || atomic_exchange(&looking.busy, true))
		return false;
	looking.moves = 0;
	return true;
}

void agent_split_end(void)
{
	atomic_store(&looking.busy, false);
}

/* What a look finds that runs is where the next one begins. A group that rests while its thread is
 * on the other cores does not wait for that long. */
static void keep_looks(const struct pmc_plan *plan, uint64_t *looks, const uint8_t *at, size_t len)
{
	const uint64_t on_cores = ran_on_cores(plan, looks, at, len);
	struct pmc_reading reading;

	for (unsigned g = 0; g < plan->groups && next_reading(&at, &len, &reading); g++) {
		const uint64_t later = looks[2 * g] + on_cores;
		const bool waits = reading.n && reading.running_ns == looks[2 * g + 1];

		if (waits && !is_of_core(plan, g))
			continue;
		looks[2 * g] = waits && later < reading.enabled_ns ? later : reading.enabled_ns;
		looks[2 * g + 1] = reading.running_ns;
	}
}

/* Not on the frame that rows are made on: that may be on a host's signal stack. */
__attribute__((noinline)) void agent_split_live(struct slot *slot, unsigned level,
						const uint8_t *readings, size_t len)
{
	const struct pmc_plan *plan = agent_split_plan(level);
	struct slot_more *more;

	if (level >= SLOT_LEVELS || !slot->n_fds ||
	    atomic_load_explicit(&slot->keeps, memory_order_relaxed) == SLOT_KEEPS)
		return;
	more = registry_more(&agent_registry, slot);
	if (!more)
		return;
	if (more->owner != slot->seq + 1)
		memset(slot_looks(more), 0,
		       2 * agent_registry.n_groups * sizeof(*slot_looks(more)));
	more->owner = slot->seq + 1;
	if (!has_lost(plan, slot_looks(more), readings, len)) {
		keep_looks(plan, slot_looks(more), readings, len);
		return;
	}
	agent_split_want(level + 1);
	if (agent_split_ready() > level && looking.moves++ < MOVES_MOST)
		agent_split_move(slot, more, level);
}

void agent_split_look_forked(void)
{
	atomic_store(&starved_ns, 0);
	atomic_store(&looking.busy, false);
}
