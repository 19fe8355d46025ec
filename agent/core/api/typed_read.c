/* SPDX-License-Identifier: MIT */
/*
 * typed_read.c - an open typed group: switched, reset, read, closed; see pmc/group.h.
 *
 * Async-signal-safe: raw system calls, the caller's memory, errno as it was.
 */
#include "agent/core/api/typed.h"
#include "agent/core/count/perf.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static int control(const struct pmc_typed *group, const struct pmc_typed_event *events,
		   unsigned long request)
{
	int kept = errno, error;

	if (group->n_open == 0)
		return -EBADF;
	error = pmc_perf_ioctl(events[0].fd, request, (void *)(uintptr_t)PERF_IOC_FLAG_GROUP);
	errno = kept;
	return error < 0 ? error : 0;
}

int pmc_typed_enable(const struct pmc_typed *group, const struct pmc_typed_event *events)
{
	return control(group, events, PERF_EVENT_IOC_ENABLE);
}

int pmc_typed_disable(const struct pmc_typed *group, const struct pmc_typed_event *events)
{
	return control(group, events, PERF_EVENT_IOC_DISABLE);
}

struct raw {
	struct pmc_perf_head head;
	struct pmc_perf_value values[PMC_EVENTS_MAX]; /* in the order of the fields */
};

/* The kernel lists a leader, then its siblings; the ids say which is which, and that all of them
 * are still ours: a number that the program closed may be any file by now. */
static int in_order(const struct pmc_typed_event *events, unsigned n, struct raw *raw)
{
	for (unsigned i = 0; i < n; i++) {
		struct pmc_perf_value found;
		unsigned k = i;

		while (k < n && raw->values[k].id != events[i].id)
			k++;
		if (k == n)
			return -EBADF;
		found = raw->values[k];
		raw->values[k] = raw->values[i];
		raw->values[i] = found;
	}
	return 0;
}

static int read_raw(const struct pmc_typed *group, const struct pmc_typed_event *events, unsigned n,
		    struct raw *raw)
{
	uint64_t words[3 + 2 * PMC_EVENTS_MAX];
	int kept = errno, error;

	if (group->n_open == 0 || group->n_open != n || n > PMC_EVENTS_MAX)
		return -EBADF;
	error = pmc_perf_read(events[0].fd, TYPED_READ_FORMAT, n, words);
	errno = kept;
	if (error)
		return error == -EIO || error == -ENOSPC ? -EBADF : error;
	error = pmc_perf_decode(words, pmc_perf_read_words(TYPED_READ_FORMAT, n), TYPED_READ_FORMAT,
				&raw->head, raw->values, n);
	if (error < 0 || raw->head.n != n)
		return -EBADF;
	return in_order(events, n, raw);
}

int pmc_typed_reset(struct pmc_typed *group, struct pmc_typed_event *events, unsigned n)
{
	struct raw raw;
	int error = read_raw(group, events, n, &raw);

	if (error)
		return error;
	for (unsigned i = 0; i < n; i++)
		events[i].base = raw.values[i].value;
	group->base_enabled_ns = raw.head.enabled_ns;
	group->base_running_ns = raw.head.running_ns;
	return 0;
}

int pmc_typed_read(const struct pmc_typed *group, const struct pmc_typed_event *events, unsigned n,
		   uint64_t *values, struct pmc_typed_times *times)
{
	struct raw raw;
	int error = read_raw(group, events, n, &raw);

	*times = (struct pmc_typed_times){ .state = PMC_NOT_COUNTED };
	if (error)
		goto fail;
	times->enabled_ns = raw.head.enabled_ns - group->base_enabled_ns;
	times->running_ns = raw.head.running_ns - group->base_running_ns;
	for (unsigned i = 0; i < n && !error; i++)
		error = pmc_scale(raw.values[i].value - events[i].base, times->enabled_ns,
				  times->running_ns, &values[i]);
	if (error)
		goto fail;
	times->state = times->running_ns < times->enabled_ns ? PMC_SCALED : PMC_COUNTED;
	return 0;
fail:
	for (unsigned i = 0; i < n; i++)
		values[i] = PMC_NO_VALUE;
	return error;
}

void pmc_typed_close(struct pmc_typed *group, struct pmc_typed_event *events)
{
	int kept = errno;

	if (!group)
		return;
	/* Siblings first: closing a leader would turn each of them into a group of its own. */
	while (group->n_open > 0) {
		int *fd = &events[--group->n_open].fd;

		if (*fd >= 0)
			syscall(SYS_close, *fd);
		*fd = -1;
	}
	errno = kept;
}
