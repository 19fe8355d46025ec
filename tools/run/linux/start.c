/* SPDX-License-Identifier: MIT */
/*
 * start.c - starts the command, and tells the terminal's signals from others.
 *
 * Signals of the kernel come from the terminal; but at a hang-up only the leader of the session
 * gets SIGHUP. siginfo does not tell kill(pid) from kill(-group): what a process sends to the group
 * reaches the command twice.
 */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/labels.h"
#include "lib/base/out.h"
#include "lib/base/proc.h"
#include "tools/cli/pmctl.h"
#include "tools/live/limit.h"
#include "tools/live/task.h"
#include "tools/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const struct run_preload run_preload = {
	.separators = " :\t\n",
	.separator_names = "space or colon",
};

/* ---- snapshots by the wall clock ------------------------------------------------------------ */

/* Whether pmctl may read a child as pmctl dump does. Yama and containers may forbid it. */
static bool may_watch(void)
{
	const pid_t pid = fork();
	int pidfd, fd, error;

	if (!pid) {
		pause();
		_exit(0);
	}
	pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	fd = pidfd >= 0 ? (int)syscall(SYS_pidfd_getfd, pidfd, STDERR_FILENO, 0) : -1;
	error = errno;
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	pmc_fd_close(fd);
	pmc_fd_close(pidfd);
	/* EBADF: standard error is closed. */
	errno = error;
	return fd >= 0 || (pidfd >= 0 && error == EBADF);
}

void run_watch_prepare(struct run *run)
{
	if (!run->interval_flag || !run->config.interval)
		return;
	run->watched = may_watch();
	if (run->watched)
		unsetenv("PMC_INTERVAL");
	else
		tool_warn("-I: the program takes the snapshots itself, while it uses CPU time: "
			  "it cannot be read from outside: %s",
			  strerror(errno));
}

/* A process of its own, until those of the command have ended. It holds none of the caller's files,
 * and is no child of pmctl, whose only one is the command. */
static void watch(const struct run *run)
{
	char pid[16], interval[32];
	const char *argv[] = { "dump", "--tree", pid, "-I", interval, NULL };
	const struct timespec pause = { .tv_nsec = 20000000 };
	const pid_t between = run->watched ? fork() : -1;
	int null;

	if (between > 0)
		waitpid(between, NULL, 0);
	if (between)
		return;
	if (fork())
		_exit(0);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	snprintf(pid, sizeof(pid), "%d", run->child.pid);
	snprintf(interval, sizeof(interval), "%" PRIu64 "ns", run->config.interval);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	syscall(SYS_close_range, 3, ~0U, 0);
	/* Until the program, or one that it starts, has an agent. */
	while (cmd_dump(5, (char **)(void *)argv) && kill(run->child.pid, 0) == 0)
		nanosleep(&pause, NULL);
	_exit(0);
}

/* ---- start and signals ---------------------------------------------------------------------- */

/* Says when the command starts, to its agent (agent/base/job.c). */
static void tell_agent(void)
{
	const uint64_t now_ns = pmc_now_ns();
	uint64_t delay_ns;
	char text[80];

	pmc_run_delay(0, &delay_ns);
	snprintf(text, sizeof(text), "0:%d:%" PRIu64 ":%" PRIu64, (int)getpid(), now_ns, delay_ns);
	setenv("PMC_JOB", text, 1);
}

int run_start(struct run_signals *signals, struct run *run)
{
	struct tool_child child = { .before_exec = tell_agent };
	int code = tool_child_start(&child, run->cmd);

	if (code)
		return code;
	run->child.pid = child.pid;
	/* As late as possible: a signal before this ends pmctl, and the child, which waits. */
	run_block_signals(signals);
	if (run->off_cpu_wanted)
		code = off_cpu_start(&run->off_cpu, child.pid, run->config.unwind == PMC_UNWIND_FP);
	if (code) {
		tool_child_drop(&child);
		return code;
	}
	run_totals_open(run);
	code = tool_child_go(&child, run->cmd[0]);
	if (!code)
		watch(run);
	return code;
}

int run_next_signal(const sigset_t *set, uint64_t until_ns, bool *from_terminal)
{
	const uint64_t left = pmc_sub_sat(until_ns, pmc_now_ns());
	const struct timespec wait = { (time_t)(left / 1000000000), (long)(left % 1000000000) };
	siginfo_t info;
	int sig =
		until_ns == UINT64_MAX ? sigwaitinfo(set, &info) : sigtimedwait(set, &info, &wait);

	*from_terminal =
		sig > 0 && info.si_code == SI_KERNEL && !(sig == SIGHUP && getsid(0) == getpid());
	return sig > 0 ? sig : 0;
}

/* ---- --delay ------------------------------------------------------------------------------- */

/* How often descendants are looked for: a new one starts no earlier than after a delay. Between two
 * searches at least so many times the time of the first. */
#define SEARCH_NS   20000000u
#define SEARCH_REST 20u

static void list_processes(struct run *run)
{
	struct run_delays *delays = &run->delays;
	struct live_tids pids = { .n = 0 };

	live_tree_pids(run->child.pid, &pids);
	delays->n = 0;
	for (unsigned i = 0; i < pids.n; i++) {
		delays->list = tool_list_grow(delays->list, delays->n, &delays->room,
					      sizeof(*delays->list));
		delays->list[delays->n++] = (struct run_delay){ .pid = pids.list[i] };
	}
	live_tids_free(&pids);
}

static void end_delay(struct run *run, struct run_delay *delay)
{
	char why[ATTACH_WHY];

	/* Of descendants that may not be read it is not known whether they have an agent. */
	if (attach_end_delay(delay->pid, &run->delays.found, &delay->due_ns, why) ||
	    run->delays.refused || delay->pid != run->child.pid ||
	    program_obstacle[run->program.kind])
		return;
	run->delays.refused = true;
	tool_warn("--delay: counting starts when the program next uses CPU time: %s", why);
}

uint64_t run_end_delays(struct run *run)
{
	struct run_delays *delays = &run->delays;
	const uint64_t delay_ns = run->config.delay, now = pmc_now_ns();
	const bool search = now >= delays->search_ns;
	uint64_t next_ns;

	if (!run->config.start || !delay_ns)
		return UINT64_MAX;
	delays->found.delay_ns = delay_ns;
	if (search)
		list_processes(run);
	for (size_t i = 0; i < delays->n; i++)
		if (delays->list[i].due_ns <= now)
			end_delay(run, &delays->list[i]);
	if (search) {
		delays->search_ns = now + SEARCH_REST * (pmc_now_ns() - now);
		pmc_add_sat(&delays->search_ns, delay_ns > SEARCH_NS ? delay_ns : SEARCH_NS);
	}
	next_ns = delays->search_ns;
	for (size_t i = 0; i < delays->n; i++)
		if (delays->list[i].due_ns < next_ns)
			next_ns = delays->list[i].due_ns;
	return next_ns;
}

/* The CPU clock of a zombie can be read; wait4 reports its children too. */
void run_reap(struct run_child *child)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(child->pid, &clock) == 0 && clock_gettime(clock, &ts) == 0)
		child->cpu_ns = pmc_timespec_ns(&ts);
	while (wait4(child->pid, &child->status, 0, &child->usage) < 0 && errno == EINTR)
		;
	child->max_rss_bytes = (uint64_t)child->usage.ru_maxrss * 1024;
}

void run_boot_id(char *text, size_t cap)
{
	pmc_file_read(text, cap, "/proc/sys/kernel/random/boot_id");
}

/* The address of mpiexec, which MPICH's launcher (Hydra) gives its proxy on every node. */
static const char *hydra_address(char *cmdline, size_t len)
{
	static const char option[] = "--control-port";
	const char *at = memmem(cmdline, len, option, sizeof(option));

	return at ? at + sizeof(option) : NULL;
}

/* Unless the user or the environment of a rank gives that key. */
static void add_label(const char *key, const char *value)
{
	const char *users = getenv("PMC_LABEL");
	char labels[PMC_LABELS_BYTES];
	struct pmc_out out;
	size_t len;

	pmc_out_to_mem(&out, labels, sizeof(labels));
	if (users && !pmc_labels_valid(users))
		return;
	(void)pmc_labels(&out, environ, users);
	if (pmc_label(labels, key, &len))
		return;
	pmc_out_to_mem(&out, labels, sizeof(labels));
	pmc_outf(&out, "%s%s%s=%s", users ? users : "", users ? "," : "", key, value);
	if (pmc_labels_valid(labels))
		setenv("PMC_LABEL", labels, 1);
}

/* The ranks of Slurm and Open MPI have the ID of their job in the environment. Those of Hydra
 * started a pmctl each, and nothing but that address is the same in all. */
static void label_job(void)
{
	enum { GENERATIONS = 8 };
	const char *job = NULL;
	char text[4096];
	struct pmc_proc_stat stat;
	pid_t pid = getppid();

	for (unsigned i = 0; getenv("PMI_RANK") && i < GENERATIONS && pid > 1; i++) {
		if (!live_stat_read(pid, &stat))
			return;
		if (!strncmp(stat.name, "hydra_pmi_proxy", 15)) {
			const int n = pmc_file_read(text, sizeof(text), "/proc/%d/cmdline", pid);

			job = n > 0 ? hydra_address(text, (size_t)n) : NULL;
			break;
		}
		pid = (pid_t)stat.parent;
	}
	if (job && !strchr(job, ','))
		add_label("job", job);
}

void run_label(void)
{
	struct live_cpu_limit limit;
	char cpus[32];

	label_job();
	live_cpu_limit_read(getpid(), &limit);
	snprintf(cpus, sizeof(cpus), "%.2f", limit.cpus);
	if (limit.cpus > 0)
		add_label("cpu-limit", cpus);
}
