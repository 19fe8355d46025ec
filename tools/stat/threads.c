/* SPDX-License-Identifier: MIT */
/*
 * threads.c - the threads of a process: their groups, rows, and waits from /proc.
 *
 * A process as a whole is counted by inherited groups, one set for each of its threads; threads and
 * processes that they start are included. A thread that starts while they are being opened may have
 * inherited some of them or none, and nothing tells which. So groups are closed and opened again
 * until no thread has started meanwhile. Counting starts after that, in all of them.
 */
#include "lib/base/file.h"
#include "tools/stat/stat.h"

#include <errno.h>

#define MOST_RESTARTS 20

/* An event that is not inherited. At a context switch between a thread and one that it has started
 * the kernel exchanges their event contexts if all events are inherited, see
 * perf_event_context_sched_out() in kernel/events/core.c. The leader would then belong to the other
 * thread, and its siblings be refused: EINVAL, or ENODEV after that thread's end. */
static int keep_context(pid_t tid)
{
	struct pmc_attr attr = { .base = { .type = PERF_TYPE_SOFTWARE,
					   .config = PERF_COUNT_SW_DUMMY,
					   .disabled = 1,
					   .exclude_kernel = 1,
					   .exclude_hv = 1 } };

	return pmc_perf_open(&attr, tid, -1, -1, 0);
}

/* -ESRCH: the thread has ended. To a sibling whose leader's thread has just ended Linux 6.18 says
 * ENODEV. */
static int open_task(struct stat_job *stat, struct stat_row *row, enum pmc_perf_group_kind kind,
		     pid_t tid)
{
	int keeper = kind == PMC_PERF_GROUP_OWN ? -1 : keep_context(tid);
	const int error = live_groups_open(&row->groups, &stat->live, kind, tid, -1);

	pmc_perf_group_close(&keeper, 1);
	return error == -ENODEV ? -ESRCH : error;
}

/* ---- rows of threads ---------------------------------------------------------------------- */

static void read_waits(struct stat_job *stat, struct stat_row *row)
{
	struct live_task *task = row->task;
	const bool first = !task->read_ns;
	const int error = live_task_read(task, stat->read_ns, &stat->budget);

	if (error == -ESRCH) {
		row->ended = true;
		row->seen = false;
		stat_read_row(stat, row);
	}
	if (error)
		return;
	row->clock_read_ns = row->clock_ns;
	if (!task->known)
		return;
	/* All of a thread that has started since the last scan is known. */
	row->later |= first;
	live_span_add(&row->sum, &task->span);
	if (task->span.blocked_ns)
		live_place_add(row->places, task->wchan, task->span.blocked_ns);
}

void stat_read_waits(struct stat_job *stat)
{
	stat->alive = 0;
	for (unsigned r = 1; stat_has_waits(stat) && r < stat->n_rows; r++) {
		struct stat_row *row = stat->rows[r];

		if (row->seen)
			read_waits(stat, row);
		if (!row->seen)
			live_task_close(row->task, &stat->budget);
		stat->alive += row->seen;
	}
}

static int open_row(struct stat_job *stat, pid_t pid, pid_t tid)
{
	const struct stat_key key = { -1, -1, -1, -1, (int)tid };
	struct stat_row *row = stat_row(stat, &key);
	int error;

	row->seen = true;
	if (row->task)
		return 0;
	row->task = &row->thread;
	live_task_init(row->task, pid, tid);
	row->name = row->task->stat.name;
	error = stat->refused ? 0 : open_task(stat, row, PMC_PERF_GROUP_OWN, tid);
	if (error == -EACCES || error == -EPERM) {
		stat->refused = error;
		live_events_refuse(&stat->live, error);
		for (unsigned r = 0; r < stat->n_rows; r++)
			live_groups_free(&stat->rows[r]->groups);
		error = 0;
	}
	if (stat->begin_ns)
		live_groups_enable(&row->groups);
	return error;
}

/* Threads that end before their groups are open have rows without counts. */
static int scan_process(struct stat_job *stat, pid_t pid)
{
	struct live_tids tids = { .n = 0 };
	int error = live_tids_read(pid, &tids);

	for (unsigned i = 0; i < tids.n && !error; i++) {
		error = open_row(stat, pid, tids.list[i]);
		if (error == -ESRCH && tids.list[i] != pid)
			error = 0;
	}
	live_tids_free(&tids);
	return error;
}

/* -ESRCH: all processes have ended; else an error of one of them; else 1 if `visit` returned 1 for
 * one of them, or 0. */
static int for_each(struct stat_job *stat, int (*visit)(struct stat_job *stat, pid_t pid))
{
	int error = -ESRCH;

	for (unsigned p = 0; p < stat->n_processes; p++) {
		struct stat_process *process = &stat->processes[p];
		const int of_process = process->ended ? -ESRCH : visit(stat, process->pid);

		process->ended = of_process == -ESRCH;
		if (!process->ended && (error == -ESRCH || !error || of_process < 0))
			error = of_process;
	}
	return error;
}

int stat_scan_threads(struct stat_job *stat)
{
	if (stat->target == STAT_THREAD)
		return 0;
	for (unsigned r = 1; r < stat->n_rows; r++)
		stat->rows[r]->seen = false;
	return for_each(stat, scan_process);
}

/* Of several processes some are children of others. */
void stat_find_children(struct stat_job *stat)
{
	struct pmc_proc_stat now = { .child_faults = 0 };
	char text[1024];

	if (stat->n_processes != 1 || !stat_has_waits(stat) || stat->tid)
		return;
	if (pmc_file_read(text, sizeof(text), "/proc/%d/stat", stat->pid) > 0)
		pmc_proc_stat(text, &now);
	if (!stat->begin_ns)
		stat->child_faults = now.child_faults;
	stat->children |= live_has_children(stat->pid) || now.child_faults > stat->child_faults;
}

/* ---- the whole process -------------------------------------------------------------------- */

/* 1: a thread has started meanwhile. */
static int try_open(struct stat_job *stat, pid_t pid)
{
	struct live_tids tids = { .n = 0 }, after = { .n = 0 };
	int error = live_tids_read(pid, &tids);

	for (unsigned i = 0; i < tids.n && !error; i++) {
		error = open_task(stat, stat->rows[0], PMC_PERF_GROUP_PLAIN, tids.list[i]);
		/* The thread has ended. */
		if (error == -ESRCH)
			error = 0;
	}
	if (!error)
		error = live_tids_read(pid, &after);
	if (!error && !live_tids_have_all(&tids, &after))
		error = 1;
	live_tids_free(&tids);
	live_tids_free(&after);
	return error;
}

int stat_open_process(struct stat_job *stat)
{
	int error = 1;

	if (stat->target == STAT_THREAD)
		return open_row(stat, stat->pid, stat->pid);
	/* The files of a thread list all threads of its process. */
	for (unsigned p = 0; p < stat->n_processes; p++)
		if (live_is_thread(stat->processes[p].pid)) {
			stat->pid = stat->processes[p].pid;
			return -ECHILD;
		}
	if (stat_has_waits(stat))
		return stat_scan_threads(stat);
	while (error == 1 && stat->restarts <= MOST_RESTARTS) {
		live_groups_free(&stat->rows[0]->groups);
		error = for_each(stat, try_open);
		stat->restarts += error == 1;
	}
	/* The groups of the last attempt are good for all but threads that started during it. */
	stat->unsettled = error == 1;
	return error == 1 ? 0 : error;
}
