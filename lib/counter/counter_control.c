/* SPDX-License-Identifier: MIT */
/* counter_control.c - enabling, disabling, and the settings of an open counter. */
#include "lib/counter/counter.h"

#include <errno.h>

/* ---- control: one ioctl each --------------------------------------------------------------*/

/* Whether the times advance now; those of a thread that is not on a CPU do not. */
static bool is_running(const struct pmc_counter *counter)
{
	uint64_t before = counter_running_ns(counter);

	return before && counter_running_ns(counter) != before;
}

/* Software events are of several PMUs of the kernel. One that is enabled in a running group of
 * another PMU stays stopped until the thread's next context switch (Linux 6.18):
 * __perf_event_enable() in kernel/events/core.c reschedules the event's own PMU only. */
static bool is_software(const struct pmc_counter *counter)
{
	const uint32_t type = counter->attr.base.type;

	return type == PERF_TYPE_SOFTWARE || type == PERF_TYPE_TRACEPOINT ||
	       type == PERF_TYPE_BREAKPOINT;
}

/* Not if the descriptor's number now belongs to another event. */
static int ioctl_with(const struct pmc_counter *counter, unsigned long request, const void *arg)
{
	int error = counter_check(counter);

	return error ? error : pmc_perf_ioctl(counter->fd, request, (void *)(uintptr_t)arg);
}

static int ioctl_of(const struct pmc_counter *counter, unsigned long request)
{
	return ioctl_with(counter, request, NULL);
}

int pmc_counter_enable(struct pmc_counter *counter)
{
	struct pmc_counter *leader;
	int error, restarted;

	if (!counter)
		return -EINVAL;
	leader = counter->group ? counter->group->members[0] : counter;
	if (leader == counter || !is_software(leader) || !is_running(leader))
		return ioctl_of(counter, PERF_EVENT_IOC_ENABLE);
	error = ioctl_of(leader, PERF_EVENT_IOC_DISABLE);
	error = error ? error : ioctl_of(counter, PERF_EVENT_IOC_ENABLE);
	restarted = ioctl_of(leader, PERF_EVENT_IOC_ENABLE);
	return error ? error : restarted;
}

int pmc_counter_disable(struct pmc_counter *counter)
{
	return counter ? ioctl_of(counter, PERF_EVENT_IOC_DISABLE) : -EINVAL;
}

/* A group opened here is enabled through its leader only: with PERF_IOC_FLAG_GROUP each member is
 * enabled after its leader, and may stay stopped as above. */
static int control_group(const struct pmc_counter *counter, unsigned long request)
{
	if (!counter)
		return -EINVAL;
	if (counter->group)
		return ioctl_of(counter->group->members[0], request);
	return ioctl_with(counter, request, (void *)(uintptr_t)PERF_IOC_FLAG_GROUP);
}

/* Whether an adopted counter is known to lead its group: a reading starts with the leader. */
static bool is_leader(const struct pmc_counter *counter)
{
	struct pmc_perf_value first = { .id = 0 };
	struct pmc_perf_head head;

	return counter->member_id && !counter_fetch(counter, &head, &first, 1) &&
	       first.id == counter->member_id;
}

int pmc_counter_enable_group(struct pmc_counter *counter)
{
	int error = control_group(counter, PERF_EVENT_IOC_ENABLE);

	if (error || counter->group || !is_leader(counter))
		return error;
	/* All members are enabled now; enabling the leader again starts them. */
	error = ioctl_of(counter, PERF_EVENT_IOC_DISABLE);
	return error ? error : ioctl_of(counter, PERF_EVENT_IOC_ENABLE);
}

int pmc_counter_disable_group(struct pmc_counter *counter)
{
	return control_group(counter, PERF_EVENT_IOC_DISABLE);
}

int pmc_counter_refresh(struct pmc_counter *counter, int overflows)
{
	/* The kernel takes 0 as "no limit" and never disables. */
	if (!counter || overflows <= 0)
		return -EINVAL;
	return ioctl_with(counter, PERF_EVENT_IOC_REFRESH, (void *)(intptr_t)overflows);
}

int pmc_counter_set_period(struct pmc_counter *counter, uint64_t period)
{
	int error = counter ? ioctl_with(counter, PERF_EVENT_IOC_PERIOD, &period) : -EINVAL;

	if (!error)
		counter->attr.base.sample_period = period;
	return error;
}

int pmc_counter_set_bpf(struct pmc_counter *counter, int program_fd)
{
	if (!counter)
		return -EINVAL;
	return ioctl_with(counter, PERF_EVENT_IOC_SET_BPF, (void *)(intptr_t)program_fd);
}

int pmc_counter_set_filter(struct pmc_counter *counter, const char *filter)
{
	if (!counter || !filter)
		return -EINVAL;
	return ioctl_with(counter, PERF_EVENT_IOC_SET_FILTER, filter);
}
