/* SPDX-License-Identifier: MIT */
/*
 * summary.c - --summary: time that each thread spent running, runnable and blocked, from scheduler
 * records.
 *
 * A thread runs from the record that switches to it to the one that switches from it; then it is
 * runnable if it was preempted, else blocked until its wake-up, in the system call that the
 * kernel's stack shows. Waiting for a CPU (run delay) lasts from the wake-up or preemption to the
 * next switch to it. A state that began before the trace counts from the start of the trace if it
 * is known when it ends; one that has not ended counts to the end.
 */
#include "tools/trace/trace.h"
#include "lib/base/clock.h"
#include "lib/base/number.h"
#include "tools/cli/pmctl.h"
#include "tools/symbol/symbol.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* prev_state: bits of include/linux/sched.h, stable since Linux 4.14; `kinds` has others. */
#define STATE_ENDED	0x30
#define STATE_PREEMPTED 0x100
#define STATE_UNKNOWN	0x1000 /* none of them: waits */

/* ---- where threads wait -------------------------------------------------------------------- */

/* The outermost frames of the kernel's stack, which end with the system call. */
#define FRAMES 12

struct trace_reason {
	struct {
		uint64_t frames[FRAMES]; /* outermost first */
		uint64_t kind;
	} key;
	const char *name;
	enum live_cause cause;
	UT_hash_handle hh;
};

/* prev_state: bits of include/linux/sched.h since Linux 4.14; states: of proc_pid_stat(5). */
static const struct {
	int64_t bits;
	const char *states, *name;
} kinds[] = {
	{ 0x1, "S", "sleep" }, { 0x2, "D", "disk" }, { 0xc, "Tt", "stopped" },
	{ 0x80, "I", "idle" }, { 0, "", "other" },
};
enum { DISK = 1, OTHER = sizeof(kinds) / sizeof(kinds[0]) - 1 };

/* What follows the first of the texts that the name starts with; NULL: it starts with none. */
static const char *behind(const char *name, const char *const *starts)
{
	for (; *starts; starts++)
		if (!strncmp(name, *starts, strlen(*starts)))
			return name + strlen(*starts);
	return NULL;
}

/* Code on the way into the kernel, of x86-64 and arm64. */
static bool is_entry(const char *name)
{
	static const char *const starts[] = {
		"entry_",    "do_syscall_", "x64_sys_call", "el0",	 "do_el0_svc", "invoke_",
		"ret_from_", "kthread",	    "asm_",	    "irqentry_", "do_int80",   "__do_fast_",
		"do_fast_",  "ret_to_user", "el1",	    NULL,
	};

	return behind(name, starts);
}

/* __x64_sys_futex is "futex"; a tail call leaves kernel_wait4 or do_sys_poll. */
static const char *plain(const char *name)
{
	static const char *const starts[] = { "__x64_sys_", "__arm64_sys_", "__ia32_sys_",
					      "__se_sys_",  "__do_sys_",    "__sys_",
					      "ksys_",	    "do_sys_",	    "kernel_",
					      NULL };
	const char *call = behind(name, starts);

	return call ? call : strstr(name, "page_fault") ? "page fault" : name;
}

/* One text for each function and kind of wait; function NULL: the kind alone. */
static const char *name_of(struct trace_summary *summary, const char *function, unsigned kind)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%s", function ? plain(function) : kinds[kind].name,
		 function && kind == DISK ? " (D)" : "");
	return symbols_text(summary->trace->unwind.symbols, text);
}

/* Of frames from the innermost to the outermost one: the system call, and the cause that a function
 * shows, are those of the last one. */
static void judge(const char *function, const char **call, enum live_cause *cause)
{
	if (!function || is_entry(function))
		return;
	*call = function;
	if (live_cause_of(function) != CAUSE_OTHER)
		*cause = live_cause_of(function);
}

/* Of a new reason, with n frames. */
static void name_reason(struct trace_summary *summary, struct trace_reason *reason, unsigned n)
{
	const char *call = NULL;

	reason->cause = reason->key.kind == DISK ? CAUSE_DISK : CAUSE_OTHER;
	while (n--)
		judge(trace_function_at(reason->key.frames[n], NULL), &call, &reason->cause);
	reason->name = name_of(summary, call, (unsigned)reason->key.kind);
}

/* Of a record of sched_switch; record NULL: of the state alone. */
static void set_reason(struct trace_summary *summary, struct trace_thread *thread,
		       int64_t prev_state, const struct pmc_record *record)
{
	struct pmc_arena *arena = &summary->trace->arena;
	struct trace_reason key = { .name = NULL }, *reason;
	unsigned n = 0;

	while (key.key.kind < OTHER && !(prev_state & kinds[key.key.kind].bits))
		key.key.kind++;
	if (record && record->present & PERF_SAMPLE_CALLCHAIN)
		for (uint64_t i = record->sample.n_callchain; i-- && n < FRAMES;)
			if (record->sample.callchain[i] < (uint64_t)PERF_CONTEXT_MAX)
				key.key.frames[n++] = record->sample.callchain[i];
	HASH_ENTRY(summary->reasons, key, &key.key, reason);
	if (!reason->name)
		name_reason(summary, reason, n);
	thread->reason = reason->name;
	thread->cause = reason->cause;
}

/* Lines as "[<0>] do_nanosleep+0x64/0x110", the innermost function first, with the module of some
 * behind it: "[<0>] nfsd+0x13a/0x1a0 [nfsd]". */
void trace_reason_in(struct trace_summary *summary, struct trace_thread *thread, char state,
		     char *stack)
{
	const char *call = NULL;
	unsigned kind = 0;

	while (kind < OTHER && !strchr(kinds[kind].states, state))
		kind++;
	thread->cause = kind == DISK ? CAUSE_DISK : CAUSE_OTHER;
	for (char *line; (line = strsep(&stack, "\n"));) {
		char *name = strchr(line, ' ');

		if (!name++)
			continue;
		name[strcspn(name, "+")] = '\0';
		if (*name)
			judge(name, &call, &thread->cause);
	}
	thread->reason = name_of(summary, call, kind);
}

/* ---- threads ------------------------------------------------------------------------------ */

struct trace_thread *trace_thread_add(struct trace_summary *summary, int64_t tid, bool wanted)
{
	struct trace_thread *thread = pmc_arena_alloc(&summary->trace->arena, sizeof(*thread));

	thread->tid = (uint32_t)tid;
	thread->wanted = wanted;
	thread->since_ns = summary->start_ns;
	thread->next = summary->last;
	summary->last = thread;
	return summary->by_tid[tid] = thread;
}

/* NULL: an idle thread. */
static struct trace_thread *thread_of(struct trace_summary *summary, int64_t tid)
{
	if (tid <= 0 || tid >= TRACE_TIDS)
		return NULL;
	if (summary->by_tid[tid])
		return summary->by_tid[tid];
	return trace_thread_add(summary, tid, !summary->some);
}

void trace_thread_settle(struct trace_summary *summary, struct trace_thread *thread, uint64_t now)
{
	struct unwind *unwind = &summary->trace->unwind;
	const uint64_t ns = pmc_sub_sat(now, thread->since_ns);

	if (thread->state == THREAD_RUNNING) {
		thread->oncpu_ns += ns;
	} else if (thread->state == THREAD_BLOCKED) {
		thread->blocked_ns += ns;
		unwind_wait_add(unwind, &thread->blocked, thread->reason, 0, 1, ns);
		if (summary->trace->stacks)
			unwind_wait_add(unwind, &thread->stacks, thread->stack, 0, 1, ns);
		trace_wait_end(summary, thread, now);
	} else if (thread->state == THREAD_RUNNABLE) {
		thread->delay_ns += ns;
		pmc_histogram_add(&summary->trace->arena, &thread->delays, ns);
	}
	thread->since_ns = now;
	if (summary->trace->by == TRACE_BY_WAKER)
		trace_past_add(summary, thread);
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
		pmc_tracepoint_string(summary->points[SWITCH].prev_comm, record, thread->name,
				      sizeof(thread->name));
	if (state == 0 || state & STATE_PREEMPTED) {
		thread->preempted++;
		enter(summary, thread, THREAD_RUNNABLE, record->time);
		return;
	}
	thread->waited++;
	enter(summary, thread, state & STATE_ENDED ? THREAD_GONE : THREAD_BLOCKED, record->time);
	set_reason(summary, thread, state, record);
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

/* The thread that is switched to; NULL: an idle thread. */
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
	const struct trace_point *point = &summary->points[SWITCH];
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
			set_reason(summary, thread, 0, NULL);
	}
	enter(summary, thread, THREAD_RUNNABLE, record->time);
}

static void on_waking(struct trace_summary *summary, const struct pmc_record *record)
{
	struct trace_thread *thread, *by = &summary->no_thread[BY_INTERRUPT];
	int64_t from;

	thread = thread_of(summary, live_waking_take(&summary->waking, record, &from));
	if (from)
		by = thread_of(summary, from);
	/* The command has waited for pmctl to enable the events: no wait of its own. */
	if (thread && thread->state == THREAD_UNKNOWN && from == getpid()) {
		thread->state = THREAD_GONE;
		return;
	}
	if (!thread || !by)
		return;
	thread->waker = by;
	thread->waker_stack =
		summary->trace->stacks && summary->trace->by == TRACE_BY_WAKER && by->tid ?
			unwind_stack_of(&summary->trace->unwind, record, true) :
			NULL;
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
	child->state = THREAD_GONE; /* not begun */
}

/* A thread that calls exec gets the number of the main one, which has ended. */
static void on_exec(struct trace_summary *summary, const struct pmc_record *record)
{
	struct trace_thread *thread;
	int64_t from;

	if (record->tid >= TRACE_TIDS || pmc_tracepoint_integer(summary->called, record, &from) ||
	    !(thread = thread_of(summary, from)))
		return;
	summary->by_tid[from] = NULL;
	summary->by_tid[thread->tid = record->tid] = thread;
}

/* After sched_switch, and before PERF_RECORD_SWITCH. One that is preempted does not wait. */
static void on_stack(struct trace_summary *summary, const struct pmc_record *record)
{
	struct trace_thread *thread = thread_of(summary, (int32_t)record->tid);

	if (thread && thread->wanted &&
	    (thread->state == THREAD_BLOCKED || thread->state == THREAD_RUNNING))
		thread->stack = unwind_stack_of(&summary->trace->unwind, record, true);
}

void trace_summary_take(struct trace *trace, const struct pmc_record *record)
{
	struct trace_summary *summary = trace->summary;
	const struct trace_point *point = trace_point_of(trace, record);

	if (point == &summary->points[SWITCH])
		on_switch(summary, record);
	else if (point == &summary->points[WAKEUP])
		on_wakeup(summary, summary->woken[0], record);
	else if (point == &summary->points[WAKEUP_NEW])
		on_wakeup(summary, summary->woken[1], record);
	else if (point == &summary->points[WAKING])
		on_waking(summary, record);
	else if (point == &summary->points[EXEC])
		on_exec(summary, record);
	else if (point)
		on_fork(summary, record);
	else
		on_stack(summary, record);
}

/* ---- the start ---------------------------------------------------------------------------- */

static const struct pmc_tracepoint_field *field(const struct trace_summary *summary, unsigned point,
						const char *name)
{
	return pmc_tracepoint_find(summary->points[point].tracepoint, name);
}

int trace_summary_start(struct trace *trace)
{
	struct pmc_arena *arena = &trace->arena;
	struct trace_summary *summary = pmc_arena_alloc(arena, sizeof(*summary));
	const struct live_tids child = { .list = &trace->rings.child.pid, .n = 1 };
	const struct live_tids *targets = trace->rings.child.pid ? &child : &trace->target;

	summary->main_tid = (uint32_t)trace->rings.child.pid;
	summary->by_tid = pmc_arena_alloc(arena, TRACE_TIDS * sizeof(struct trace_thread *));
	summary->cpus = pmc_arena_alloc(arena, TRACE_SUMMARY_CPUS * sizeof(*summary->cpus));
	trace->summary = summary;
	summary->trace = trace;
	for (unsigned i = 0; i < N_NO_THREADS; i++)
		strcpy(summary->no_thread[i].name, live_no_threads[i]);
	/* Reads the functions now: later, records would be lost meanwhile. */
	(void)trace_function_at(0, NULL);
	summary->start_ns = pmc_now_ns();
	summary->points = trace->points;
	summary->prev_state = field(summary, SWITCH, "prev_state");
	summary->woken[0] = field(summary, WAKEUP, "pid");
	summary->woken[1] = field(summary, WAKEUP_NEW, "pid");
	summary->parent = field(summary, FORK, "parent_pid");
	summary->child = field(summary, FORK, "child_pid");
	summary->called = field(summary, EXEC, "old_pid");
	live_waking_init(&summary->waking, trace->points[WAKING].tracepoint);
	summary->some = targets->n;
	if (trace_summary_add_targets(summary, targets) && targets->n)
		return tool_fail(rings_failed(&trace->rings), "no process %d; see ps",
				 targets->list[0]);
	return 0;
}
