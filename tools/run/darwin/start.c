/* SPDX-License-Identifier: MIT */
/*
 * start.c - starts the command by posix_spawn, and tells the terminal's signals from others.
 *
 * sigwait does not tell who has sent a signal. If pmctl is in the foreground process group of its
 * terminal, signals of keys and of the window are taken as the terminal's: one that another process
 * sends to pmctl alone is then not forwarded.
 */
#include "lib/base/clock.h"
#include "lib/count/thread_counts.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/mac_usage.h"
#include "tools/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sysctl.h>
#include <sys/wait.h>
#include <unistd.h>

const struct run_preload run_preload = {
	.separators = ":",
	.separator_names = "colon",
	.must_load = true,
};

int run_start(struct run_signals *signals, struct run *run)
{
	const struct tool_spawn spawn = { .argv = run->cmd, .mask = &signals->mask_was };
	int error;

	run_block_signals(signals);
	error = tool_spawn(&spawn, &run->child.pid);
	return error ? tool_fail_exec(run->cmd[0], error) : 0;
}

static bool in_foreground(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
	bool yes = fd >= 0 && tcgetpgrp(fd) == getpgrp();

	if (fd >= 0)
		close(fd);
	return yes;
}

int run_next_signal(const sigset_t *set, uint64_t until_ns, bool *from_terminal)
{
	int sig = 0;

	(void)until_ns;
	if (sigwait(set, &sig) != 0)
		return 0;
	*from_terminal = (sig == SIGINT || sig == SIGQUIT || sig == SIGTSTP || sig == SIGTTIN ||
			  sig == SIGTTOU || sig == SIGWINCH) &&
			 in_foreground();
	return sig;
}

void run_watch_prepare(struct run *run)
{
	(void)run;
}

uint64_t run_end_delays(struct run *run)
{
	(void)run;
	return UINT64_MAX;
}

void run_reap(struct run_child *child)
{
	struct mac_usage usage;
	bool timed;

	timed = mac_usage_read(child->pid, &usage) == 0 && usage.timed;
	if (timed)
		child->cpu_ns = usage.user_ns + usage.system_ns;
	while (wait4(child->pid, &child->status, 0, &child->usage) < 0 && errno == EINTR)
		;
	/* The times of wait4 include those of the children that it has waited for. */
	if (!timed)
		child->cpu_ns = pmc_timeval_ns(&child->usage.ru_utime) +
				pmc_timeval_ns(&child->usage.ru_stime);
	child->max_rss_bytes = (uint64_t)child->usage.ru_maxrss;
}

void run_boot_id(char *text, size_t cap)
{
	if (sysctlbyname("kern.bootsessionuuid", text, &cap, NULL, 0) != 0)
		text[0] = '\0';
}

void run_label(void)
{
}
