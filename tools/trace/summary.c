/* SPDX-License-Identifier: MIT */
/*
 * summary.c - --summary: time that each thread spent running, runnable and blocked, from scheduler
 * records.
 *
 * A thread runs from the record that switches to it to the one that switches from it; then it is
 * runnable if it was preempted, else blocked until its wake-up; summary_reason.c knows in which
 * system call. Waiting for a CPU (run delay) lasts from the wake-up or preemption to the next
 * switch to it. A state that began before the trace counts from the start of the trace if it is
 * known when it ends; one that has not ended counts to the end.
 */
#include "tools/trace/summary.h"
#include "lib/base/clock.h"
#include "lib/base/number.h"
#include "tools/cli/pmctl.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* prev_state: bits of include/linux/sched.h, stable since Linux 4.14; summary_reason.c has others.
 */
#define STATE_ENDED	0x30
#define STATE_PREEMPTED 0x100
#define STATE_UNKNOWN	0x1000 /* none of them: waits */

/* common_flags: TRACE_FLAG_HARDIRQ, _SOFTIRQ and _NMI of include/linux/trace_events.h. */
#define IN_INTERRUPT 0x58

/* ---- threads ------------------------------------------------------------------------------ */

struct trace_thread *trace_thread_add(struct trace_summary *summary, int64_t tid, bool wanted)
{
	struct trace_thread *thread = pmc_arena_alloc(summary->arena, sizeof(*thread));

	if (!thread) {
		summary->failed = true;
		return NULL;
	}
	thread->tid = (uint32_t)tid;
	thread->wanted = wanted;
	thread->since_ns = summary->start_ns;
	thread->next = summary->last;
	summary->last = thread;
	return summary->by_tid[tid] = thread;
}

/* NULL: an idle thread, or no memory. */
static struct trace_thread *thread_of(struct trace_summary *summary, int64_t tid)
{
	if (tid <= 0 || tid >= TRACE_TIDS)
		return NULL;
	if (summary->by_tid[tid])
		return summary->by_tid[tid];
	return trace_thread_add(summary, tid, !summary->some);
}

void trace_part_add(struct trace_summary *summary, const struct trace_thread *thread,
		    struct trace_part **list, const void *of, uint64_t n, uint64_t ns)
{
	struct pmc_arena *arena = summary->arena;
	struct trace_part *part, key = { .key = { thread, of } };

	HASH_FIND(hh, summary->parts, &key.key, sizeof(key.key), part);
	if (!part) {
		part = pmc_arena_alloc(arena, sizeof(*part));
		if (!part) {
			summary->failed = true;
			return;
		}
		part->key = key.key;
		part->next = *list;
		*list = part;
		HASH_ADD(hh, summary->parts, key, sizeof(part->key), part);
	}
	part->n += n;
	part->ns += ns;
}

void trace_blocked_add(struct trace_summary *summary, struct trace_thread *thread,
		       const char *reason, uint64_t ns)
{
	thread->blocked_ns += ns;
	if (reason)
		trace_part_add(summary, thread, &thread->blocked, reason, 1, ns);
	else
		summary->failed = true;
}

void trace_thread_settle(struct trace_summary *summary, struct trace_thread *thread, uint64_t now)
{
	uint64_t ns = pmc_sub_sat(now, thread->since_ns), us = ns / 1000;

	if (thread->state == THREAD_RUNNING) {
		thread->oncpu_ns += ns;
	} else if (thread->state == THREAD_BLOCKED) {
		trace_blocked_add(summary, thread, thread->reason, ns);
		if (summary->unwind)
			trace_part_add(summary, thread, &thread->stacks, thread->stack, 1, ns);
	} else if (thread->state == THREAD_RUNNABLE) {
		thread->delay_ns += ns;
		thread->waits[us ? 64 - __builtin_clzll(us) : 0]++;
		if (ns > thread->longest_ns)
			thread->longest_ns = ns;
	}
	thread->since_ns = now;
}

static void enter(struct trace_summary *summary, struct trace_thread *thread,
		  enum trace_thread_state state, uint64_t now)
{
	trace_thread_settle(summary, thread, now);
	thread->state = state;
	if (state == THREAD_RUNNING)
		thread->stack = NULL;
}

/* ---- records ------------------------------------------------------------------------------ */

static void leave(struct trace_summary *summary, struct trace_thread *thread, int64_t state,
		  const struct pmc_record *record)
{
	if (thread->state == THREAD_UNKNOWN)
		thread->state = THREAD_RUNNING;
	thread->pid = (int32_t)record->pid > 0 ? record->pid : thread->pid;
	if (record->type == PERF_RECORD_SAMPLE)
		pmc_tracepoint_string(summary->points[SWITCH]->prev_comm, record, thread->name,
				      sizeof(thread->name));
	if (state == 0 || state & STATE_PREEMPTED) {
		thread->preempted++;
		enter(summary, thread, THREAD_RUNNABLE, record->time);
		return;
	}
	thread->waited++;
	enter(summary, thread, state & STATE_ENDED ? THREAD_GONE : THREAD_BLOCKED, record->time);
	thread->reason = trace_reason_of(summary, state, record);
	thread->waker = NULL;
	/* The thread ID may be reused. */
	if (state & STATE_ENDED)
		summary->by_tid[thread->tid] = NULL;
}

/* Records may be lost. If the outgoing thread is not the
 * last incoming one, the latter left at an unknown time, and its time is not counted; the former
 * came at an unknown time, and runs from the last record of the CPU or from its own wake-up on. */
static void mend(struct trace_summary *summary, struct trace_thread *prev, int64_t from,
		 const struct pmc_record *record)
{
	struct trace_cpu *cpu = &summary->cpus[record->cpu % TRACE_SUMMARY_CPUS];
	struct trace_thread *came;
	uint64_t since = cpu->time_ns;

	if (cpu->tid == from || !cpu->time_ns)
		return;
	came = thread_of(summary, cpu->tid);
	if (came && came->state == THREAD_RUNNING && came->since_ns == cpu->time_ns) {
		came->state = THREAD_GONE;
		came->unseen++;
	}
	if (!prev || prev->state == THREAD_RUNNING)
		return;
	if (prev->state == THREAD_RUNNABLE && prev->since_ns > since)
		since = prev->since_ns;
	enter(summary, prev, THREAD_RUNNING, since);
	prev->unseen++;
}

/* The thread that is switched to; NULL: an idle thread, or no memory. */
static struct trace_thread *change(struct trace_summary *summary, const struct pmc_record *record,
				   int64_t from, int64_t to, int64_t state)
{
	struct trace_thread *prev = thread_of(summary, from), *next;

	mend(summary, prev, from, record);
	if (prev)
		leave(summary, prev, state, record);
	summary->cpus[record->cpu % TRACE_SUMMARY_CPUS] =
		(struct trace_cpu){ to, record->time, SWITCHED };
	next = thread_of(summary, to);
	if (!next)
		return NULL;
	/* Asleep at the start, it waited until now if the record of its wake-up was dropped. */
	if (next->state == THREAD_UNKNOWN)
		next->state = next->reason ? THREAD_BLOCKED : THREAD_RUNNABLE;
	enter(summary, next, THREAD_RUNNING, record->time);
	return next;
}

static void on_switch(struct trace_summary *summary, const struct pmc_record *record)
{
	const struct trace_point *point = summary->points[SWITCH];
	int64_t from, to, state;
	struct trace_thread *next;

	if (pmc_tracepoint_integer(point->prev_pid, record, &from) ||
	    pmc_tracepoint_integer(point->next_pid, record, &to) ||
	    pmc_tracepoint_integer(summary->prev_state, record, &state))
		return;
	next = change(summary, record, from, to, state);
	if (next && !next->name[0])
		pmc_tracepoint_string(point->next_comm, record, next->name, sizeof(next->name));
}

/* Kernels drop records of some switches: of sched_switch where the thread is in another software
 * event or seems to be, and of those from idle threads. A switch has up to three records, in the
 * order of enum trace_switch; the first one that is there counts. */
void trace_summary_switch(struct trace *trace, const struct pmc_record *record)
{
	struct trace_summary *summary = trace->summary;
	struct trace_cpu *cpu = &summary->cpus[record->cpu % TRACE_SUMMARY_CPUS];
	const bool out = record->context_switch.out;
	const enum trace_switch kind = out ? SWITCHED_OUT : SWITCHED_IN;
	/* Threads that have ended have no ID any more: -1. */
	const int64_t own = (int32_t)record->tid, other = (int32_t)record->context_switch.other_tid;
	const int64_t from = out ? own : other, to = out ? other : own;
	int64_t state = record->context_switch.preempted ? STATE_PREEMPTED : STATE_UNKNOWN;
	struct trace_thread *prev;

	if (cpu->last < kind && (to < 0 || cpu->tid == to)) {
		cpu->last = kind;
		return;
	}
	prev = thread_of(summary, from);
	if (from < 0)
		state = STATE_ENDED;
	/* It waits, or was preempted. */
	else if (!out && prev)
		prev->unseen++;
	change(summary, record, from < 0 ? cpu->tid : from, to, state);
	cpu->last = kind;
}

static void on_wakeup(struct trace_summary *summary, const struct pmc_tracepoint_field *pid,
		      const struct pmc_record *record)
{
	struct trace_thread *thread;
	int64_t tid;

	if (pmc_tracepoint_integer(pid, record, &tid))
		return;
	thread = thread_of(summary, tid);
	/* A wake-up of a runnable thread changes nothing. */
	if (!thread || thread->state == THREAD_RUNNING || thread->state == THREAD_RUNNABLE)
		return;
	if (thread->state == THREAD_UNKNOWN) {
		thread->state = THREAD_BLOCKED;
		if (!thread->reason)
			thread->reason = trace_reason_of(summary, 0, NULL);
	}
	if (thread->state == THREAD_BLOCKED && thread->waker)
		trace_part_add(summary, thread, &thread->wakers, thread->waker, 1,
			       pmc_sub_sat(record->time, thread->since_ns));
	thread->waker = NULL;
	enter(summary, thread, THREAD_RUNNABLE, record->time);
}

/* The running thread wakes another; in an interrupt it has nothing to do with that. */
static void on_waking(struct trace_summary *summary, const struct pmc_record *record)
{
	struct trace_thread *thread, *by = &summary->interrupt;
	int64_t tid, from = 0, flags = 0;

	if (pmc_tracepoint_integer(summary->waking, record, &tid))
		return;
	pmc_tracepoint_integer(summary->waking_flags, record, &flags);
	thread = thread_of(summary, tid);
	/* The record's own thread ID is -1 where a thread that ends wakes its parent. */
	pmc_tracepoint_integer(summary->waking_by, record, &from);
	if (!(flags & IN_INTERRUPT) && from > 0)
		by = thread_of(summary, from);
	/* The command has waited for pmctl to enable the events: no wait of its own. */
	if (thread && thread->state == THREAD_UNKNOWN && from == getpid()) {
		thread->state = THREAD_GONE;
		return;
	}
	if (thread && by)
		thread->waker = by;
}

static void on_fork(struct trace_summary *summary, const struct pmc_record *record)
{
	struct trace_thread *parent, *child;
	int64_t from, to;

	if (pmc_tracepoint_integer(summary->parent, record, &from) ||
	    pmc_tracepoint_integer(summary->child, record, &to) || to <= 0 || to >= TRACE_TIDS)
		return;
	parent = thread_of(summary, from);
	child = trace_thread_add(summary, to, parent && parent->wanted);
	if (child)
		child->state = THREAD_GONE; /* not begun */
}

/* After sched_switch, and before PERF_RECORD_SWITCH. One that is preempted does not wait. */
static void on_stack(struct trace_summary *summary, const struct pmc_record *record)
{
	struct trace_thread *thread = thread_of(summary, (int32_t)record->tid);

	if (thread && thread->wanted &&
	    (thread->state == THREAD_BLOCKED || thread->state == THREAD_RUNNING))
		thread->stack = unwind_stack_of(summary->unwind, record);
}

void trace_summary_take(struct trace *trace, const struct pmc_record *record)
{
	struct trace_summary *summary = trace->summary;
	const struct trace_point *point = trace_point_of(trace, record);

	if (point == summary->points[SWITCH])
		on_switch(summary, record);
	else if (point == summary->points[WAKEUP])
		on_wakeup(summary, summary->woken[0], record);
	else if (point == summary->points[WAKEUP_NEW])
		on_wakeup(summary, summary->woken[1], record);
	else if (point == summary->points[WAKING])
		on_waking(summary, record);
	else if (point)
		on_fork(summary, record);
	else if (summary->unwind)
		on_stack(summary, record);
}

/* ---- the start ---------------------------------------------------------------------------- */

static const struct pmc_tracepoint_field *field(const struct trace_summary *summary, unsigned point,
						const char *name)
{
	return pmc_tracepoint_find(summary->points[point]->tracepoint, name);
}

int trace_summary_start(struct trace *trace)
{
	static const char *const names[] = { [SWITCH] = "sched:sched_switch",
					     [WAKEUP] = "sched:sched_wakeup",
					     [WAKEUP_NEW] = "sched:sched_wakeup_new",
					     [FORK] = "sched:sched_process_fork",
					     [WAKING] = "sched:sched_waking" };
	struct pmc_arena *arena = &trace->arena;
	struct trace_summary *summary = pmc_arena_alloc(arena, sizeof(*summary));
	pid_t target = trace->pid ? trace->pid : trace->child.pid;

	if (summary) {
		summary->by_tid =
			pmc_arena_alloc(arena, TRACE_TIDS * sizeof(struct trace_thread *));
		summary->cpus = pmc_arena_alloc(arena, TRACE_SUMMARY_CPUS * sizeof(*summary->cpus));
	}
	if (arena->failed)
		return tool_fail(trace_failed(trace), "out of memory");
	trace->summary = summary;
	summary->arena = arena;
	summary->unwind = trace->stacks ? &trace->unwind : NULL;
	snprintf(summary->interrupt.name, sizeof(summary->interrupt.name), "(interrupt)");
	/* Reads the functions now: later, records would be lost meanwhile. */
	(void)trace_function_at(0, NULL);
	summary->start_ns = pmc_now_ns();
	for (unsigned i = 0; i < N_POINTS; i++)
		for (unsigned p = 0; p < trace->n_points; p++)
			if (!strcmp(trace->points[p].name, names[i]))
				summary->points[i] = &trace->points[p];
	summary->prev_state = field(summary, SWITCH, "prev_state");
	summary->woken[0] = field(summary, WAKEUP, "pid");
	summary->woken[1] = field(summary, WAKEUP_NEW, "pid");
	summary->parent = field(summary, FORK, "parent_pid");
	summary->child = field(summary, FORK, "child_pid");
	summary->waking = field(summary, WAKING, "pid");
	summary->waking_by = field(summary, WAKING, "common_pid");
	summary->waking_flags = field(summary, WAKING, "common_flags");
	summary->some = target != 0;
	if (trace_summary_add_target(summary, target) && target)
		return tool_fail(trace_failed(trace), "no process %d; see ps", target);
	return 0;
}
