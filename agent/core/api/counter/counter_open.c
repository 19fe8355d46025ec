/* SPDX-License-Identifier: MIT */
/* counter_open.c - opening, adopting, controlling, releasing and closing counters. */
#include "agent/core/api/counter/counter.h"
#include "agent/core/base/out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- failures -----------------------------------------------------------------------------*/

int counter_fail(struct pmc_failure *failure, int error, const char *what, const char *format, ...)
{
	struct pmc_out out;
	va_list args;

	if (!failure)
		return error;
	failure->error = -error;
	pmc_out_to_mem(&out, failure->what, sizeof(failure->what));
	pmc_out_str(&out, what);
	pmc_out_to_mem(&out, failure->advice, sizeof(failure->advice));
	va_start(args, format);
	pmc_voutf(&out, format, args);
	va_end(args);
	return error;
}

/* ---- requests -----------------------------------------------------------------------------*/

/* Combinations that the kernel would accept with another meaning. */
static int check(const struct pmc_open *open, struct pmc_failure *failure)
{
	if (open->target == PMC_TARGET_PID && open->pid < 0)
		return counter_fail(failure, -EINVAL, "pid",
				    "%d is not a thread ID; to count a whole CPU, use "
				    "PMC_TARGET_ANY",
				    (int)open->pid);
	if (open->target != PMC_TARGET_PID && open->cpu < 0)
		return counter_fail(failure, -EINVAL, "cpu",
				    "this target needs a CPU: open one counter for each CPU in "
				    "/sys/devices/system/cpu/online");
	if (open->target > PMC_TARGET_CGROUP)
		return counter_fail(failure, -EINVAL, "target", "unknown target");
	if (open->target == PMC_TARGET_CGROUP && open->cgroup_fd < 0)
		return counter_fail(failure, -EBADF, "cgroup_fd",
				    "not a descriptor; open the directory of the cgroup");
	if (open->cpu < -1)
		return counter_fail(failure, -EINVAL, "cpu", "%d is not a CPU; -1 means any CPU",
				    open->cpu);
	if (open->sample_period && open->sample_freq)
		return counter_fail(failure, -EINVAL, "sample_freq",
				    "set either sample_freq or sample_period");
	if (open->wakeup_events && open->wakeup_watermark)
		return counter_fail(failure, -EINVAL, "wakeup_watermark",
				    "set either wakeup_watermark or wakeup_events");
	if (open->precise_ip > 3)
		return counter_fail(failure, -EINVAL, "precise_ip", "must be 0, 1, 2 or 3");
	return 0;
}

int counter_request_make(struct counter_request *request, const struct pmc_counter_event *event,
			 const struct pmc_open *open, struct pmc_failure *failure)
{
	const unsigned char *bytes = (const unsigned char *)open;

	memset(request, 0, sizeof(*request));
	if (event)
		request->event = *event;
	if (!open) {
		request->open = pmc_open_init();
		return 0;
	}
	/* A struct above a page is uninitialised memory. */
	if (open->size < offsetof(struct pmc_open, read_format) || open->size > 4096)
		return counter_fail(failure, -EINVAL, "struct pmc_open",
				    "not initialised; start from PMC_OPEN_INIT");
	/* A program built with a newer header; checked as in perf_copy_attr(). */
	for (size_t i = sizeof(*open); i < open->size; i++)
		if (bytes[i])
			return counter_fail(
				failure, -E2BIG, "struct pmc_open",
				"an option is set that this libpmc does not know; it is "
				"older than the program");
	memcpy(&request->open, open, open->size < sizeof(*open) ? open->size : sizeof(*open));
	return check(&request->open, failure);
}

int counter_request_open(const struct counter_request *request, const struct pmc_counter *leader,
			 struct pmc_counter **counter, struct pmc_failure *failure)
{
	struct pmc_counter *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return counter_fail(failure, -ENOMEM, "memory", "out of memory");
	new->fd = counter_try(request, leader, &new->attr);
	if (new->fd >= 0) {
		/* The size of the header's struct, which pmc_counter_attr() returns. */
		new->attr.base.size = sizeof(new->attr.base);
		*counter = new;
		return 0;
	}
	error = new->fd;
	free(new);
	counter_explain(request, leader, error, failure);
	return error;
}

/* ---- handles ------------------------------------------------------------------------------*/

int pmc_counter_open(struct pmc_counter **counter, const struct pmc_counter_event *event,
		     const struct pmc_open *open, struct pmc_failure *failure)
{
	struct counter_request request;
	int error = counter_request_make(&request, event, open, failure);

	*counter = NULL;
	return error ? error : counter_request_open(&request, NULL, counter, failure);
}

int pmc_counter_adopt(struct pmc_counter **counter, int fd, const struct perf_event_attr *attr)
{
	struct pmc_counter *new;
	uint64_t id;
	int error;

	*counter = NULL;
	if (fd < 0)
		return -EBADF;
	if (attr->size < PERF_ATTR_SIZE_VER0)
		return -EINVAL;
	/* Fails on descriptors that are not perf events. */
	error = pmc_perf_ioctl(fd, PERF_EVENT_IOC_ID, &id);
	if (error)
		return error;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->fd = fd;
	memcpy(&new->attr, attr, attr->size < sizeof(new->attr) ? attr->size : sizeof(new->attr));
	if (attr->read_format & PERF_FORMAT_GROUP && attr->read_format & PERF_FORMAT_ID)
		new->member_id = id;
	*counter = new;
	return 0;
}

void counter_free(struct pmc_counter *counter)
{
	if (counter->fd >= 0)
		close(counter->fd);
	free(counter);
}

int pmc_counter_release(struct pmc_counter *counter)
{
	int fd = counter->fd;

	if (counter->group)
		return -EBUSY;
	counter->fd = -1;
	counter_free(counter);
	return fd;
}

void pmc_counter_close(struct pmc_counter *counter)
{
	if (counter && !counter->group)
		counter_free(counter);
}

int pmc_counter_fd(const struct pmc_counter *counter)
{
	return counter->fd;
}

const struct perf_event_attr *pmc_counter_attr(const struct pmc_counter *counter)
{
	return &counter->attr.base;
}

int pmc_counter_id(const struct pmc_counter *counter, uint64_t *id)
{
	return pmc_perf_ioctl(counter->fd, PERF_EVENT_IOC_ID, id);
}

/* ---- control: one ioctl each --------------------------------------------------------------*/

/* Whether its times advance now; of a thread that is not on a CPU they do not. */
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

static int ioctl_of(const struct pmc_counter *counter, unsigned long request)
{
	return pmc_perf_ioctl(counter->fd, request, NULL);
}

int pmc_counter_enable(struct pmc_counter *counter)
{
	struct pmc_counter *leader = counter->group ? counter->group->members[0] : counter;
	int error, restarted;

	if (leader == counter || !is_software(leader) || !is_running(leader))
		return ioctl_of(counter, PERF_EVENT_IOC_ENABLE);
	error = ioctl_of(leader, PERF_EVENT_IOC_DISABLE);
	error = error ? error : ioctl_of(counter, PERF_EVENT_IOC_ENABLE);
	restarted = ioctl_of(leader, PERF_EVENT_IOC_ENABLE);
	return error ? error : restarted;
}

int pmc_counter_disable(struct pmc_counter *counter)
{
	return ioctl_of(counter, PERF_EVENT_IOC_DISABLE);
}

/* A group of ours by its leader alone: with PERF_IOC_FLAG_GROUP each member is enabled after its
 * leader, and may stay stopped as above. */
static int control_group(const struct pmc_counter *counter, unsigned long request)
{
	if (counter->group)
		return ioctl_of(counter->group->members[0], request);
	return pmc_perf_ioctl(counter->fd, request, (void *)(uintptr_t)PERF_IOC_FLAG_GROUP);
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
	/* The members are enabled now; this starts them. */
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
