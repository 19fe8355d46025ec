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
#include "tools/cli/pmctl.h"
#include "tools/run/run.h"

#include <errno.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const struct run_preload run_preload = {
	.separators = " :\t\n",
	.separator_names = "space or colon",
};

int run_start(struct run_signals *signals, struct run *run)
{
	struct tool_child child = { .pid = 0 };
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
	return tool_child_go(&child, run->cmd[0]);
}

int run_next_signal(const sigset_t *set, bool *from_terminal)
{
	siginfo_t info;
	int sig = sigwaitinfo(set, &info);

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
