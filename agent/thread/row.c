/* SPDX-License-Identifier: MIT */
/* row.c - reads a thread's clocks and groups and frames them as a row. Async-signal-safe. */
#include "agent/thread/thread.h"
#include "lib/base/proc.h"

/*
 * The CPU time of another thread. Reading its clock costs half as much as reading a group, and most
 * of many threads sleep. Time enabled of a group does not advance while its thread is off the CPU
 * (kernel/events/core.c, ctx_sched_out): as long as it is the same as in the last snapshot, so is
 * the clock, unless the groups were disabled in between.
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

/* Without the event it is read at the end of the process only: its file takes the lowest free
 * descriptor for a moment, in which other threads of the host may put a file of their own there
 * (dup2), close it, or give it to a child. */
static bool reads_delay(const struct slot *slot)
{
	if (agent.plan.os & 1u << PMC_OS_RUN_DELAY)
		return true;
	return atomic_load(&pmc_agent_control.state) == PMC_CONTROL_DONE &&
	       agent_has_delay(slot->start_ns);
}

/* Whether a delay is that of this image. The main thread's also has what the process waited before
 * an exec, unless that has passed it, in at most the time from the start of the process, which is
 * known to 10 ms, to that of the image. What may be more than a tenth of the delay, and a hundredth
 * of its life, makes it unknown. Not inlined, for a small signal stack: one thread writes the main
 * thread's last row. */
__attribute__((noinline)) static bool is_of_image(const struct slot *slot, uint64_t *delay)
{
	const uint64_t delay_ns = *delay, carried_ns = agent.reported.thread_delay_ns;
	uint64_t life, age, before;

	if (!(slot->flags & PMC_THREAD_MAIN) || agent.plan.os & 1u << PMC_OS_RUN_DELAY)
		return true;
	/* It may have waited in the exec or fork, before the image has a start. */
	life = pmc_now_ns() - slot->start_ns;
	if (delay_ns > carried_ns + life)
		*delay = carried_ns + life;
	if (agent.forked || carried_ns)
		return true;
	if (!agent_process_age(&age))
		return false;
	before = pmc_sub_sat(age, life);
	return (before < delay_ns ? before : delay_ns) <=
	       (delay_ns / 10 > life / 100 ? delay_ns / 10 : life / 100);
}

/* Not inlined: what this and snapshot_put_words have on the signal stack would be there at the same
 * time. */
__attribute__((noinline)) void agent_thread_words(struct slot *slot, bool own,
						  const struct pmc_usage *usage,
						  uint64_t enabled_ns, struct account_words *now)
{
	uint64_t *cpu_ns = &now->of[ACCOUNT_CPU];
	struct pmc_usage mine;

	*now = (struct account_words){ .unknown = 0 };
	if (!(own ? pmc_thread_cpu_ns(0, cpu_ns) : cpu_clock(slot, enabled_ns, cpu_ns)))
		now->unknown = ACCOUNT_BIT(ACCOUNT_CPU);
	/* RUSAGE_THREAD covers the calling thread only. */
	if (own) {
		pmc_usage_thread(&mine);
		usage = &mine;
	}
	if (usage)
		account_put_usage(now, usage);
	else
		now->unknown |= ACCOUNT_USAGE;
	/* That the thread's files in /proc are those of its TID is known from reading them for
	 * usage. */
	if (reads_delay(slot) &&
	    (!usage || !pmc_run_delay(own ? 0 : slot->tid, &now->of[ACCOUNT_DELAY]) ||
	     !is_of_image(slot, &now->of[ACCOUNT_DELAY])))
		now->unknown |= ACCOUNT_BIT(ACCOUNT_DELAY);
	now->of[ACCOUNT_WALL] = pmc_now_ns();
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
__attribute__((noinline)) static void check_waiting(const struct snapshot_seen *seen, bool last)
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

/* Whether the newest row in the dump equals the frame being built; if not, remembers the frame.
 * After a failed write the rows of all threads count as new. */
static bool is_written(struct slot *slot, const struct pmc_frame_buf *buf)
{
	uint64_t content = pmc_frame_content(buf) + agent_file_lost();

	return atomic_exchange_explicit(&slot->written, content, memory_order_relaxed) == content;
}

bool agent_row(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot, bool own,
	       const struct pmc_usage *usage, enum pmc_thread_state state)
{
	const struct pmc_plan *plan = &agent.plan;
	const struct reader reader = agent_reader(snapshot);
	const struct snapshot_groups groups = snapshot_groups_of(&reader, slot);
	/* Room for off_ns and reset_ns. */
	const bool phases = atomic_load(&pmc_agent_control.switched) != 0;
	/* Nobody else reads the groups any more. */
	bool last = own && registry_unread(slot);
	struct snapshot_seen seen;
	struct account_words now;
	uint64_t time_ns;
	struct pmc_thread_fixed *row =
		snapshot_begin_row(&reader, buf, slot, state, phases, !phases && reads_delay(slot));

	if (!row)
		return false;
	/* Groups before the accounting: they would count that. */
	if (slot->n_fds)
		agent_fds_use_begin();
	seen = snapshot_put_groups(&reader, buf, &groups, &row->reason);
	if (slot->n_fds)
		agent_fds_use_end();
	/* Closed before the CPU clock is read: the time for it belongs to the row. */
	if (last)
		registry_close_fds(&agent_registry, slot);
	agent_thread_words(slot, own, usage, seen.enabled_ns, &now);
	time_ns = now.of[ACCOUNT_WALL];
	snapshot_put_words(&reader, buf, slot, &now, row, phases);
	if (seen.waited_ns && plan->hardware)
		check_waiting(&seen, own && state != PMC_THREAD_LIVE);
	else if (last && atomic_load_explicit(&first_waited_ns, memory_order_relaxed))
		atomic_store(&first_waited_ns, 0);
	/* The comparison excludes the time. The last row of a thread is written in any case. */
	if (!last && is_written(slot, buf) &&
	    atomic_load(&pmc_agent_control.state) != PMC_CONTROL_DONE) {
		pmc_frame_drop(buf);
		return false;
	}
	row->time_ns = time_ns;
	row->end_ns = state == PMC_THREAD_LIVE ? 0 : row->time_ns;
	pmc_frame_end(buf);
	return true;
}
