/* SPDX-License-Identifier: MIT */
/* run.c - a run: opens the groups of the target, waits for each interval, and closes them. */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "tools/stat/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- start and end -------------------------------------------------------------------------- */

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

/* Earlier work of threads is not counted. */
static void start(struct stat_job *stat)
{
	for (unsigned r = 0; r < stat->n_rows && stat->target != STAT_COMMAND; r++)
		live_groups_enable(&stat->rows[r]->groups);
	stat_find_children(stat);
	stat->begin_ns = stat->before_ns = stat->budget.now_ns = pmc_now_ns();
	stat_read_waits(stat);
	for (unsigned r = 0; r < stat->n_rows; r++) {
		memset(stat->rows[r]->places, 0, sizeof(stat->rows[r]->places));
		stat->rows[r]->sum = stat->rows[r]->before = (struct live_span){ .ns = 0 };
	}
	stat->read_ns = stat->begin_ns;
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
	for (unsigned p = 0; p < stat->n_processes; p++) {
		struct stat_process *process = &stat->processes[p];

		*process = (struct stat_process){ .pid = stat->tid ? stat->tid : pids.list[p] };
		if (!stat->tid && pmc_file_read(process->program, sizeof(process->program),
						"/proc/%d/comm", process->pid) > 0)
			process->program[strcspn(process->program, "\n")] = '\0';
	}
	live_tids_free(&pids);
	return code;
}

static int open_all(struct stat_job *stat)
{
	char text[320];
	int error = 0, code = find_processes(stat);

	/* A descriptor for each event and thread, and files of threads. The command has been forked
	 * with the old limit. */
	live_budget_init(&stat->budget);
	if (!code && stat->cgroup)
		code = live_cgroup_open(stat->cgroup, &stat->cgroup_fd);
	if (code)
		return code;
	stat_row(stat, &STAT_NO_KEY);
	if (stat->target == STAT_COMMAND)
		error = live_groups_open(&stat->rows[0]->groups, &stat->live, PMC_PERF_GROUP_EXEC,
					 stat->child_pid, -1);
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

void stat_close(struct stat_job *stat)
{
	if (stat->cgroup && stat->cgroup_fd >= 0)
		close(stat->cgroup_fd);
	for (unsigned r = 0; r < stat->n_rows; r++) {
		live_groups_free(&stat->rows[r]->groups);
		if (stat->rows[r]->task)
			live_task_close(stat->rows[r]->task, &stat->budget);
	}
}

/* ---- intervals: the time, a signal, or the end of the target -------------------------------- */

/* How often threads are looked for and read, and the end of one where no descriptor tells it. */
#define LOOK_NS 100000000u
/* So many threads are read as often, more of them less often. */
#define LOOK_AT 64u
/* PIDFD_THREAD of <linux/pidfd.h>, since Linux 6.9. */
#define FOR_THREAD O_EXCL

static bool has_pid(const struct stat_job *stat)
{
	return stat->target == STAT_PROCESS || stat->target == STAT_THREAD;
}

static bool target_ended(struct stat_job *stat)
{
	bool ended = has_pid(stat);

	for (unsigned p = 0; p < stat->n_processes; p++) {
		struct stat_process *process = &stat->processes[p];

		process->ended |=
			pmc_path_exists("/proc/%d/task/%d", process->pid, process->pid) != 0 ||
			(stat->target == STAT_PROCESS && live_is_zombie(process->pid));
		ended &= process->ended;
	}
	return ended;
}

static int open_target(const struct stat_job *stat)
{
	if (stat->n_processes != 1)
		return -1;
	return (int)syscall(SYS_pidfd_open, stat->pid,
			    stat->target == STAT_THREAD ? FOR_THREAD : 0);
}

static void scan(struct stat_job *stat)
{
	const uint64_t now = stat->budget.now_ns = pmc_now_ns();
	bool ended = false;
	/* Rows that are read later have no less. */
	const uint64_t process_ns = stat->process_ns ? stat_processes_ns(stat, &ended) : 0;
	const int error = stat_has_waits(stat)	       ? stat_scan_threads(stat) :
			  stat->target == STAT_MACHINE ? stat_scan_cpus(stat) :
							 0;

	if (error && error != -ESRCH && !stat->error)
		stat->error = error;
	for (unsigned r = 0; r < stat->n_rows; r++)
		stat_read_row(stat, stat->rows[r]);
	stat_read_waits(stat);
	stat_rest_read(stat, process_ns);
	if (ended && !stat->unread_ns)
		stat->unread_ns = now - stat->read_ns;
	stat->now_ns = stat->read_ns = now;
}

static int step(struct stat_job *stat)
{
	int code = 0;

	scan(stat);
	if (stat->prometheus)
		code = stat_prometheus_write(stat);
	else
		stat_print(stat, false);
	stat_step(stat);
	return code;
}

/* Waits until `until`, 0: for ever. True: the target has ended, or a signal has come. */
static bool wait_until(struct stat_job *stat, const struct live_wait *wait, uint64_t until)
{
	const bool scans = stat->target == STAT_PROCESS && stat_has_waits(stat);
	const bool looks = scans || (wait->input < 0 && has_pid(stat));

	for (;;) {
		const uint64_t soon = pmc_now_ns() + LOOK_NS;
		const bool last = !looks || (until && until <= soon);

		if (live_wait(wait, last ? until : soon) != LIVE_TIME ||
		    (wait->input < 0 && target_ended(stat)))
			return true;
		if (last)
			return false;
		if (scans &&
		    pmc_now_ns() - stat->read_ns >= LOOK_NS * (uint64_t)(1 + stat->alive / LOOK_AT))
			scan(stat);
	}
}

int stat_run(struct stat_job *stat)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct live_wait wait = { .child = &stat->child, .forward = stat->target == STAT_COMMAND };
	uint64_t n = 0;
	int code = 0;
	bool ended = false;
	sigset_t was;

	if (stat->cmd)
		code = tool_child_start(&stat->child, stat->cmd);
	stat->child_pid = stat->child.pid;
	if (!code)
		code = open_all(stat);
	if (code) {
		tool_child_drop(&stat->child);
		return code;
	}
	wait.input = open_target(stat);
	wait.signals = tool_signals(ends, sizeof(ends) / sizeof(ends[0]), &was);
	if (stat->cmd)
		code = tool_child_go(&stat->child, stat->cmd[0]);
	/* Series begin with 0. */
	if (!code && stat->prometheus)
		code = stat_prometheus_write(stat);
	while (!code && !ended) {
		const uint64_t ns =
			stat->interval_ns ? (n + 1) * stat->interval_ns : stat->duration_ns;

		ended = wait_until(stat, &wait, ns ? stat->begin_ns + ns : 0);
		if (stat->interval_ns)
			code = step(stat);
		/* Intervals that were missed are not made up for. */
		n = stat->interval_ns ? (stat->before_ns - stat->begin_ns) / stat->interval_ns : 0;
		/* A command goes on, without intervals. */
		if (stat->count && --stat->count == 0) {
			ended |= stat->target != STAT_COMMAND;
			stat->interval_ns *= stat->target != STAT_COMMAND;
		}
		ended |= stat->output.out.error != 0;
	}
	if (!code) {
		stat_find_children(stat);
		/* Intervals add up to the summary. */
		if (!stat->interval_ns)
			scan(stat);
		getrusage(RUSAGE_CHILDREN, &stat->usage);
		stat->ended = true;
		if (stat->prometheus)
			code = stat_prometheus_end(stat);
		else
			stat_print(stat, true);
	}
	/* A command that gave the duration only. */
	if (!code && stat->child.pid)
		kill(stat->child.pid, SIGTERM);
	close(wait.signals);
	pmc_fd_close(wait.input);
	sigprocmask(SIG_SETMASK, &was, NULL);
	return code;
}
