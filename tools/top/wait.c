/* SPDX-License-Identifier: MIT */
/* wait.c - waits for the next interval, a key, a signal or the end of a command. */
#include "lib/base/clock.h"
#include "tools/top/top.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

/* The terminal has sent its signals to the command too. */
static enum top_event take_signals(struct top_job *job)
{
	struct signalfd_siginfo info;
	enum top_event event = TOP_INTERVAL;

	while (read(job->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGWINCH)
			event = TOP_RESIZED;
		else if (info.ssi_signo == SIGTSTP)
			return TOP_STOP;
		else if (info.ssi_signo != SIGCHLD) {
			if (job->child.pid && info.ssi_code != SI_KERNEL)
				kill(job->child.pid, (int)info.ssi_signo);
			if (!job->child.pid)
				return TOP_ENDED;
		}
	}
	return event;
}

enum top_event top_wait(struct top_job *job, int keys)
{
	struct pollfd fds[2] = { { .fd = job->signals, .events = POLLIN },
				 { .fd = keys, .events = POLLIN } };

	for (;;) {
		uint64_t now = pmc_now_ns(), left = job->next_ns > now ? job->next_ns - now : 0;
		const struct timespec wait = { (time_t)(left / 1000000000u),
					       (long)(left % 1000000000u) };
		enum top_event event;

		if (!left) {
			/* Intervals that were missed are not made up for. */
			job->next_ns += job->flags.interval_ns;
			if (job->next_ns < now)
				job->next_ns = now + job->flags.interval_ns;
			return TOP_INTERVAL;
		}
		if (ppoll(fds, 2, &wait, NULL) < 0 && errno != EINTR)
			return TOP_ENDED;
		event = take_signals(job);
		if (event != TOP_INTERVAL)
			return event;
		if (job->flags.cmd && tool_child_ended(&job->child, false))
			return TOP_ENDED;
		if (fds[1].revents)
			return TOP_KEY;
	}
}
