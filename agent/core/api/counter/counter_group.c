/* SPDX-License-Identifier: MIT */
/* counter_group.c - groups of counters that are on the PMU together. */
#include "agent/core/api/counter/counter.h"
#include "agent/core/base/out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- open, add, close ---------------------------------------------------------------------*/

/* Names the event in the failure if no option is the cause. */
static void place(struct pmc_failure *failure, size_t index)
{
	char advice[sizeof(failure->advice)], what[32];
	struct pmc_out out;

	if (!failure || strcmp(failure->what, "event"))
		return;
	pmc_out_to_mem(&out, what, sizeof(what));
	pmc_outf(&out, "events[%zu]", index);
	memcpy(advice, failure->advice, sizeof(advice));
	counter_fail(failure, -failure->error, what, "%s", advice);
}

int pmc_counter_group_open(struct pmc_counter_group **group, const struct pmc_counter_event *events,
			   size_t n, const struct pmc_open *open, struct pmc_failure *failure)
{
	struct counter_request request;
	struct pmc_counter_group *new;
	int error = counter_request_make(&request, NULL, open, failure);

	*group = NULL;
	if (error)
		return error;
	new = calloc(1, sizeof(*new));
	if (!new)
		return counter_fail(failure, -ENOMEM, "memory", "out of memory");
	new->open = request.open;
	/* Enabled once complete: siblings must not miss what their leader counts. */
	new->open.enabled = n == 0 && request.open.enabled;
	for (size_t i = 0; i < n && !error; i++) {
		error = pmc_counter_group_add(new, &events[i], NULL, NULL, failure);
		if (error)
			place(failure, i);
	}
	if (!error && n > 0 && request.open.enabled) {
		error = pmc_counter_group_enable(new);
		if (error)
			counter_fail(failure, error, "enabled", "cannot enable the group");
	}
	new->open.enabled = request.open.enabled;
	if (error)
		pmc_counter_group_close(new);
	else
		*group = new;
	return error;
}

static int make_room(struct pmc_counter_group *group)
{
	size_t room = group->room ? 2 * group->room : 8;
	void *members, *zero;

	if (group->count < group->room)
		return 0;
	members = realloc(group->members, room * sizeof(*group->members));
	group->members = members ? members : group->members;
	zero = realloc(group->zero, room * sizeof(*group->zero));
	group->zero = zero ? zero : group->zero;
	if (!members || !zero)
		return -ENOMEM;
	group->room = room;
	return 0;
}

/* Lets a new member of a running group run. The kernel reschedules only the member's own PMU, which
 * for software events may differ from the leader's (__perf_install_in_context() and ctx_resched()
 * in kernel/events/core.c); the member would not run until the next context switch. */
static void join_the_running(const struct pmc_counter *leader, struct pmc_counter *counter)
{
	uint64_t before = counter_running_ns(leader);

	if (!before || counter_running_ns(counter) || counter_running_ns(leader) == before)
		return;
	pmc_perf_ioctl(leader->fd, PERF_EVENT_IOC_DISABLE, NULL);
	/* Enabled time before this point must not scale the count. */
	counter_zero_here(counter);
	pmc_perf_ioctl(leader->fd, PERF_EVENT_IOC_ENABLE, NULL);
}

int pmc_counter_group_add(struct pmc_counter_group *group, const struct pmc_counter_event *event,
			  const struct pmc_open *open, struct pmc_counter **member,
			  struct pmc_failure *failure)
{
	struct pmc_counter *leader = group->count ? group->members[0] : NULL, *counter = NULL;
	struct counter_request request;
	int error;

	if (member)
		*member = NULL;
	error = counter_request_make(&request, event, open ? open : &group->open, failure);
	if (error)
		return error;
	if (leader) {
		/* Only the leader reads the whole group. */
		request.open.read_format &= ~(uint64_t)PERF_FORMAT_GROUP;
		if (!open)
			request.open.pinned = request.open.exclusive = false;
		if (!open)
			request.open.enable_on_exec = false;
	} else {
		request.open.read_format |= PERF_FORMAT_GROUP;
	}
	error = make_room(group);
	if (error)
		return counter_fail(failure, error, "memory", "out of memory");
	error = counter_request_open(&request, leader, &counter, failure);
	if (error)
		return error;
	if (leader)
		join_the_running(leader, counter);
	error = pmc_counter_id(counter, &counter->id);
	if (error) {
		counter_free(counter);
		return counter_fail(failure, error, "event", "the new member cannot be used");
	}
	counter->group = group;
	group->zero[group->count] = (struct pmc_perf_value){ .value = 0 };
	group->members[group->count++] = counter;
	if (member)
		*member = counter;
	return 0;
}

void pmc_counter_group_close(struct pmc_counter_group *group)
{
	if (!group)
		return;
	/* The leader last: without it each member would be a group of its own and run. */
	while (group->count > 0)
		counter_free(group->members[--group->count]);
	free(group->members);
	free(group->zero);
	free(group);
}

/* ---- members ------------------------------------------------------------------------------*/

size_t pmc_counter_group_count(const struct pmc_counter_group *group)
{
	return group->count;
}

struct pmc_counter *pmc_counter_group_at(const struct pmc_counter_group *group, size_t index)
{
	return index < group->count ? group->members[index] : NULL;
}

int pmc_counter_group_index(const struct pmc_counter_group *group,
			    const struct pmc_counter *counter)
{
	for (size_t i = 0; i < group->count; i++)
		if (group->members[i] == counter)
			return (int)i;
	return -ENOENT;
}

/* ---- all at once --------------------------------------------------------------------------*/

int pmc_counter_group_enable(struct pmc_counter_group *group)
{
	return group->count ? pmc_counter_enable_group(group->members[0]) : -ENOENT;
}

int pmc_counter_group_disable(struct pmc_counter_group *group)
{
	return group->count ? pmc_counter_disable_group(group->members[0]) : -ENOENT;
}

int pmc_counter_group_reset(struct pmc_counter_group *group)
{
	return group->count ? pmc_counter_reset_group(group->members[0]) : -ENOENT;
}

int pmc_counter_group_read(const struct pmc_counter_group *group, struct pmc_group_times *times,
			   struct pmc_group_value *values, size_t max)
{
	return group->count ? pmc_counter_read_group(group->members[0], times, values, max) :
			      -ENOENT;
}
