/* SPDX-License-Identifier: MIT */
/*
 * summary_proc.c - threads as /proc shows them: those of the target, where threads wait when the
 * trace starts, and those that have no record.
 */
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "tools/live/task.h"
#include "tools/trace/trace.h"

#include <stdio.h>

static bool is_asleep(uint32_t tid, struct pmc_proc_stat *stat)
{
	return live_stat_read((pid_t)tid, stat) && stat->state != 'R';
}

/* UINT64_MAX: unknown. */
static uint64_t read_cpu_ns(uint32_t tid)
{
	struct pmc_proc_sched sched;
	char text[256];

	return pmc_file_read(text, sizeof(text), "/proc/%u/schedstat", tid) > 0 &&
			       pmc_proc_schedstat(text, &sched) ?
		       sched.cpu_ns :
		       UINT64_MAX;
}

/* ---- the start ------------------------------------------------------------------------------ */

static void add_waiting(struct trace_summary *summary, uint32_t tid)
{
	struct trace_thread *thread = trace_thread_add(summary, tid, true);
	struct pmc_proc_stat stat;
	char stack[8192];

	thread->cpu_ns = UINT64_MAX;
	if (!is_asleep(tid, &stat)) {
		thread->cpu_ns = read_cpu_ns(tid);
		return;
	}
	/* Root only; without it the kind of wait is known. */
	pmc_file_read(stack, sizeof(stack), "/proc/%u/stack", tid);
	trace_reason_in(summary, thread, stat.state, stack);
}

static void add_thread(const char *name, void *arg)
{
	uint64_t tid;

	if (pmc_number(name, TRACE_TIDS - 1, &tid) && tid)
		add_waiting(arg, (uint32_t)tid);
}

static void add_process(const char *name, void *arg)
{
	uint64_t pid;

	if (pmc_number(name, TRACE_TIDS - 1, &pid))
		(void)pmc_dir_visit(add_thread, arg, "/proc/%llu/task", (unsigned long long)pid);
}

int trace_summary_add_targets(struct trace_summary *summary, const struct live_tids *processes)
{
	struct live_tids tids = { .n = 0 };
	int error;

	if (!processes->n)
		return pmc_dir_visit(add_process, summary, "/proc");
	error = live_trees_read(processes, &tids);
	for (unsigned i = 0; i < tids.n && !error; i++)
		add_waiting(summary, (uint32_t)tids.list[i]);
	live_tids_free(&tids);
	return error;
}

/* ---- the end -------------------------------------------------------------------------------- */

static void add_still(struct trace_thread *thread, const struct pmc_proc_stat *stat,
		      enum trace_thread_state state)
{
	uint64_t pid = 0;
	char text[4096];

	if (pmc_file_read(text, sizeof(text), "/proc/%u/status", thread->tid) > 0)
		pmc_proc_number(text, "Tgid", &pid);
	thread->pid = (uint32_t)pid;
	snprintf(thread->name, sizeof(thread->name), "%.15s", stat->name);
	thread->still = true;
	thread->state = state; /* since the start of the trace */
}

/* Of one that could run at the start and can now. What it was until the records began, a moment
 * after the start, is unknown. */
static void add_runnable(const struct trace_summary *summary, struct trace_thread *thread,
			 const struct pmc_proc_stat *stat)
{
	const uint64_t ns = pmc_sub_sat(summary->trace->rings.stopped_ns, summary->start_ns),
		       cpu_ns = read_cpu_ns(thread->tid);

	if (thread->cpu_ns == UINT64_MAX || cpu_ns == UINT64_MAX)
		return;
	add_still(thread, stat,
		  pmc_sub_sat(cpu_ns, thread->cpu_ns) < ns / 2 ? THREAD_RUNNABLE : THREAD_RUNNING);
}

void trace_summary_find_still(struct trace *trace)
{
	struct trace_summary *summary = trace->summary;
	struct pmc_proc_stat stat;

	for (struct trace_thread *t = summary->last; t; t = t->next) {
		if (!t->wanted || trace_is_row(t) || summary->by_tid[t->tid] != t ||
		    t->state != THREAD_UNKNOWN || !live_stat_read((pid_t)t->tid, &stat))
			continue;
		if (stat.state == 'R')
			add_runnable(summary, t, &stat);
		else if (!summary->some)
			summary->asleep++;
		else if (t->reason)
			add_still(t, &stat, THREAD_BLOCKED);
	}
}
