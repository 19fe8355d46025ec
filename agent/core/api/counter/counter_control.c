/* SPDX-License-Identifier: MIT */
/* counter_control.c - enabling, disabling and setting up counters: one ioctl each. */
#include "agent/core/api/counter/counter.h"

#include <errno.h>

int pmc_counter_enable(struct pmc_counter *counter)
{
	return pmc_perf_ioctl(counter->fd, PERF_EVENT_IOC_ENABLE, NULL);
}

int pmc_counter_disable(struct pmc_counter *counter)
{
	return pmc_perf_ioctl(counter->fd, PERF_EVENT_IOC_DISABLE, NULL);
}

/* A group of ours by its leader alone; pmc_group_enable() has the reason. Of an adopted counter the
 * leader is not known. */
static int control_group(const struct pmc_counter *counter, unsigned long request)
{
	if (counter->group)
		return pmc_perf_ioctl(counter->group->members[0]->fd, request, NULL);
	return pmc_perf_ioctl(counter->fd, request, (void *)(uintptr_t)PERF_IOC_FLAG_GROUP);
}

int pmc_counter_enable_group(struct pmc_counter *counter)
{
	return control_group(counter, PERF_EVENT_IOC_ENABLE);
}

int pmc_counter_disable_group(struct pmc_counter *counter)
{
	return control_group(counter, PERF_EVENT_IOC_DISABLE);
}

int pmc_counter_refresh(struct pmc_counter *counter, int overflows)
{
	/* The kernel takes 0 as "no limit" and never disables. */
	if (overflows <= 0)
		return -EINVAL;
	return pmc_perf_ioctl(counter->fd, PERF_EVENT_IOC_REFRESH, (void *)(intptr_t)overflows);
}

int pmc_counter_set_period(struct pmc_counter *counter, uint64_t period)
{
	int error = pmc_perf_ioctl(counter->fd, PERF_EVENT_IOC_PERIOD, &period);

	if (!error)
		counter->attr.base.sample_period = period;
	return error;
}

int pmc_counter_set_bpf(struct pmc_counter *counter, int program_fd)
{
	return pmc_perf_ioctl(counter->fd, PERF_EVENT_IOC_SET_BPF, (void *)(intptr_t)program_fd);
}

int pmc_counter_set_filter(struct pmc_counter *counter, const char *filter)
{
	return pmc_perf_ioctl(counter->fd, PERF_EVENT_IOC_SET_FILTER, (void *)(uintptr_t)filter);
}
