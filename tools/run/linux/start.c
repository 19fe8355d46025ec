/* SPDX-License-Identifier: MIT */
/*
 * start.c - starts the command by fork and exec, and tells the terminal's signals from others.
 *
 * Signals of the kernel come from the terminal; but at a hang-up only the leader of the session
 * gets SIGHUP. siginfo does not tell kill(pid) from kill(-group): what a process sends to the group
 * reaches the command twice.
 */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "tools/cli/pmctl.h"
#include "tools/run/child.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const struct run_preload run_preload = {
	.variable = "LD_PRELOAD",
	.separators = " :\t\n",
	.separator_names = "space or colon",
	.library = "libpmcagent.so",
};

/* Waits for a byte from `pipe`, and sends the errno of a failed exec to it. */
static void exec_child(const struct run_signals *signals, char **cmd, int pipe)
{
	char byte;
	int error;

	if (read(pipe, &byte, 1) != 1)
		_exit(EXIT_OURS);
	sigaction(SIGCHLD, &signals->chld_was, NULL);
	tool_restore_signals();
	sigprocmask(SIG_SETMASK, &signals->mask_was, NULL);
	execvp(cmd[0], cmd);
	error = errno;
	(void)!send(pipe, &error, sizeof(error), MSG_NOSIGNAL);
	_exit(error == ENOENT ? EXIT_NO_CMD : EXIT_CANNOT_RUN);
}

int run_start(const struct run_signals *signals, struct run *run)
{
	int pair[2], error = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -errno;
	run->child.pid = fork();
	if (run->child.pid == 0) {
		close(pair[0]);
		exec_child(signals, run->cmd, pair[1]);
	}
	error = run->child.pid < 0 ? -errno : 0;
	close(pair[1]);
	if (!error && run->off_cpu_wanted)
		run->child.refused = off_cpu_start(&run->off_cpu, run->child.pid,
						   run->config.unwind == PMC_UNWIND_FP);
	/* Without its byte the child ends. */
	if (!error && !run->child.refused) {
		run_totals_open(run);
		/* Fails if the child was killed, which wait4 will report. */
		(void)!send(pair[0], "", 1, MSG_NOSIGNAL);
		if (read(pair[0], &run->child.exec_errno, sizeof(run->child.exec_errno)) !=
		    sizeof(run->child.exec_errno))
			run->child.exec_errno = 0;
	}
	close(pair[0]);
	return error;
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
