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
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const struct run_preload run_preload = {
	.separators = " :\t\n",
	.separator_names = "space or colon",
};

/* Says when the command starts, to its agent, and what this process has used by then: that is work
 * of pmctl (agent/base/job.c). */
static void tell_agent(void)
{
	struct pmc_usage used;
	uint64_t words[9] = { pmc_now_ns() };
	char text[1024]; /* with room for what the agent writes in its place */
	struct pmc_out out = pmc_out_mem(text, sizeof(text));

	pmc_run_delay(0, &words[1]);
	words[2] = pmc_process_cpu_ns();
	pmc_usage_process(&used);
	words[3] = used.minor_faults;
	words[4] = used.major_faults;
	words[5] = used.voluntary_switches;
	words[6] = used.involuntary_switches;
	words[7] = used.user_ns;
	words[8] = used.system_ns;
	pmc_outf(&out, "0:%d", (int)getpid());
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		pmc_out_char(&out, ':');
		pmc_out_u64(&out, words[i]);
	}
	pmc_out_pad(&out, ' ', (int)(sizeof(text) - 1 - out.len));
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
		run_watch(run);
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
