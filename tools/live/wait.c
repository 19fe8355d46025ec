/* SPDX-License-Identifier: MIT */
/* wait.c - waiting between two readings; see wait.h. */
#include "tools/live/wait.h"
#include "lib/base/clock.h"
#include "lib/base/number.h"

#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

void live_wait_begin(struct live_wait *wait, const int *signals)
{
	struct sigaction now;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (; *signals; signals++)
		if ((!wait->child->pid && *signals == SIGINT) ||
		    (sigaction(*signals, NULL, &now) == 0 && now.sa_handler != SIG_IGN))
			sigaddset(&set, *signals);
	sigprocmask(SIG_BLOCK, &set, &wait->was);
	wait->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void live_wait_end(struct live_wait *wait)
{
	close(wait->signals);
	sigprocmask(SIG_SETMASK, &wait->was, NULL);
}

/* LIVE_TIME: none that concerns the caller. */
static enum live_event take_signals(const struct live_wait *wait)
{
	struct signalfd_siginfo info;
	enum live_event event = LIVE_TIME;

	while (read(wait->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGWINCH)
			event = LIVE_RESIZED;
		else if (info.ssi_signo == SIGTSTP)
			return LIVE_STOP;
		else if (info.ssi_signo != SIGCHLD && !wait->forward)
			return LIVE_ENDED;
		/* The terminal has sent its signals to the command too. */
		else if (info.ssi_signo != SIGCHLD && info.ssi_code != SI_KERNEL &&
			 wait->child->pid)
			kill(wait->child->pid, (int)info.ssi_signo);
	}
	return event;
}

enum live_event live_wait(const struct live_wait *wait, uint64_t until_ns)
{
	struct pollfd fds[2] = { { .fd = wait->signals, .events = POLLIN },
				 { .fd = wait->input, .events = POLLIN } };
	const bool command = wait->child->pid;

	for (;;) {
		const uint64_t left = pmc_sub_sat(until_ns, pmc_now_ns());
		const struct timespec time = { (time_t)(left / 1000000000u),
					       (long)(left % 1000000000u) };
		enum live_event event;

		if (ppoll(fds, 2, until_ns ? &time : NULL, NULL) < 0 && errno != EINTR)
			return LIVE_ENDED;
		event = take_signals(wait);
		if (event != LIVE_TIME)
			return event;
		if (command && tool_child_ended(wait->child, false))
			return LIVE_ENDED;
		if (fds[1].revents)
			return LIVE_INPUT;
		if (until_ns && !left)
			return LIVE_TIME;
	}
}

void live_wait_child(struct tool_child *child)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0 };
	struct live_wait wait = { .input = -1, .child = child, .forward = true };

	/* With an inherited SIG_IGN the kernel would reap the child. */
	signal(SIGCHLD, SIG_DFL);
	live_wait_begin(&wait, ends);
	if (!tool_child_ended(child, false))
		while (live_wait(&wait, 0) != LIVE_ENDED)
			;
	live_wait_end(&wait);
}
