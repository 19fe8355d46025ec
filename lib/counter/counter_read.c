/* SPDX-License-Identifier: MIT */
/*
 * counter_read.c - readings since the last reset, resets, and control of an open counter.
 *
 * The kernel's RESET clears counts, never the times (perf_event_reset() in kernel/events/core.c),
 * nor what dead children of an inherited event have left in child_count. So a reset also takes a
 * reading, and later readings are the difference: count and times of one moment each.
 */
#include "lib/counter/counter.h"
#include "lib/base/number.h"

#include <errno.h>

/* ---- raw readings -------------------------------------------------------------------------*/

static int fetch(const struct pmc_counter *counter, uint64_t *words, size_t room,
		 struct pmc_perf_head *head, struct pmc_record_value *values, size_t max)
{
	int n = pmc_perf_read_some(counter->fd, words, room);

	if (n < 0)
		return n;
	n = pmc_perf_decode(words, (size_t)n, counter->attr.base.read_format, head, values,
			    max > UINT32_MAX ? UINT32_MAX : (unsigned)max);
	return n < 0 ? -EIO : 0;
}

/* Not inlined: 16 KB of stack only for large groups (signal handlers may have small stacks). */
__attribute__((noinline)) static int fetch_large(const struct pmc_counter *counter,
						 struct pmc_perf_head *head,
						 struct pmc_record_value *values, size_t max)
{
	uint64_t words[PMC_PERF_WORDS_MAX];

	return fetch(counter, words, PMC_PERF_WORDS_MAX, head, values, max);
}

int counter_fetch(const struct pmc_counter *counter, struct pmc_perf_head *head,
		  struct pmc_record_value *values, size_t max)
{
	uint64_t words[64];
	int error = fetch(counter, words, 64, head, values, max);

	if (error == -ENOSPC)
		error = fetch_large(counter, head, values, max);
	/* The descriptor may be another file now. */
	return error && error != -ENOSPC && counter_check(counter) ? -EBADF : error;
}

uint64_t counter_running_ns(const struct pmc_counter *counter)
{
	struct pmc_perf_head head;

	return counter_fetch(counter, &head, NULL, 0) ? 0 : head.running_ns;
}

/* ---- one counter --------------------------------------------------------------------------*/

/* Reading any member of a group returns the whole group, the leader first: perf_read_group() in
 * kernel/events/core.c. */
__attribute__((noinline)) static int fetch_member(const struct pmc_counter *counter,
						  struct pmc_perf_head *head,
						  struct pmc_record_value *value)
{
	struct pmc_record_value values[PMC_PERF_WORDS_MAX / 2];
	int error = counter_fetch(counter, head, values, PMC_PERF_WORDS_MAX / 2);

	for (uint64_t i = 0; i < head->n && !error; i++) {
		if (values[i].id != counter->member_id)
			continue;
		*value = values[i];
		return 0;
	}
	return error ? error : -EIO;
}

static int fetch_own(const struct pmc_counter *counter, struct pmc_perf_head *head,
		     struct pmc_record_value *value)
{
	int error = counter_fetch(counter, head, value, 1);

	if (error)
		return error;
	if (head->n == 0)
		return -EIO;
	if (counter->member_id && value->id != counter->member_id)
		return fetch_member(counter, head, value);
	/* The kernel's ID of the event shows whether it is this counter. */
	if (counter->attr.base.read_format & PERF_FORMAT_ID ? value->id != counter->id :
							      counter_check(counter))
		return -EBADF;
	return 0;
}

/* 0, or the reason for no count. */
static int not_counted(uint64_t enabled_ns, uint64_t running_ns)
{
	return running_ns ? 0 : enabled_ns ? -EBUSY : -EAGAIN;
}

int pmc_scale(uint64_t count, uint64_t enabled_ns, uint64_t running_ns, uint64_t *scaled)
{
	uint64_t value;
	int error = not_counted(enabled_ns, running_ns);

	if (!scaled)
		return -EINVAL;
	if (!error)
		error = pmc_scaled(count, enabled_ns, running_ns, &value);
	if (!error)
		*scaled = value;
	return error;
}

int pmc_counter_read_full(const struct pmc_counter *counter, struct pmc_counter_reading *reading)
{
	struct pmc_record_value value;
	struct pmc_perf_head head;
	uint64_t format;
	int error = counter && reading ? fetch_own(counter, &head, &value) : -EINVAL;

	if (error)
		return error;
	format = counter->attr.base.read_format;
	*reading = (struct pmc_counter_reading){
		.count = pmc_sub_sat(value.value, counter->zero.count),
		.enabled_ns = pmc_sub_sat(head.enabled_ns, counter->zero.enabled_ns),
		.running_ns = pmc_sub_sat(head.running_ns, counter->zero.running_ns),
		.id = value.id,
		.lost = value.lost,
		.has_times = (format & PERF_FORMAT_TOTAL_TIME_ENABLED) &&
			     (format & PERF_FORMAT_TOTAL_TIME_RUNNING),
		.has_id = format & PERF_FORMAT_ID,
		.has_lost = format & PERF_FORMAT_LOST,
	};
	return reading->has_times ? not_counted(reading->enabled_ns, reading->running_ns) : 0;
}

int pmc_counter_read(const struct pmc_counter *counter, uint64_t *count)
{
	struct pmc_counter_reading reading;
	int error = count ? pmc_counter_read_full(counter, &reading) : -EINVAL;

	if (!error && reading.has_times)
		return pmc_scale(reading.count, reading.enabled_ns, reading.running_ns, count);
	if (!error)
		*count = reading.count;
	return error;
}

int pmc_counter_read_count_and_time(const struct pmc_counter *counter, uint64_t *count,
				    uint64_t *enabled_ns, uint64_t *running_ns)
{
	struct pmc_counter_reading reading;
	int error = count && enabled_ns && running_ns ? pmc_counter_read_full(counter, &reading) :
							-EINVAL;

	if (error && error != -EAGAIN && error != -EBUSY)
		return error;
	*enabled_ns = reading.enabled_ns;
	*running_ns = reading.running_ns;
	if (!error)
		*count = reading.count;
	return error;
}

int counter_zero_here(struct pmc_counter *counter)
{
	struct pmc_record_value value;
	struct pmc_perf_head head;
	int error = fetch_own(counter, &head, &value);

	if (!error)
		counter->zero =
			(struct counter_zero){ value.value, head.enabled_ns, head.running_ns };
	return error;
}

int pmc_counter_reset(struct pmc_counter *counter)
{
	int error = counter ? counter_check(counter) : -EINVAL;

	/* Clearing a member's count would change the group's readings. */
	if (!error && !counter->group && !(counter->attr.base.read_format & PERF_FORMAT_GROUP))
		error = pmc_perf_ioctl(counter->fd, PERF_EVENT_IOC_RESET, NULL);
	return error ? error : counter_zero_here(counter);
}

/* ---- groups -------------------------------------------------------------------------------*/

int pmc_counter_read_group(const struct pmc_counter *leader, struct pmc_group_times *times,
			   struct pmc_group_value *values, size_t max)
{
	const struct pmc_group *group;
	struct pmc_perf_head head;
	int error;

	_Static_assert(sizeof(*values) == sizeof(struct pmc_record_value), "of the same members");
	if (!leader || !times || (max && !values))
		return -EINVAL;
	group = leader->group;
	if (!(leader->attr.base.read_format & PERF_FORMAT_GROUP))
		return -ENOTSUP;
	error = counter_fetch(leader, &head, (struct pmc_record_value *)values, max);
	if (error)
		return error;
	*times = (struct pmc_group_times){
		.n = head.n,
		.enabled_ns = pmc_sub_sat(head.enabled_ns, leader->group_zero.enabled_ns),
		.running_ns = pmc_sub_sat(head.running_ns, leader->group_zero.running_ns),
	};
	/* The descriptor may be closed, and its number another event's. */
	if (group ? head.n != group->count : counter_check(leader))
		return -EBADF;
	for (size_t i = 0; group && i < group->count && i < max; i++) {
		if (group->members[i]->id != values[i].id)
			return -EBADF;
		values[i].count = pmc_sub_sat(values[i].count, group->zero[i].value);
	}
	if (max < head.n)
		return -ENOSPC;
	return leader->attr.base.read_format & PERF_FORMAT_TOTAL_TIME_RUNNING ?
		       not_counted(times->enabled_ns, times->running_ns) :
		       0;
}

int pmc_group_scale(const struct pmc_group_times *times, const struct pmc_group_value *value,
		    uint64_t *count)
{
	if (!times || !value)
		return -EINVAL;
	return pmc_scale(value->count, times->enabled_ns, times->running_ns, count);
}

int counter_group_zero(struct pmc_group *group)
{
	struct pmc_perf_head head;
	int error = counter_fetch(group->members[0], &head, group->zero, group->count);

	if (error)
		return error;
	if (head.n != group->count)
		return -EBADF;
	for (size_t i = 0; i < group->count; i++)
		if (group->members[i]->id != group->zero[i].id)
			return -EBADF;
	group->members[0]->group_zero = (struct counter_zero){ .enabled_ns = head.enabled_ns,
							       .running_ns = head.running_ns };
	return 0;
}

int pmc_counter_reset_group(struct pmc_counter *counter)
{
	struct pmc_group *group = counter ? counter->group : NULL;
	struct pmc_counter *leader = group ? group->members[0] : counter;
	int error = leader ? counter_check(leader) : -EINVAL;

	if (error)
		return error;
	error = pmc_perf_ioctl(leader->fd, PERF_EVENT_IOC_RESET,
			       (void *)(uintptr_t)PERF_IOC_FLAG_GROUP);
	if (!error)
		error = counter_zero_here(leader);
	/* Members of an adopted leader are not known: the kernel has cleared their counts. */
	leader->group_zero = leader->zero;
	for (size_t i = 1; group && i < group->count && !error; i++)
		error = counter_zero_here(group->members[i]);
	return group && !error ? counter_group_zero(group) : error;
}

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

int counter_ioctl(const struct pmc_counter *counter, unsigned long request, const void *arg)
{
	int error = counter ? counter_check(counter) : -EINVAL;

	return error ? error : pmc_perf_ioctl(counter->fd, request, (void *)(uintptr_t)arg);
}

int pmc_counter_enable(struct pmc_counter *counter)
{
	struct pmc_counter *leader;
	int error, restarted;

	if (!counter)
		return -EINVAL;
	leader = counter->group ? counter->group->members[0] : counter;
	if (leader == counter || !is_software(leader) || !is_running(leader))
		return counter_ioctl(counter, PERF_EVENT_IOC_ENABLE, NULL);
	error = counter_ioctl(leader, PERF_EVENT_IOC_DISABLE, NULL);
	error = error ? error : counter_ioctl(counter, PERF_EVENT_IOC_ENABLE, NULL);
	restarted = counter_ioctl(leader, PERF_EVENT_IOC_ENABLE, NULL);
	return error ? error : restarted;
}

int pmc_counter_disable(struct pmc_counter *counter)
{
	return counter_ioctl(counter, PERF_EVENT_IOC_DISABLE, NULL);
}

/* A group opened here is enabled through its leader only: with PERF_IOC_FLAG_GROUP each member is
 * enabled after its leader, and may stay stopped as above. */
static int control_group(const struct pmc_counter *counter, unsigned long request)
{
	if (counter && counter->group)
		return counter_ioctl(counter->group->members[0], request, NULL);
	return counter_ioctl(counter, request, (void *)(uintptr_t)PERF_IOC_FLAG_GROUP);
}

/* Whether an adopted counter is known to lead its group: a reading starts with the leader. */
static bool is_leader(const struct pmc_counter *counter)
{
	struct pmc_record_value first = { .id = 0 };
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
	error = counter_ioctl(counter, PERF_EVENT_IOC_DISABLE, NULL);
	return error ? error : counter_ioctl(counter, PERF_EVENT_IOC_ENABLE, NULL);
}

int pmc_counter_disable_group(struct pmc_counter *counter)
{
	return control_group(counter, PERF_EVENT_IOC_DISABLE);
}

int pmc_counter_refresh(struct pmc_counter *counter, int overflows)
{
	/* The kernel takes 0 as "no limit" and never disables. */
	return overflows <= 0 ?
		       -EINVAL :
		       counter_ioctl(counter, PERF_EVENT_IOC_REFRESH, (void *)(intptr_t)overflows);
}

int pmc_counter_set_period(struct pmc_counter *counter, uint64_t period)
{
	int error = counter_ioctl(counter, PERF_EVENT_IOC_PERIOD, &period);

	if (!error)
		counter->attr.base.sample_period = period;
	return error;
}

int pmc_counter_set_bpf(struct pmc_counter *counter, int program_fd)
{
	return counter_ioctl(counter, PERF_EVENT_IOC_SET_BPF, (void *)(intptr_t)program_fd);
}

int pmc_counter_set_filter(struct pmc_counter *counter, const char *filter)
{
	return filter ? counter_ioctl(counter, PERF_EVENT_IOC_SET_FILTER, filter) : -EINVAL;
}
