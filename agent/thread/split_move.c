/* SPDX-License-Identifier: MIT */
/*
 * split_move.c - smaller groups for a thread that is alive; see split.c.
 *
 * The new set is made beside the old one, and one store makes it the thread's: whoever reads the
 * old one meanwhile finds it as it was when it stopped. What the old groups counted is what the
 * new ones begin with (a base of less than nothing). Groups that stay whole are the same events in
 * both sets and miss nothing; the others are off for the moment between, in time enabled too.
 */
#include "agent/base/agent.h"
#include "agent/core/count/group.h"
#include "agent/core/base/sys.h"
#include "agent/base/seccomp_probe.h"
#include "agent/thread/split.h"
#include "agent/thread/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>

#include "agent/base/poison.h"

/* How often a thread that marks its first region looks again, a yield apart. */
#define PATIENCE 10000u

/* A thread's groups before and after. */
struct change {
	struct slot *slot;
	const struct pmc_plan *old_plan, *plan;
	uint64_t *old_set, *set;
	const uint16_t *from;
};

/* One change at a time. Not on the stack, which may be the host's signal stack. */
static uint64_t words[PMC_GROUP_WORDS(PMC_EVENTS_MAX)];

static const struct pmc_plan *plan_of(const struct slot *slot, unsigned level)
{
	return (slot->flags & SLOT_USER_ONLY) ? agent_split_user_plan(level) :
						agent_split_plan(level);
}

/* The group of the old plan that new group g is, or is a part of. */
static unsigned old_group(const struct change *change, unsigned g)
{
	return change->old_plan->events[change->from[change->plan->first[g]]].group;
}

static bool stays(const struct change *change, unsigned g)
{
	return !pmc_plan_is_splittable(change->old_plan, old_group(change, g));
}

static int *old_fds(const struct change *change, unsigned g)
{
	return set_fds(&agent_registry, change->old_set) + change->old_plan->first[g];
}

static int *new_fds(const struct change *change, unsigned g)
{
	return set_fds(&agent_registry, change->set) + change->plan->first[g];
}

/* Another descriptor for each event of a group that stays. */
static int share(const struct change *change, unsigned g, int move_to)
{
	unsigned n = change->plan->first[g + 1] - change->plan->first[g];
	unsigned old = old_group(change, g);

	for (unsigned i = 0; i < n; i++) {
		const volatile int *from = &old_fds(change, old)[i];
		const int number = *from;
		int fd = (int)pmc_sys3(SYS_fcntl, number, F_DUPFD_CLOEXEC, move_to);

		if (fd < 0)
			return fd;
		new_fds(change, g)[i] = fd;
		/* The host may take the number just now, and this be its file. The event had
		 * another one before (agent_thread_move_fd). */
		if (*from != number)
			return -EAGAIN;
	}
	set_ids(change->set)[g] = set_ids(change->old_set)[old];
	return 0;
}

/* Within a window. */
static int open_set(const struct change *change, int move_to)
{
	int error = 0;

	if (!agent_perf_allowed_known())
		error = -EPERM;
	for (unsigned g = 0; g < change->plan->groups && !error; g++)
		error = stays(change, g) ?
				share(change, g, move_to) :
				pmc_group_open(change->plan, g, PMC_GROUP_OWN,
					       (int)change->slot->tid, -1, move_to,
					       new_fds(change, g), &set_ids(change->set)[g]);
	agent_fds_mark(set_fds(&agent_registry, change->set), change->plan->opened);
	return error;
}

static void switch_new(const struct change *change, int (*to)(int leader))
{
	for (unsigned g = 0; g < change->plan->groups; g++)
		if (!stays(change, g))
			to(new_fds(change, g)[0]);
}

static void switch_old(const struct change *change, int (*to)(int leader))
{
	for (unsigned g = 0; g < change->old_plan->groups; g++)
		if (pmc_plan_is_splittable(change->old_plan, g))
			to(old_fds(change, g)[0]);
}

/* As counting is on or off; a stop from outside may pass between the looks. */
static void go_on(const struct change *change,
		  void (*turn)(const struct change *change, int (*to)(int leader)))
{
	if (!atomic_load(&pmc_agent_control.counting))
		return;
	turn(change, pmc_group_enable);
	if (!atomic_load(&pmc_agent_control.counting))
		turn(change, pmc_group_disable);
}

/* What an old group has counted is taken from what its parts are to subtract. */
static void carry(const struct change *change, unsigned old, const struct pmc_reading *reading)
{
	const struct registry *registry = &agent_registry;
	const unsigned first = change->old_plan->first[old];
	const uint64_t *old_base = set_base(registry, change->old_set);
	const uint64_t *old_values = old_base + 2 * change->old_plan->groups + first;
	uint64_t *base = set_base(registry, change->set);
	uint64_t *values = base + 2 * change->plan->groups;

	for (unsigned i = 0; i < change->plan->opened; i++) {
		unsigned g = change->plan->events[i].group;

		if (old_group(change, g) != old)
			continue;
		base[2 * g] = old_base[2 * old] - reading->enabled_ns;
		base[2 * g + 1] = old_base[2 * old + 1] - reading->running_ns;
		values[i] = old_values[change->from[i] - first] - words[change->from[i] - first];
	}
}

/* 0 or -errno: what a group counted that cannot be read cannot be carried over. */
static int carry_all(const struct change *change)
{
	for (unsigned g = 0; g < change->old_plan->groups; g++) {
		unsigned n = change->old_plan->first[g + 1] - change->old_plan->first[g];
		struct pmc_reading reading = { 0 };

		if (pmc_plan_is_splittable(change->old_plan, g)) {
			pmc_group_read(old_fds(change, g)[0], set_ids(change->old_set)[g], n,
				       &reading, words);
			if (!reading.n)
				return -EIO;
		} else {
			memset(words, 0, n * sizeof(*words));
		}
		carry(change, g, &reading);
	}
	return 0;
}

/* The next look begins where the groups of the old set were. */
static void begin_looks(const struct change *change, uint64_t *looks)
{
	const uint64_t *base = set_base(&agent_registry, change->set);

	for (unsigned g = 0; g < change->plan->groups; g++) {
		looks[2 * g] = stays(change, g) ? 0 : 0 - base[2 * g];
		looks[2 * g + 1] = stays(change, g) ? 0 : 0 - base[2 * g + 1];
	}
}

/* To be called with the old groups readable and the new ones open. */
static int replace(const struct change *change, uint64_t *looks, unsigned level)
{
	int error;

	switch_old(change, pmc_group_disable);
	error = carry_all(change);
	if (error) {
		go_on(change, switch_old);
		return error;
	}
	begin_looks(change, looks);
	/* Before it is asked whether to count: a stop from outside that comes later than that finds
	 * the new set. */
	atomic_store(&change->slot->level, level);
	go_on(change, switch_new);
	return 0;
}

/* 0 or -errno; -EAGAIN: it may be different the next time. */
static int move(struct slot *slot, struct slot_more *more, unsigned level)
{
	const unsigned n = agent_registry.n_fds;
	struct change change = {
		.slot = slot,
		.old_plan = plan_of(slot, level),
		.plan = plan_of(slot, level + 1),
		.old_set = slot_set(&agent_registry, slot, level),
		.set = slot_more_set(&agent_registry, more, level + 1),
		.from = agent_split_from(level + 1),
	};
	int error, move_to, *fds = set_fds(&agent_registry, change.set);

	if (change.plan->opened != n)
		return -EINVAL;
	if (!agent_fds_take(n))
		return -EAGAIN;
	/* Before there is anything to close: where a handler interrupted a fork that keeps windows
	 * shut, closing would wait for it, for each of the threads. */
	move_to = agent_fds_window_idle();
	if (move_to < 0) {
		agent_fds_give(n);
		return -EAGAIN;
	}
	memset(change.set, 0, agent_registry.set_words * sizeof(*change.set));
	for (unsigned i = 0; i < n; i++)
		fds[i] = -1;
	/* From here on a descriptor that the host wants the number of is found there. */
	atomic_fetch_or(&more->open, 1u << (level + 1));
	error = open_set(&change, move_to);
	agent_fds_window_close();
	if (!error)
		error = replace(&change, slot_looks(more), level + 1);
	if (!error)
		return 0;
	agent_fds_close(fds, n);
	atomic_fetch_and(&more->open, ~(1u << (level + 1)));
	return error;
}

/* Apart from the look, which makes plans. */
__attribute__((noinline)) void agent_split_move(struct slot *slot, struct slot_more *more,
						unsigned level)
{
	uint8_t keeps = SLOT_MAY_CHANGE;
	int error;

	if (!atomic_compare_exchange_strong(&slot->keeps, &keeps, SLOT_CHANGING))
		return;
	error = move(slot, more, level);
	atomic_store(&slot->keeps, error && error != -EAGAIN ? SLOT_KEEPS : SLOT_MAY_CHANGE);
	if (!error && (slot->flags & SLOT_USER_ONLY))
		agent_split_user_frame(level + 1);
}

bool agent_split_keep(struct slot *slot)
{
	for (unsigned i = 0; i < PATIENCE; i++) {
		uint8_t keeps = SLOT_MAY_CHANGE;

		if (atomic_compare_exchange_strong(&slot->keeps, &keeps, SLOT_KEEPS) ||
		    keeps == SLOT_KEEPS)
			return true;
		sched_yield();
	}
	return false;
}
