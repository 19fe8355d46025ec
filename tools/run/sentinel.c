/* SPDX-License-Identifier: MIT */
/*
 * sentinel.c - a process that does nothing but share our process group and its signals.
 *
 * A signal from the terminal, or from kill to a group, has reached the child already; one sent to
 * pmctl alone has not. The siginfo cannot tell kill(pid) from kill(-group). The sentinel can: it
 * blocks everything and is asked whether it got that signal too.
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

/* Answers, for each signal number read, whether that one was pending. Ends with its parent. */
static void watch(int fd, pid_t parent)
{
	sigset_t all;
	int sig;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The caller's files and pipes are not to be held open by us. */
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

/* Stopped with the group by a SIGSTOP that no SIGCONT to the group has followed. */
static bool is_stopped(const struct run_sentinel *sentinel)
{
	siginfo_t state = { 0 };

	return waitid(P_PID, (id_t)sentinel->pid, &state, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
	       state.si_pid == sentinel->pid;
}

/* The stop may take effect only while we wait for the answer: look again until it comes.
 * *woken: it was us who continued it, so a SIGCONT it has is ours. */
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
	/* kill() to a group holds the kernel's task list for reading until each member has the
	 * signal, and this takes it for writing: whatever brought us here is through. */
	setpgid(0, getpgrp());
	got = ask(sentinel, sig, &woken);
	if (!woken)
		return got;
	/* Our own SIGCONT is not to be taken for the group's later. */
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
