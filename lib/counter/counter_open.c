/* SPDX-License-Identifier: MIT */
/* counter_open.c - opening, adopting, releasing and closing counters; their properties. */
#include "lib/counter/counter.h"
#include "lib/counter/counter_event.h"

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
