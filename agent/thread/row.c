/* SPDX-License-Identifier: MIT */
/* row.c - reads a thread's clocks and groups and frames them as a row. Async-signal-safe. */
#include "agent/base/agent.h"
#include "agent/core/base/clock.h"
#include "agent/core/base/number.h"
#include "agent/core/count/group.h"
#include "agent/core/dump/build.h"
#include "agent/base/note.h"
#include "agent/thread/thread.h"

#include <errno.h>
#include <string.h>

/*
 * A thread's CPU clock costs half as much as its counts do, and of many threads most sleep. Time
 * enabled of a thread's own group stands still while the thread is not on a CPU (kernel/events/
 * core.c, ctx_sched_out): where it says what it said when the clock was last read, so does the
 * clock. Unless the groups were off in the meantime.
 */
static bool cpu_clock(struct slot *slot, uint64_t enabled_ns, uint64_t *cpu_ns)
{
	uint32_t switched = atomic_load(&pmc_agent_control.switched);
	bool known, mine = enabled_ns && atomic_load(&pmc_agent_control.counting) &&
			   !atomic_exchange_explicit(&slot->seen_lock, 1, memory_order_acquire);

	if (mine && slot->seen_enabled_ns == enabled_ns && slot->seen_switched == switched) {
		*cpu_ns = slot->seen_cpu_ns;
		known = true;
	} else {
		known = pmc_thread_cpu_ns((int)slot->tid, cpu_ns);
		if (mine && known) {
			slot->seen_enabled_ns = enabled_ns;
			slot->seen_switched = switched;
			slot->seen_cpu_ns = *cpu_ns;
		}
	}
	if (mine)
		atomic_store_explicit(&slot->seen_lock, 0, memory_order_release);
	return known;
}

/* What an earlier image of this process reported is not reported again. */
static void take_off_reported(struct pmc_thread_fixed *row)
{
	const struct agent_reported *before = &agent.reported;

	row->cpu_ns = pmc_sub_sat(row->cpu_ns, before->thread_cpu_ns);
	row->minor_faults = pmc_sub_sat(row->minor_faults, before->thread.minor_faults);
	row->major_faults = pmc_sub_sat(row->major_faults, before->thread.major_faults);
	row->voluntary_switches =
		pmc_sub_sat(row->voluntary_switches, before->thread.voluntary_switches);
	row->involuntary_switches =
		pmc_sub_sat(row->involuntary_switches, before->thread.involuntary_switches);
}

static inline void put_usage(struct pmc_thread_fixed *row, const struct pmc_usage *usage)
{
	row->minor_faults = usage->minor_faults;
	row->major_faults = usage->major_faults;
	row->voluntary_switches = usage->voluntary_switches;
	row->involuntary_switches = usage->involuntary_switches;
}

/* enabled_ns: raw, as the last group that could be read has it; 0: there is none. */
static void fill_accounting(struct pmc_thread_fixed *row, struct slot *slot, bool own,
			    const struct pmc_usage *usage, uint64_t enabled_ns)
{
	struct pmc_usage mine;

	if (!(own ? pmc_thread_cpu_ns(0, &row->cpu_ns) : cpu_clock(slot, enabled_ns, &row->cpu_ns)))
		row->flags |= PMC_THREAD_NO_CPU;
	/* rusage speaks only of the calling thread. */
	if (own) {
		pmc_usage_thread(&mine);
		put_usage(row, &mine);
	} else if (usage) {
		put_usage(row, usage);
	} else {
		row->flags |= PMC_THREAD_NO_RUSAGE;
	}
	if (slot->flags & PMC_THREAD_MAIN)
		take_off_reported(row);
}

/* The reading of one group into the frame; the words behind the frames are scratch. base: time
 * enabled and running, then the values, that a reset left behind. */
static uint32_t put_group(struct pmc_frame_buf *buf, int leader, uint64_t id, unsigned n,
			  const uint64_t *base_times, const uint64_t *base, uint32_t reason,
			  struct agent_groups_seen *seen)
{
	/* On a cache line of its own: the kernel's copy to a crooked address costs 0.1 µs more. */
	uint64_t *words = (uint64_t *)(((uintptr_t)buf->data + buf->cap -
					PMC_GROUP_WORDS(n) * sizeof(*words)) &
				       ~(uintptr_t)(AGENT_LINE - 1));
	struct pmc_reading reading = { .error = reason ? reason : EBADF };
	uint64_t *values;

	if (leader >= 0)
		pmc_group_read(leader, id, n, &reading, words);
	if (reading.n) {
		seen->enabled_ns = reading.enabled_ns;
		if (!reading.running_ns && reading.enabled_ns > seen->waited_ns)
			seen->waited_ns = reading.enabled_ns;
		reading.enabled_ns = set_less(reading.enabled_ns, base_times[0]);
		reading.running_ns = set_less(reading.running_ns, base_times[1]);
	}
	values = pmc_put_reading(buf, &reading, NULL);
	for (unsigned i = 0; values && i < reading.n; i++)
		values[i] = set_less(words[i], base[i]);
	return reading.error;
}

struct agent_groups_seen agent_groups_frame(struct pmc_frame_buf *buf, unsigned groups,
					    const uint16_t *first, const int *fds,
					    const uint64_t *ids, const uint64_t *base,
					    uint32_t *reason)
{
	struct agent_groups_seen seen = { 0 };

	for (unsigned g = 0; g < groups; g++) {
		uint32_t error =
			put_group(buf, fds[first[g]], ids[g], first[g + 1] - first[g], base + 2 * g,
				  base + 2 * groups + first[g], *reason, &seen);

		*reason = *reason ? *reason : error;
		if (g == 0)
			seen.first_waited_ns = seen.waited_ns;
	}
	return seen;
}

/* Each event that leaves a running group has the rest programmed anew, which costs more than to
 * stop them all at once. Before they are read: where access to the PMU traps, a counter that runs
 * is dear to read, and stopping it reads it anyway. */
__attribute__((noinline)) static void stop_groups(const struct pmc_plan *plan, const int *fds)
{
	for (unsigned g = 0; g < plan->groups; g++)
		if (fds[plan->first[g]] >= 0)
			pmc_group_disable(fds[plan->first[g]]);
}

uint64_t agent_thread_eventset(const struct slot *slot)
{
	return (slot->flags & SLOT_USER_ONLY) ? agent.user_plan.hash : agent.plan.hash;
}

/* Time enabled of first groups that did not run in threads that ended, since one last ran. */
static _Atomic uint64_t first_waited_ns;

/*
 * Notes a group that did not run because another user of the PMU holds the counters.
 *
 * Groups that share counters wait for each other: a turn is 4 ms unless
 * perf_event_mux_interval_ms says otherwise, and a thread that runs in slices misses many. Short
 * threads are judged in aggregate, by the first group, which the kernel schedules before the
 * others. With PMC_INHERIT=full it may wait for an inherited copy. On hybrid CPUs a group rests
 * while its thread is on cores of another type: not judged.
 */
__attribute__((noinline)) static void check_waiting(const struct agent_groups_seen *seen, bool last)
{
	const struct pmc_plan *plan = &agent.plan;
	const bool copies = agent.config.inherit == PMC_INHERIT_FULL;
	const uint64_t patience_ns = (copies ? 8 : 1) * (plan->groups + 1) * UINT64_C(8000000);
	uint64_t waited_ns = seen->waited_ns;

	for (unsigned g = 0; g < plan->groups; g++) {
		const char *core_type = plan->events[plan->first[g]].event.core_type;

		if (core_type && core_type[0])
			return;
	}
	if (last && !copies && seen->first_waited_ns)
		waited_ns = atomic_fetch_add(&first_waited_ns, seen->first_waited_ns) +
			    seen->first_waited_ns;
	if (waited_ns < seen->waited_ns)
		waited_ns = seen->waited_ns;
	if (waited_ns <= patience_ns)
		return;
	atomic_store(&first_waited_ns, 0);
	agent_note(NOTE_GROUP_WAITED);
}

void agent_row(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot, bool own,
	       const struct pmc_usage *usage, enum pmc_thread_state state, uint64_t now)
{
	const struct pmc_plan *plan = &agent.plan;
	uint64_t *set = slot->data;
	struct pmc_thread_fixed start = {
		.seq = slot->seq,
		.tid = slot->tid,
		.state = (uint8_t)state,
		.flags = (uint8_t)slot->flags,
		.n_groups = (uint16_t)plan->groups,
		.start_ns = slot->start_ns,
		.created_by = slot->created_by,
		.eventset = agent_thread_eventset(slot),
		.start_site = slot->site,
		.reason = slot->reason,
	};
	/* Nobody else reads it, nor will. */
	bool last = own && registry_unread(slot);
	struct agent_groups_seen seen;
	struct pmc_thread_fixed *row;

	memcpy(start.name, slot->name, sizeof(start.name));
	row = pmc_begin_thread(buf, agent.identity, snapshot, &start);
	if (!row) {
		pmc_frame_end(buf);
		return;
	}
	/* The groups first, what follows is our own work. */
	if (last && plan->stops)
		stop_groups(plan, set_fds(&agent_registry, set));
	seen = agent_groups_frame(buf, plan->groups, pmc_agent_control.first,
				  set_fds(&agent_registry, set), set_ids(set),
				  set_base(&agent_registry, set), &row->reason);
	/* Closing costs CPU time that the row should have: it is done before the clock is read. */
	if (last)
		registry_close_fds(&agent_registry, slot);
	fill_accounting(row, slot, own, usage, seen.enabled_ns);
	if (seen.waited_ns && plan->hardware)
		check_waiting(&seen, own && state != PMC_THREAD_LIVE);
	else if (last && atomic_load_explicit(&first_waited_ns, memory_order_relaxed))
		atomic_store(&first_waited_ns, 0);
	/* A thread may have begun since. */
	row->time_ns = now > slot->start_ns ? now : pmc_now_ns();
	row->end_ns = state == PMC_THREAD_LIVE ? 0 : row->time_ns;
	pmc_frame_end(buf);
}
