/* SPDX-License-Identifier: MIT */
/* counter_open.c - what to open, opening, adopting, releasing and closing counters. */
#include "lib/counter/counter.h"
#include "lib/counter/counter_event.h"
#include "lib/base/out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- opening ------------------------------------------------------------------------------*/

static enum pmc_scope scope_of(const struct pmc_counter_event *event,
			       const struct perf_event_attr *attr)
{
	if (counter_filter(event) == PMC_UNFILTERED)
		return PMC_SCOPE_ALL;
	return attr->exclude_kernel ? PMC_SCOPE_USER :
	       attr->exclude_user   ? PMC_SCOPE_KERNEL :
				      PMC_SCOPE_ALL;
}

int counter_request_open(const struct counter_request *request, const struct pmc_counter *leader,
			 struct pmc_counter **counter, struct pmc_failure *failure)
{
	struct pmc_counter *new = calloc(1, sizeof(*new));
	const struct pmc_counter_event *event = &request->event;
	int error;

	if (!new)
		return counter_fail(failure, -ENOMEM, "memory", "out of memory");
	new->fd = counter_try(request, leader, &new->attr);
	error = new->fd < 0 ? new->fd : pmc_perf_ioctl(new->fd, PERF_EVENT_IOC_ID, &new->id);
	if (!error) {
		/* The size of the header's struct, which pmc_counter_attr() returns. */
		new->attr.base.size = sizeof(new->attr.base);
		new->on_any_cpu = request->open.cpu < 0;
		new->filter = counter_filter(event);
		new->scope = scope_of(event, &new->attr.base);
		memcpy(new->name, counter_event_name(event),
		       strnlen(counter_event_name(event), sizeof(new->name) - 1));
		*counter = new;
		return 0;
	}
	counter_free(new);
	counter_explain(request, leader, error, failure);
	return error;
}

int pmc_counter_open(struct pmc_counter **counter, const struct pmc_counter_event *event,
		     const struct pmc_open_options *options, struct pmc_failure *failure)
{
	struct counter_request request;
	int error;

	if (!counter || !event)
		return counter_fail(failure, -EINVAL, counter ? "event" : "counter", "NULL");
	*counter = NULL;
	error = counter_request_make(&request, event, options, failure);
	if (error)
		return error;
	error = counter_request_open(&request, NULL, counter,
				     request.open.user_if_denied ? NULL : failure);
	if (counter_may_fall_back(&request, error)) {
		counter_fall_back(&request);
		return counter_request_open(&request, NULL, counter, failure);
	}
	if (error && request.open.user_if_denied)
		counter_explain(&request, NULL, error, failure);
	return error;
}

int pmc_counter_adopt(struct pmc_counter **counter, int fd, const struct perf_event_attr *attr)
{
	struct pmc_counter *new;
	uint64_t id;
	int error;

	if (!counter || !attr)
		return -EINVAL;
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
	new->id = id;
	memcpy(&new->attr, attr, attr->size < sizeof(new->attr) ? attr->size : sizeof(new->attr));
	if (attr->read_format & PERF_FORMAT_GROUP && attr->read_format & PERF_FORMAT_ID)
		new->member_id = id;
	new->scope = scope_of(
		&(struct pmc_counter_event){ .type = attr->type, .config = attr->config }, attr);
	*counter = new;
	return 0;
}

int counter_check(const struct pmc_counter *counter)
{
	uint64_t id = 0;
	int error = pmc_perf_ioctl(counter->fd, PERF_EVENT_IOC_ID, &id);

	/* If a seccomp filter refuses the ioctl, the identity is unknown. */
	if (error == -EPERM || error == -EACCES || error == -ENOSYS)
		return 0;
	return error || id != counter->id ? -EBADF : 0;
}

void counter_free(struct pmc_counter *counter)
{
	/* A sampler that is closed later keeps the ring, but must not use the descriptor. */
	if (counter->held)
		*counter->held = NULL;
	/* Must not close another file that has the number now. */
	if (counter->fd >= 0 && (!counter->id || counter_check(counter) == 0))
		close(counter->fd);
	free(counter);
}

int pmc_counter_release(struct pmc_counter *counter)
{
	int fd = counter ? counter->fd : -EINVAL;

	if (!counter)
		return fd;
	if (counter->group || counter->held)
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
	return counter ? counter->fd : -EINVAL;
}

const struct perf_event_attr *pmc_counter_attr(const struct pmc_counter *counter)
{
	return counter ? &counter->attr.base : NULL;
}

int pmc_counter_id(const struct pmc_counter *counter, uint64_t *id)
{
	if (!counter || !id)
		return -EINVAL;
	*id = counter->id;
	return counter_check(counter);
}

enum pmc_scope pmc_counter_scope(const struct pmc_counter *counter)
{
	return counter ? counter->scope : PMC_SCOPE_ALL;
}

const char *pmc_counter_name(const struct pmc_counter *counter)
{
	return counter ? counter->name : "";
}

/* ---- what to open: options converted, checked, restricted to user mode ---------------------- */

int counter_fail(struct pmc_failure *failure, int error, const char *what, const char *format, ...)
{
	struct pmc_out out;
	va_list args;

	if (!failure)
		return error;
	memset(failure, 0, sizeof(*failure));
	failure->error = -error;
	pmc_out_to_mem(&out, failure->what, sizeof(failure->what));
	pmc_out_str(&out, what);
	pmc_out_to_mem(&out, failure->advice, sizeof(failure->advice));
	va_start(args, format);
	pmc_voutf(&out, format, args);
	va_end(args);
	return error;
}

/* ---- checks -------------------------------------------------------------------------------*/

static int check_target(const struct pmc_open_options *open, struct pmc_failure *failure)
{
	if (open->target > PMC_TARGET_CGROUP)
		return counter_fail(failure, -EINVAL, "target",
				    "not a target; use PMC_TARGET_PID, _ANY or _CGROUP");
	if (open->cpu < -1)
		return counter_fail(failure, -EINVAL, "cpu", "%d is not a CPU; -1 means any CPU",
				    open->cpu);
	if (open->target == PMC_TARGET_PID && open->pid < 0)
		return counter_fail(failure, -EINVAL, "pid",
				    "%d is not a thread ID; to count a whole CPU, use "
				    "PMC_TARGET_ANY",
				    (int)open->pid);
	if (open->target != PMC_TARGET_PID && open->cpu < 0)
		return counter_fail(failure, -EINVAL, "cpu",
				    "this target needs a CPU; give one, or open every CPU by "
				    "pmc_counter_cpus_open() or pmc_sampler_set_open()");
	if (open->target == PMC_TARGET_CGROUP && open->cgroup_fd < 0)
		return counter_fail(failure, -EBADF, "cgroup_fd",
				    "not a descriptor; open the directory of the cgroup");
	return 0;
}

/* Combinations that the kernel would accept with another meaning, or without any. */
static int check(const struct pmc_open_options *open, struct pmc_failure *failure)
{
	const uint64_t type = open->sample_type;

	if (open->sample_period && open->sample_freq)
		return counter_fail(failure, -EINVAL, "sample_freq",
				    "set either sample_freq or sample_period");
	if (open->wakeup_events && open->wakeup_watermark)
		return counter_fail(failure, -EINVAL, "wakeup_watermark",
				    "set either wakeup_watermark or wakeup_events");
	if (open->precise_ip > 3)
		return counter_fail(failure, -EINVAL, "precise_ip", "must be 0, 1, 2 or 3");
	if (open->sample_regs_user && !(type & PERF_SAMPLE_REGS_USER))
		return counter_fail(
			failure, -EINVAL, "sample_regs_user",
			"has no effect alone; add PERF_SAMPLE_REGS_USER to sample_type");
	if (open->sample_regs_intr && !(type & PERF_SAMPLE_REGS_INTR))
		return counter_fail(
			failure, -EINVAL, "sample_regs_intr",
			"has no effect alone; add PERF_SAMPLE_REGS_INTR to sample_type");
	if (open->sample_stack_user && !(type & PERF_SAMPLE_STACK_USER))
		return counter_fail(failure, -EINVAL, "sample_stack_user",
				    "has no effect alone; add PERF_SAMPLE_STACK_USER to "
				    "sample_type");
	if (open->branch_sample_type && !(type & PERF_SAMPLE_BRANCH_STACK))
		return counter_fail(failure, -EINVAL, "branch_sample_type",
				    "has no effect alone; add PERF_SAMPLE_BRANCH_STACK to "
				    "sample_type");
	return check_target(open, failure);
}

int counter_request_make(struct counter_request *request, const struct pmc_counter_event *event,
			 const struct pmc_open_options *open, struct pmc_failure *failure)
{
	const struct pmc_open_options defaults = PMC_OPEN_INIT;
	const unsigned char *bytes;

	memset(request, 0, sizeof(*request));
	if (event)
		request->event = *event;
	for (size_t i = 0; event && i < sizeof(event->reserved) / sizeof(event->reserved[0]); i++)
		if (event->reserved[i])
			return counter_fail(failure, -E2BIG, counter_event_name(event),
					    "the event is not initialised, or of a newer libpmc");
	if (!open)
		open = &defaults;
	bytes = (const unsigned char *)open;
	/* A struct above a page is uninitialised memory. */
	if (open->size < offsetof(struct pmc_open_options, read_format) || open->size > 4096)
		return counter_fail(failure, -EINVAL, "struct pmc_open_options",
				    "not initialised; start from PMC_OPEN_INIT");
	/* A program built with a newer header; checked as in perf_copy_attr(). */
	for (size_t i = sizeof(*open); i < open->size; i++)
		if (bytes[i])
			return counter_fail(
				failure, -E2BIG, "struct pmc_open_options",
				"an option is set that this libpmc does not know; it is "
				"older than the program");
	memcpy(&request->open, open, open->size < sizeof(*open) ? open->size : sizeof(*open));
	if (event && counter_filter(event) == PMC_KERNEL_ONLY &&
	    (open->exclude_kernel || event->exclude_kernel))
		return counter_fail(failure, -EOPNOTSUPP, counter_event_name(event),
				    "it occurs in the kernel only and would read 0; leave out :u "
				    "and exclude_kernel");
	return check(&request->open, failure);
}

int counter_request_each_cpu(struct counter_request *request, const struct pmc_counter_event *event,
			     const struct pmc_open_options *options, struct pmc_failure *failure)
{
	struct pmc_open_options open = options ? *options : pmc_open_options_init();
	int error;

	open.cpu = 0;
	error = counter_request_make(request, event, &open, failure);
	if (!error && request->open.target == PMC_TARGET_PID && request->open.pid == 0)
		request->open.target = PMC_TARGET_ANY;
	return error;
}

/* ---- permission ---------------------------------------------------------------------------*/

bool counter_may_fall_back(const struct counter_request *request, int error)
{
	const struct pmc_open_options *open = &request->open;
	const struct pmc_counter_event *event = &request->event;

	return (error == -EACCES || error == -EPERM) && open->user_if_denied &&
	       !event->asked_scope && !event->exclude_user && !event->exclude_kernel &&
	       !open->exclude_user && !open->exclude_kernel &&
	       counter_filter(event) != PMC_KERNEL_ONLY;
}

void counter_fall_back(struct counter_request *request)
{
	request->event.exclude_kernel = true;
}
