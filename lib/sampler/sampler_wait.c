/* SPDX-License-Identifier: MIT */
/* sampler_wait.c - waiting for records and for the end of their sources. */
#include "lib/sampler/sampler.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

/* Records below wakeup_events or the watermark wake nobody: look at least this often. */
#define SLICE_NS 100000000ull

uint64_t pmc_deadline(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX : pmc_now_ns() + (uint64_t)timeout_ms * 1000000;
}

uint64_t pmc_deadline_left(uint64_t deadline)
{
	uint64_t now;

	if (deadline == UINT64_MAX)
		return UINT64_MAX;
	now = pmc_now_ns();
	return now < deadline ? deadline - now : 0;
}

/* perf_poll() of kernel/events/core.c: POLLHUP once the event's task and all that inherited it have
 * exited, POLLERR in error state. Both are permanent: polling the descriptor again would spin. */
static int ended_by(short revents)
{
	if (revents & POLLNVAL)
		return -EBADF;
	if (revents & POLLHUP)
		return -ENODATA;
	return revents & POLLERR ? -EIO : 0;
}

/* A sampler has ended if all its sources have; errors take precedence over exited tasks. */
static void update_ended(struct pmc_sampler *sampler)
{
	int why = -ENODATA;

	for (const struct pmc_source *s = sampler->first; s; s = s->next) {
		if (s->detached)
			continue;
		if (s->counter && !s->ended)
			return;
		if (!s->ended)
			why = -EBADF; /* the counter was closed */
		else if (s->ended != -ENODATA)
			why = s->ended;
	}
	sampler->ended = why;
}

int pmc_samplers_wait(struct pmc_sampler *const *samplers, unsigned n, uint64_t timeout_ns)
{
	struct pollfd *polled;
	uint64_t ns = timeout_ns < SLICE_NS ? timeout_ns : SLICE_NS;
	struct timespec wait = { .tv_nsec = (long)ns };
	unsigned count = 0, i = 0;
	int got;

	for (unsigned k = 0; k < n; k++)
		for (struct pmc_source *s = samplers[k]->first; s; s = s->next)
			count += s->counter && !s->ended;
	polled = calloc(count + 1, sizeof(*polled));
	if (!polled)
		return -ENOMEM;
	for (unsigned k = 0; k < n; k++)
		for (struct pmc_source *s = samplers[k]->first; s; s = s->next)
			if (s->counter && !s->ended)
				polled[i++] = (struct pollfd){ .fd = pmc_counter_fd(s->counter),
							       .events = POLLIN };
	got = ppoll(polled, count, &wait, NULL);
	if (got < 0)
		got = -errno;
	i = 0;
	for (unsigned k = 0; k < n; k++) {
		for (struct pmc_source *s = samplers[k]->first; s && got > 0; s = s->next)
			if (s->counter && !s->ended)
				s->ended = ended_by(polled[i++].revents);
		update_ended(samplers[k]);
	}
	free(polled);
	return got < 0 ? got : 0;
}

int pmc_sampler_next_wait(struct pmc_sampler *sampler, struct pmc_record *record, int timeout_ms)
{
	uint64_t deadline = pmc_deadline(timeout_ms), left;
	int error;

	for (;;) {
		error = pmc_sampler_next(sampler, record);
		if (error != -EAGAIN)
			return error;
		left = pmc_deadline_left(deadline);
		if (!left)
			return -EAGAIN;
		error = pmc_samplers_wait(&sampler, 1, left);
		if (error)
			return error;
	}
}
