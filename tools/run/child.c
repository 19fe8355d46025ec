/* SPDX-License-Identifier: MIT */
/*
 * child.c - starts the command, forwards signals to it and waits for its end.
 *
 * Signals of the terminal reach the command anyway, as a member of the process group: those are not
 * forwarded. Forwarded signals are blocked and taken synchronously, without handlers: the child
 * cannot be reaped between a check of its state and a signal to it.
 */
#include "lib/base/clock.h"
#include "tools/run/run.h"

#include <sys/wait.h>
#include <unistd.h>

static const int forwarded[] = { SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,
				 SIGCONT, SIGWINCH, SIGTSTP, SIGTTIN, SIGTTOU };

/* Never runs, the signals are blocked. */
static void quiet(int sig)
{
	(void)sig;
}

void run_block_signals(struct run_signals *waiting)
{
	static const int ignored[] = { SIGCONT, SIGWINCH };
	struct sigaction handled = { .sa_handler = quiet }, was;

	sigemptyset(&waiting->set);
	sigaddset(&waiting->set, SIGCHLD);
	for (unsigned i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(&waiting->set, forwarded[i]);
	/* Of signals whose default is to be ignored, macOS keeps only those with a handler pending;
	 * exec sets handlers to the default. With an inherited SIG_IGN of SIGCHLD the kernel would
	 * reap the child. */
	sigaction(SIGCHLD, &handled, NULL);
	for (unsigned i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		if (sigaction(ignored[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
			sigaction(ignored[i], &handled, NULL);
	sigprocmask(SIG_BLOCK, &waiting->set, &waiting->mask_was);
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
		child->end_ns = pmc_now_ns();
		run_reap(child);
		return true;
	}
	/* Not its end, if it has ended since: the SIGCHLD of that is pending. */
	if (waitid(P_PID, (id_t)child->pid, &info, WSTOPPED | WNOHANG) == 0 &&
	    (info.si_status == SIGTSTP || info.si_status == SIGTTIN || info.si_status == SIGTTOU))
		kill(getpid(), SIGSTOP);
	return false;
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

static void wait_for(struct run_signals *waiting, struct run_child *child)
{
	/* It may have ended before SIGCHLD was blocked. */
	bool ended = check(child);

	while (!ended) {
		bool from_terminal = false;
		int sig = run_next_signal(&waiting->set, &from_terminal);

		if (sig == SIGCHLD)
			ended = check(child);
		else if (sig > 0 && !from_terminal)
			forward(child->pid, sig);
	}
}

int run_child(struct run *run)
{
	struct run_signals waiting;
	int code;

	run->child.start_ns = pmc_now_ns();
	code = run_start(&waiting, run);
	if (!code)
		wait_for(&waiting, &run->child);
	off_cpu_stop(run->off_cpu);
	/* Only the report is left: a signal ends pmctl. */
	if (!code)
		sigprocmask(SIG_SETMASK, &waiting.mask_was, NULL);
	return code;
}
