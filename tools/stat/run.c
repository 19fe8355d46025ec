/* SPDX-License-Identifier: MIT */
/*
 * run.c - a run: opens the groups of the target, on its threads or on CPUs, waits for each
 * interval, and closes them.
 */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "tools/cli/try_open.h"
#include "tools/stat/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- CPUs that are online: their cores, sockets and nodes, and groups on each; a cgroup on them
 */

#define CPUS "/sys/devices/system/cpu"

static int topology(int cpu, const char *file)
{
	char text[32];
	uint64_t value;

	if (pmc_file_read(text, sizeof(text), CPUS "/cpu%d/topology/%s", cpu, file) <= 0 ||
	    !pmc_number(text, INT_MAX, &value))
		return 0;
	return (int)value;
}

/* cpuN has a link nodeM. */
static void take_node(const char *name, void *arg)
{
	uint64_t node;

	if (!strncmp(name, "node", 4) && pmc_number(name + 4, INT_MAX, &node))
		*(int *)arg = (int)node;
}

static struct stat_key key_of(const struct stat_job *stat, int cpu)
{
	struct stat_key key = STAT_NO_KEY;

	if (stat->by == BY_CPU)
		key.cpu = cpu;
	if (stat->by == BY_CORE || stat->by == BY_SOCKET)
		key.socket = topology(cpu, "physical_package_id");
	if (stat->by == BY_CORE)
		key.core = topology(cpu, "core_id");
	if (stat->by == BY_NODE) {
		key.node = 0;
		pmc_dir_visit(take_node, &key.node, CPUS "/cpu%d", cpu);
	}
	return key;
}

static bool counts_on(const struct stat_job *stat, unsigned event, int cpu)
{
	const char *cpus = stat->live.plan.events[event].event.cpus;

	return cpus && pmc_list_has(cpus, (uint64_t)cpu);
}

static int open_cpu(struct stat_job *stat, int cpu)
{
	const struct pmc_plan *plan = &stat->live.plan;
	const struct stat_key key = key_of(stat, cpu);
	struct stat_row *row = stat_row(stat, &key);
	int error = live_groups_open(&row->groups, &stat->live,
				     stat->cgroup ? PMC_PERF_GROUP_CGROUP : PMC_PERF_GROUP_OWN,
				     stat->cgroup ? stat->cgroup_fd : -1, cpu);

	row->seen = true;
	/* Uncore events know no cgroups. */
	for (unsigned i = plan->opened;
	     i < plan->count && !error && !tool_perf_killed() && !stat->cgroup; i++)
		if (pmc_event_is_uncore(&plan->events[i].event) && counts_on(stat, i, cpu))
			error = live_groups_add(&row->groups, &stat->live, i, 1, PMC_PERF_GROUP_OWN,
						-1, cpu);
	if (stat->begin_ns)
		live_groups_enable(&row->groups);
	return error;
}

/* Counts of a CPU that went offline stay; its groups are detached and opened anew when it is back
 * (perf_event_exit_cpu_context() in kernel/events/core.c). Its row is shown up to that interval. */
static void leave_cpu(struct stat_job *stat, int cpu)
{
	for (unsigned r = 0; r < stat->n_rows; r++) {
		struct stat_row *row = stat->rows[r];

		for (unsigned g = 0; g < row->groups.n; g++)
			if (row->groups.list[g].cpu == cpu)
				live_group_close(&row->groups.list[g]);
		if (r && row->key.cpu == cpu)
			row->seen = false;
	}
}

/* Groups on each CPU that is online, and none on others. 0 or -errno. */
static int scan_cpus(struct stat_job *stat)
{
	bool online[STAT_CPUS] = { false };
	uint64_t first, last;
	char text[4096];
	const char *at = text;
	int error = pmc_file_read(text, sizeof(text), CPUS "/online");

	if (error <= 0)
		return error ? error : -ENODEV;
	while (pmc_range_take(&at, &first, &last))
		for (; first <= last && first < STAT_CPUS; first++)
			online[first] = true;
	for (unsigned cpu = 0; cpu < STAT_CPUS; cpu++) {
		if (stat->online[cpu] == online[cpu])
			continue;
		error = 0;
		if (online[cpu])
			error = open_cpu(stat, (int)cpu);
		else
			leave_cpu(stat, (int)cpu);
		/* It went offline just now. */
		if (error == -ENODEV)
			continue;
		if (error)
			return error;
		stat->online[cpu] = online[cpu];
	}
	return 0;
}

/* ---- threads: their groups, rows, and waits from /proc -------------------------------------- */

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

static void read_waits(struct stat_job *stat, struct stat_row *row)
{
	struct live_task *task = &row->task;
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

static void read_all_waits(struct stat_job *stat)
{
	stat->alive = 0;
	for (unsigned r = 1; stat_has_waits(stat) && r < stat->n_rows; r++) {
		struct stat_row *row = stat->rows[r];

		if (row->seen)
			read_waits(stat, row);
		if (!row->seen)
			live_task_close(&row->task, &stat->budget);
		stat->alive += row->seen;
	}
}

static int open_row(struct stat_job *stat, pid_t pid, pid_t tid)
{
	const struct stat_key key = { -1, -1, -1, -1, (int)tid };
	struct stat_row *row = stat_row(stat, &key);
	int error;

	row->seen = true;
	if (row->task.pid)
		return 0;
	live_task_init(&row->task, pid, tid);
	row->name = row->task.stat.name;
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

/* Threads that end before their groups are open have rows without counts; so has a main thread that
 * has ended before the others. */
static int scan_process(struct stat_job *stat, pid_t pid)
{
	struct live_tids tids = { .n = 0 };
	int error = live_tids_read(pid, &tids);

	for (unsigned i = 0; i < tids.n && !error; i++) {
		error = open_row(stat, pid, tids.list[i]);
		if (error == -ESRCH && (tids.list[i] != pid || !live_is_zombie(pid)))
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

/* Rows of threads that are new; others have ended. -ESRCH: all have; or another -errno. */
static int scan_threads(struct stat_job *stat)
{
	if (stat->target == STAT_THREAD)
		return 0;
	for (unsigned r = 1; r < stat->n_rows; r++)
		stat->rows[r]->seen = false;
	return for_each(stat, scan_process);
}

/* Processes that the targets have started, and which are none. */
static unsigned count_running(const struct stat_job *stat)
{
	struct live_tids targets = { .n = 0 }, tree = { .n = 0 };
	unsigned n = 0;

	for (unsigned p = 0; p < stat->n_processes; p++)
		live_tids_add(&targets, stat->processes[p].pid);
	live_trees_read(&targets, &tree);
	for (unsigned i = 0; i < tree.n; i++) {
		const pid_t tid = tree.list[i];

		/* A thread that has ended is none any more. */
		n += !live_is_thread(tid) && !live_is_zombie(tid) &&
		     !live_tids_have(&targets, tid) && pmc_path_exists("/proc/%d", tid) == 0;
	}
	live_tids_free(&targets);
	live_tids_free(&tree);
	return n;
}

/* Whether the process has child processes, or has waited for some since the start. Of several
 * processes some are children of others. */
static void find_children(struct stat_job *stat)
{
	struct pmc_proc_stat now = { .child_faults = 0 };

	if (!stat->begin_ns && stat->target == STAT_PROCESS && !stat_has_waits(stat))
		stat->running = count_running(stat);
	if (stat->n_processes != 1 || !stat_has_waits(stat) || stat->tid)
		return;
	(void)live_stat_read(stat->pid, &now);
	if (!stat->begin_ns)
		stat->child_faults = now.child_faults;
	stat->children |= live_has_children(stat->pid) || now.child_faults > stat->child_faults;
}

/* ---- the whole process ----------------------------------------------------------------------
 * It is counted by inherited groups, one set for each of its threads; threads and processes that
 * they start are included. A thread that starts while they are being opened may have inherited some
 * of them or none, and nothing tells which. So groups are closed and opened again until no thread
 * has started meanwhile. Counting starts after that, in all of them. */

#define MOST_RESTARTS 20

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

static int open_process(struct stat_job *stat)
{
	int error = 1;

	if (stat->target == STAT_THREAD)
		return open_row(stat, stat->pid, stat->pid);
	if (stat_has_waits(stat))
		return scan_threads(stat);
	while (error == 1 && stat->restarts <= MOST_RESTARTS) {
		live_groups_free(&stat->rows[0]->groups);
		error = for_each(stat, try_open);
		stat->restarts += error == 1;
	}
	/* The groups of the last attempt are good for all but threads that started during it. */
	stat->unsettled = error == 1;
	return error == 1 ? 0 : error;
}

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
	find_children(stat);
	stat->begin_ns = stat->before_ns = stat->budget.now_ns = pmc_now_ns();
	read_all_waits(stat);
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
	stat_choose_files(stat);
	if (!code && stat->cgroup)
		code = live_cgroup_open(stat->cgroup, &stat->cgroup_fd);
	if (code)
		return code;
	stat_row(stat, &STAT_NO_KEY);
	if (stat->target == STAT_COMMAND)
		error = live_groups_open(&stat->rows[0]->groups, &stat->live, PMC_PERF_GROUP_EXEC,
					 stat->child_pid, -1);
	else if (stat->target == STAT_MACHINE)
		error = scan_cpus(stat);
	else
		error = open_process(stat);
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
		if (stat->rows[r]->task.pid)
			live_task_close(&stat->rows[r]->task, &stat->budget);
		free(stat->rows[r]);
	}
}

/* ---- intervals: the time, a signal, or the end of the target -------------------------------- */

/* How often threads are looked for and read, and the end of one where no descriptor tells it. */
#define LOOK_NS 100000000u
/* So many threads are read as often, more of them less often. */
#define LOOK_AT 64u
/* PIDFD_THREAD of <linux/pidfd.h>, since Linux 6.9. */
#define FOR_THREAD O_EXCL

static bool target_ended(struct stat_job *stat)
{
	bool ended = stat->n_processes;

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
	/* Rows that are read later have no less. */
	const uint64_t process_ns = stat->process_ns ? stat_processes_ns(stat) : 0;
	const int error = stat_has_waits(stat)	       ? scan_threads(stat) :
			  stat->target == STAT_MACHINE ? scan_cpus(stat) :
							 0;

	if (error && error != -ESRCH && !stat->error)
		stat->error = error;
	for (unsigned r = 0; r < stat->n_rows; r++)
		stat_read_row(stat, stat->rows[r]);
	read_all_waits(stat);
	stat_rest_read(stat, process_ns);
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
	const bool looks = scans || (wait->input < 0 && stat->n_processes);

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
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, 0 };
	struct live_wait wait = { .child = &stat->child, .forward = stat->target == STAT_COMMAND };
	uint64_t n = 0;
	int code = 0;
	bool ended = false;

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
	live_wait_begin(&wait, ends);
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
		find_children(stat);
		/* Intervals add up to the summary. */
		if (!stat->interval_ns)
			scan(stat);
		getrusage(RUSAGE_CHILDREN, &stat->usage);
		stat->ended = true;
		stat->lacks_ns = stat_lacks_ns(stat);
		if (stat->prometheus)
			code = stat_prometheus_end(stat);
		else
			stat_print(stat, true);
	}
	/* A command that gave the duration only. */
	if (!code && stat->child.pid)
		kill(stat->child.pid, SIGTERM);
	live_wait_end(&wait);
	pmc_fd_close(wait.input);
	return code;
}
