/* SPDX-License-Identifier: MIT */
/* open.c - opens and starts the groups of a stat's target, and closes them. */
#include "lib/base/clock.h"
#include "tools/cli/pmctl.h"
#include "tools/stat/stat.h"

#include <errno.h>
#include <unistd.h>

static void why_refused(const struct stat_job *stat, int error, char *text, size_t cap)
{
	const struct pmc_tried tried = {
		.attr = stat->live.plan.opened ? &stat->live.plan.attrs[0].base : NULL,
		.pid = stat->target == STAT_MACHINE ? -1 : stat->pid,
		.cpu = stat->target == STAT_MACHINE ? 0 : -1,
		.placed = true,
	};
	struct pmc_here here;

	pmc_here_read(&here, NULL);
	pmc_advice_text(error, &tried, &here, text, cap);
}

static int explain(const struct stat_job *stat, int error)
{
	const bool others = stat->target == STAT_PROCESS && (error == -EACCES || error == -EPERM);
	char text[320];

	if (error == -ESRCH)
		return tool_fail(EXIT_FAIL, "no such %s: %d",
				 stat->target == STAT_THREAD ? "thread" : "process", stat->pid);
	if (error == -ECHILD && stat->target == STAT_PROCESS)
		return tool_fail(EXIT_FAIL, "%d is a thread, not a process; give -t %d", stat->pid,
				 stat->pid);
	why_refused(stat, error, text, sizeof(text));
	return tool_fail(
		stat->cmd ? EXIT_OURS : EXIT_FAIL, "cannot open counters of %s: %s%s",
		stat->cgroup		     ? "the cgroup" :
		stat->target == STAT_MACHINE ? "the machine" :
		stat->target == STAT_COMMAND ? "the command" :
					       "that process",
		text, others ? "; --per-thread shows what its threads wait for without that" : "");
}

/* The groups from `first` on. */
static void enable(struct stat_job *stat, unsigned first)
{
	for (unsigned g = first; g < stat->n_groups; g++)
		pmc_perf_group_enable(stat->groups[g].group.fds[0]);
}

/* Earlier work of threads is not counted. */
static void start(struct stat_job *stat)
{
	if (stat->target != STAT_COMMAND)
		enable(stat, 0);
	stat_find_children(stat);
	stat->begin_ns = stat->before_ns = stat->budget.now_ns = pmc_now_ns();
	stat_read_waits(stat);
	for (unsigned r = 0; r < stat->n_rows; r++) {
		memset(stat->rows[r].places, 0, sizeof(stat->rows[r].places));
		stat->rows[r].waits = (struct stat_waits){ .total = { 0 } };
	}
	stat->scanned_ns = stat->read_ns = stat->begin_ns;
	stat_rest_start(stat);
}

static int find_processes(struct stat_job *stat)
{
	struct live_tids pids = { .n = 0 };
	int code = 0;

	stat->pid = stat->tid;
	if (stat->target == STAT_PROCESS)
		code = live_find(stat->pids, stat->name, &pids);
	if (pids.n)
		stat->pid = pids.list[0];
	stat->n_processes = stat->tid ? 1 : pids.n;
	stat->processes =
		pmc_arena_alloc(&stat->arena, stat->n_processes * sizeof(*stat->processes) + 1);
	for (unsigned p = 0; p < stat->n_processes; p++)
		stat->processes[p].pid = stat->tid ? stat->tid : pids.list[p];
	live_tids_free(&pids);
	return code;
}

int stat_open(struct stat_job *stat)
{
	char text[320];
	int error = 0, code = find_processes(stat);

	/* A descriptor for each event and thread, and files of threads. The command has been forked
	 * with the old limit. */
	live_budget_init(&stat->budget);
	/* These times come from the same file as names. */
	stat->budget.brief = !(stat->live.plan.os & ~(1u << PMC_OS_RUN_DELAY));
	if (!code && stat->cgroup)
		code = stat_open_cgroup(stat);
	if (code)
		return code;
	stat_row(stat, &STAT_NO_KEY);
	if (stat->target == STAT_COMMAND)
		error = stat_add_groups(stat, 0, PMC_PERF_GROUP_EXEC, stat->child_pid, -1);
	else if (stat->target == STAT_MACHINE)
		error = stat_scan_cpus(stat);
	else
		error = stat_open_process(stat);
	if (error)
		return explain(stat, error);
	if (stat->refused) {
		why_refused(stat, stat->refused, text, sizeof(text));
		tool_warn("times and waits are shown, events are not counted: %s", text);
	}
	start(stat);
	return 0;
}

void stat_rescan(struct stat_job *stat)
{
	const unsigned opened = stat->n_groups;
	int error = 0;

	if (stat_has_waits(stat))
		stat_scan_threads(stat);
	else if (stat->target == STAT_MACHINE)
		error = stat_scan_cpus(stat);
	if (error && !stat->error)
		stat->error = error;
	enable(stat, opened);
}

void stat_close(struct stat_job *stat)
{
	for (unsigned g = 0; g < stat->n_groups; g++)
		live_group_free(&stat->groups[g].group);
	if (stat->cgroup && stat->cgroup_fd >= 0)
		close(stat->cgroup_fd);
	for (unsigned r = 0; r < stat->n_rows; r++)
		if (stat->rows[r].task)
			live_task_close(stat->rows[r].task, &stat->budget);
}
