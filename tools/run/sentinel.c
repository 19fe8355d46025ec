/* SPDX-License-Identifier: MIT */
/*
 * sentinel.c - a process in pmctl's process group that tells which signals went to the group.
 *
 * A signal from the terminal, or of kill() to the group, has reached the child already; one sent to
 * pmctl alone must be forwarded. siginfo does not tell kill(pid) from kill(-group). The sentinel
 * blocks all signals; one that is pending there too was sent to the group.
 */
#include "tools/run/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Answers for each signal number read whether it was pending. Ends with its parent. */
static void watch(int fd, pid_t parent)
{
	sigset_t all;
	int sig;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Holding the caller's pipes open would delay their end of file. */
	if (dup2(fd, 0) != 0)
		_exit(1);
	syscall(SYS_close_range, 1, ~0u, 0);
	if (getppid() != parent)
		_exit(0);
	while (read(0, &sig, sizeof(sig)) == sizeof(sig)) {
		const struct timespec now = { 0, 0 };
		sigset_t set;
		int got;

		sigemptyset(&set);
		sigaddset(&set, sig);
		got = sigtimedwait(&set, NULL, &now) == sig;
		if (write(0, &got, sizeof(got)) != sizeof(got))
			break;
	}
	_exit(0);
}

void run_sentinel_start(struct run_sentinel *sentinel)
{
	pid_t parent = getpid();
	int pair[2];

	sentinel->pid = -1;
	sentinel->fd = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return;
	sentinel->pid = fork();
	if (sentinel->pid == 0) {
		close(pair[0]);
		watch(pair[1], parent);
	}
	close(pair[1]);
	sentinel->fd = pair[0];
	if (sentinel->pid < 0)
		run_sentinel_stop(sentinel);
}

/* Whether a SIGSTOP to the group stopped the sentinel. */
static bool is_stopped(const struct run_sentinel *sentinel)
{
	siginfo_t state = { 0 };

	return waitid(P_PID, (id_t)sentinel->pid, &state, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
	       state.si_pid == sentinel->pid;
}

/* A stop may take effect while the answer is awaited: checked again until it comes. *woken: pmctl
 * continued the sentinel, so a pending SIGCONT may be pmctl's own. */
static bool ask(struct run_sentinel *sentinel, int sig, bool *woken)
{
	struct pollfd answer = { .fd = sentinel->fd, .events = POLLIN };
	int got = 0;

	if (send(sentinel->fd, &sig, sizeof(sig), MSG_NOSIGNAL) != sizeof(sig))
		goto fail;
	do {
		if (is_stopped(sentinel)) {
			*woken = true;
			kill(sentinel->pid, SIGCONT);
		}
	} while (poll(&answer, 1, 5) == 0);
	if (recv(sentinel->fd, &got, sizeof(got), 0) != sizeof(got))
		goto fail;
	return got;
fail:
	run_sentinel_stop(sentinel);
	return false;
}

bool run_sentinel_saw(struct run_sentinel *sentinel, int sig)
{
	bool woken = false, got;

	if (sentinel->pid < 0)
		return false;
	/* kill() to a group holds the kernel's task list lock for reading until each member has the
	 * signal. setpgid takes it for writing: on return the group's signal is delivered. */
	setpgid(0, getpgrp());
	got = ask(sentinel, sig, &woken);
	if (!woken)
		return got;
	/* Clears pmctl's own SIGCONT. */
	if (sentinel->pid > 0)
		ask(sentinel, SIGCONT, &woken);
	return sig != SIGCONT && got;
}

void run_sentinel_stop(struct run_sentinel *sentinel)
{
	if (sentinel->fd >= 0)
		close(sentinel->fd);
	if (sentinel->pid > 0) {
		kill(sentinel->pid, SIGCONT);
		while (waitpid(sentinel->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	sentinel->fd = -1;
	sentinel->pid = -1;
}
