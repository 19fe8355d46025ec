/* SPDX-License-Identifier: MIT */
/*
 * child.c - starts the command, forwards signals to it and waits for its end.
 *
 * Signals of the kernel come from the terminal, and the command gets them itself as a member of the
 * process group; but at a hang-up only the leader of the session gets SIGHUP. siginfo does not tell
 * kill(pid) from kill(-group): what a process sends to the group reaches the command twice.
 *
 * Forwarded signals are blocked and taken with sigwaitinfo, without handlers: the child cannot be
 * reaped between a check of its state and a signal to it.
 */
#include "agent/core/base/clock.h"
#include "tools/cli/pmctl.h"
#include "tools/run/run.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int forwarded[] = { SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,
				 SIGCONT, SIGWINCH, SIGTSTP, SIGTTIN, SIGTTOU };

struct waiting {
	sigset_t set, mask_was;
	struct sigaction chld_was;
};

static void prepare(struct waiting *waiting)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };

	sigemptyset(&waiting->set);
	sigaddset(&waiting->set, SIGCHLD);
	for (unsigned i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(&waiting->set, forwarded[i]);
	/* With an inherited SIG_IGN the kernel would reap the child. */
	sigaction(SIGCHLD, &plain, &waiting->chld_was);
	sigprocmask(SIG_BLOCK, &waiting->set, &waiting->mask_was);
}

/* Waits for a byte from `pipe`, and sends the errno of a failed exec to it. */
static void exec_child(const struct waiting *waiting, char **cmd, int pipe)
{
	char byte;
	int error;

	if (read(pipe, &byte, 1) != 1)
		_exit(EXIT_OURS);
	sigaction(SIGCHLD, &waiting->chld_was, NULL);
	sigaction(SIGPIPE, &tool_sigpipe_was, NULL);
	sigprocmask(SIG_SETMASK, &waiting->mask_was, NULL);
	execvp(cmd[0], cmd);
	error = errno;
	(void)!send(pipe, &error, sizeof(error), MSG_NOSIGNAL);
	_exit(error == ENOENT ? EXIT_NO_CMD : EXIT_CANNOT_RUN);
}

/* Forks and execs; on return exec_errno is known. */
static int start(const struct waiting *waiting, struct run *run)
{
	int pair[2], error = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -errno;
	run->child.start_ns = pmc_now_ns();
	run->child.pid = fork();
	if (run->child.pid == 0) {
		close(pair[0]);
		exec_child(waiting, run->cmd, pair[1]);
	}
	error = run->child.pid < 0 ? -errno : 0;
	close(pair[1]);
	if (!error) {
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

/* The CPU clock of a zombie can be read; wait4 reports its children too. */
static void reap(struct run_child *child)
{
	struct timespec ts;
	clockid_t clock;

	child->end_ns = pmc_now_ns();
	if (clock_getcpuclockid(child->pid, &clock) == 0 && clock_gettime(clock, &ts) == 0)
		child->cpu_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	while (wait4(child->pid, &child->status, 0, &child->usage) < 0 && errno == EINTR)
		;
}

/* Reaps the child if it has ended: true. If job control stopped it, stops pmctl too, so that a
 * shell sees its job as stopped. */
static bool check(struct run_child *child)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0 ||
	    info.si_pid == 0)
		return false;
	if (info.si_code != CLD_STOPPED && info.si_code != CLD_TRAPPED) {
		reap(child);
		return true;
	}
	/* Not its end, if it has ended since: the SIGCHLD of that is pending. */
	if (waitid(P_PID, (id_t)child->pid, &info, WSTOPPED | WNOHANG) == 0 &&
	    (info.si_status == SIGTSTP || info.si_status == SIGTTIN || info.si_status == SIGTTOU))
		kill(getpid(), SIGSTOP);
	return false;
}

static bool is_for_us_alone(const siginfo_t *info)
{
	return info->si_code != SI_KERNEL || (info->si_signo == SIGHUP && getsid(0) == getpid());
}

/* SIGCONT to the process group has continued the child by itself. */
static bool was_continued(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WCONTINUED | WNOHANG) == 0 && info.si_pid == pid;
}

static void forward(pid_t pid, int sig)
{
	if (sig == SIGCONT && was_continued(pid))
		return;
	kill(pid, sig);
	if (sig == SIGCONT)
		was_continued(pid);
}

static void wait_for(struct waiting *waiting, struct run_child *child)
{
	for (;;) {
		siginfo_t info;
		int sig = sigwaitinfo(&waiting->set, &info);

		if (sig == SIGCHLD) {
			if (check(child))
				return;
		} else if (sig > 0 && is_for_us_alone(&info)) {
			forward(child->pid, sig);
		}
	}
}

int run_child(struct run *run)
{
	struct waiting waiting;
	int error;

	/* As late as possible: a signal before this ends pmctl. */
	prepare(&waiting);
	error = start(&waiting, run);
	if (error == 0 && run->child.exec_errno)
		reap(&run->child);
	else if (error == 0)
		wait_for(&waiting, &run->child);
	/* Only the report is left: a signal ends pmctl. */
	sigprocmask(SIG_SETMASK, &waiting.mask_was, NULL);
	if (error)
		return tool_fail(EXIT_OURS, "cannot start a process: %s", strerror(-error));
	return 0;
}
