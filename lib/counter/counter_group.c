/* SPDX-License-Identifier: MIT */
/* counter_group.c - groups of counters that are on the PMU together. */
#include "lib/counter/counter.h"

#include <errno.h>
#include <stdlib.h>

/* ---- open, add, close ---------------------------------------------------------------------*/

int counter_group_open(struct pmc_group **group, const struct pmc_counter_event *events, size_t n,
		       const struct pmc_open_options *options, int32_t *failed,
		       struct pmc_failure *failure)
{
	struct counter_request request;
	struct pmc_group *new;
	int error;

	*group = NULL;
	*failed = -1;
	error = counter_request_make(&request, NULL, options, failure);
	if (error)
		return error;
	new = calloc(1, sizeof(*new));
	if (!new)
		return counter_fail(failure, -ENOMEM, "memory", "out of memory");
	new->open = request.open;
	/* Enabled once complete: siblings must not miss what their leader counts. */
	new->open.enabled = n == 0 && request.open.enabled;
	for (size_t i = 0; i < n && !error; i++) {
		error = pmc_group_add(new, &events[i], NULL, NULL, failure);
		*failed = error ? (int32_t)i : -1;
	}
	if (!error && n > 0 && request.open.enabled) {
		error = pmc_group_enable(new);
		if (error)
			pmc_group_explain(new, error, failure);
	}
	new->open.enabled = request.open.enabled;
	if (error)
		pmc_group_close(new);
	else
		*group = new;
	return error;
}

int pmc_group_open(struct pmc_group **group, const struct pmc_counter_event *events, size_t n,
		   const struct pmc_open_options *options, struct pmc_failure *failure)
{
	int32_t failed;

	if (!group || (n && !events))
		return counter_fail(failure, -EINVAL, group ? "events" : "group", "NULL");
	return counter_group_open(group, events, n, options, &failed, failure);
}

static int make_room(struct pmc_group *group)
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

static int member_request(const struct pmc_group *group, const struct pmc_counter_event *event,
			  const struct pmc_open_options *options, struct counter_request *request,
			  struct pmc_failure *failure)
{
	int error = counter_request_make(request, event, options ? options : &group->open, failure);
	struct pmc_open_options *open = &request->open;

	if (error)
		return error;
	/* Only the leader reads the whole group. */
	if (group->count == 0)
		open->read_format |= PERF_FORMAT_GROUP;
	else
		open->read_format &= ~(uint64_t)PERF_FORMAT_GROUP;
	if (group->count && !options)
		open->pinned = open->exclusive = open->enable_on_exec = false;
	return 0;
}

/* Members that do not choose a mode all fall back to user mode, or none does: ratios of events with
 * different scopes are meaningless. */
static int open_member(struct pmc_group *group, struct counter_request *request,
		       struct pmc_counter **counter, struct pmc_failure *failure)
{
	struct pmc_counter *leader = group->count ? group->members[0] : NULL;
	const bool chooses = !counter_may_fall_back(request);
	int error;

	request->event.exclude_kernel |= group->user_only && !chooses;
	error = counter_request_open(request, leader, !group->all_modes, counter, failure);
	if (!error && !chooses) {
		group->user_only = request->event.exclude_kernel;
		group->all_modes = !group->user_only;
	}
	return error;
}

int pmc_group_add(struct pmc_group *group, const struct pmc_counter_event *event,
		  const struct pmc_open_options *options, struct pmc_counter **member,
		  struct pmc_failure *failure)
{
	struct pmc_counter *leader, *counter = NULL;
	struct counter_request request;
	int error;

	if (member)
		*member = NULL;
	if (!group || !event)
		return counter_fail(failure, -EINVAL, group ? "event" : "group", "NULL");
	leader = group->count ? group->members[0] : NULL;
	error = member_request(group, event, options, &request, failure);
	if (error)
		return error;
	error = make_room(group);
	if (error)
		return counter_fail(failure, error, "memory", "out of memory");
	error = open_member(group, &request, &counter, failure);
	if (error)
		return error;
	if (leader)
		join_the_running(leader, counter);
	counter->group = group;
	group->zero[group->count] = (struct pmc_perf_value){ .value = 0 };
	group->members[group->count++] = counter;
	if (member)
		*member = counter;
	return 0;
}

void pmc_group_close(struct pmc_group *group)
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

size_t pmc_group_count(const struct pmc_group *group)
{
	return group ? group->count : 0;
}

struct pmc_counter *pmc_group_at(const struct pmc_group *group, size_t index)
{
	return group && index < group->count ? group->members[index] : NULL;
}

int pmc_group_index(const struct pmc_group *group, const struct pmc_counter *counter)
{
	for (size_t i = 0; group && i < group->count; i++)
		if (group->members[i] == counter)
			return (int)i;
	return group && counter ? -ENOENT : -EINVAL;
}

/* ---- all at once --------------------------------------------------------------------------*/

/* Calls it for the leader. */
static int by_leader(const struct pmc_group *group, int (*call)(struct pmc_counter *leader))
{
	return !group ? -EINVAL : group->count ? call(group->members[0]) : -ENOENT;
}

int pmc_group_enable(struct pmc_group *group)
{
	return by_leader(group, pmc_counter_enable_group);
}

int pmc_group_disable(struct pmc_group *group)
{
	return by_leader(group, pmc_counter_disable_group);
}

int pmc_group_reset(struct pmc_group *group)
{
	return by_leader(group, pmc_counter_reset_group);
}

int pmc_group_read(const struct pmc_group *group, struct pmc_group_times *times,
		   struct pmc_group_value *values, size_t max)
{
	if (group && !group->count)
		return -ENOENT;
	return pmc_counter_read_group(group ? group->members[0] : NULL, times, values, max);
}

void pmc_group_explain(const struct pmc_group *group, int error, struct pmc_failure *failure)
{
	pmc_counter_explain(group && group->count ? group->members[0] : NULL, error, failure);
}
