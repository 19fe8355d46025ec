/* SPDX-License-Identifier: MIT */
/*
 * counter_read.c - readings since the last reset, and resets.
 *
 * The kernel's RESET clears counts, never the times (perf_event_reset() in kernel/events/core.c),
 * nor what dead children of an inherited event have left in child_count. So a reset also takes a
 * reading, and later readings are the difference: count and times of one moment each.
 */
#include "agent/core/api/counter/counter.h"
#include "agent/core/base/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- raw readings -------------------------------------------------------------------------*/

static int fetch(const struct pmc_counter *counter, uint64_t *words, size_t room,
		 struct pmc_perf_head *head, struct pmc_perf_value *values, size_t max)
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
						 struct pmc_perf_value *values, size_t max)
{
	uint64_t words[PMC_PERF_WORDS_MAX];

	return fetch(counter, words, PMC_PERF_WORDS_MAX, head, values, max);
}

int counter_fetch(const struct pmc_counter *counter, struct pmc_perf_head *head,
		  struct pmc_perf_value *values, size_t max)
{
	uint64_t words[64];
	int error = fetch(counter, words, 64, head, values, max);

	return error == -ENOSPC ? fetch_large(counter, head, values, max) : error;
}

/* ---- one counter --------------------------------------------------------------------------*/

/* Reading any member of a group returns the whole group, the leader first: perf_read_group() in
 * kernel/events/core.c. */
__attribute__((noinline)) static int fetch_member(const struct pmc_counter *counter,
						  struct pmc_perf_head *head,
						  struct pmc_perf_value *value)
{
	struct pmc_perf_value values[PMC_PERF_WORDS_MAX / 2];
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
		     struct pmc_perf_value *value)
{
	int error = counter_fetch(counter, head, value, 1);

	if (error)
		return error;
	if (head->n == 0)
		return -EIO;
	if (counter->member_id && value->id != counter->member_id)
		return fetch_member(counter, head, value);
	return 0;
}

int pmc_counter_read_full(const struct pmc_counter *counter, struct pmc_counter_reading *reading)
{
	const uint64_t format = counter->attr.base.read_format;
	struct pmc_perf_value value;
	struct pmc_perf_head head;
	int error = fetch_own(counter, &head, &value);

	if (error)
		return error;
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
	return reading->has_times && !reading->running_ns ? -EAGAIN : 0;
}

int pmc_counter_read(const struct pmc_counter *counter, uint64_t *count)
{
	struct pmc_counter_reading reading;
	uint64_t scaled;
	int error = pmc_counter_read_full(counter, &reading);

	if (error)
		return error;
	scaled = reading.count;
	if (reading.has_times)
		error = pmc_scale(reading.count, reading.enabled_ns, reading.running_ns, &scaled);
	if (!error)
		*count = scaled;
	return error;
}

int pmc_counter_read_count_and_time(const struct pmc_counter *counter, uint64_t *count,
				    uint64_t *enabled_ns, uint64_t *running_ns)
{
	struct pmc_counter_reading reading;
	int error = pmc_counter_read_full(counter, &reading);

	if (error && error != -EAGAIN)
		return error;
	*enabled_ns = reading.enabled_ns;
	*running_ns = reading.running_ns;
	if (!error)
		*count = reading.count;
	return error;
}

int counter_zero_here(struct pmc_counter *counter)
{
	struct pmc_perf_value value;
	struct pmc_perf_head head;
	int error = fetch_own(counter, &head, &value);

	if (error)
		return error;
	counter->zero = (struct counter_zero){ value.value, head.enabled_ns, head.running_ns };
	return 0;
}

int pmc_counter_reset(struct pmc_counter *counter)
{
	int error = 0;

	/* Clearing a member's count would change the group's readings. */
	if (!counter_is_grouped(counter))
		error = pmc_perf_ioctl(counter->fd, PERF_EVENT_IOC_RESET, NULL);
	return error ? error : counter_zero_here(counter);
}

/* ---- groups -------------------------------------------------------------------------------*/

/* This member's count at the last reset; it is the `at`-th of a reading. */
static uint64_t group_zero_of(const struct group_zero *zero, const struct pmc_perf_value *value,
			      size_t at)
{
	size_t n = zero->values ? (size_t)zero->head.n : 0;

	if (at < n && zero->values[at].id == value->id)
		return zero->values[at].value;
	for (size_t i = 0; i < n; i++)
		if (zero->values[i].id == value->id)
			return zero->values[i].value;
	return 0;
}

int pmc_counter_read_group(const struct pmc_counter *leader, struct pmc_group_times *times,
			   struct pmc_group_value *values, size_t max)
{
	const struct group_zero *zero = &leader->group_zero;
	const uint64_t format = leader->attr.base.read_format;
	struct pmc_perf_head head;
	size_t stored;
	int error;

	_Static_assert(sizeof(*values) == sizeof(struct pmc_perf_value) &&
			       offsetof(struct pmc_group_value, id) ==
				       offsetof(struct pmc_perf_value, id) &&
			       offsetof(struct pmc_group_value, lost) ==
				       offsetof(struct pmc_perf_value, lost),
		       "a value is decoded in place");
	if (!(format & PERF_FORMAT_GROUP))
		return -ENOTSUP;
	error = counter_fetch(leader, &head, (struct pmc_perf_value *)values, max);
	if (error)
		return error;
	*times = (struct pmc_group_times){
		.n = head.n,
		.enabled_ns = pmc_sub_sat(head.enabled_ns, zero->head.enabled_ns),
		.running_ns = pmc_sub_sat(head.running_ns, zero->head.running_ns),
	};
	stored = head.n < max ? (size_t)head.n : max;
	for (size_t i = 0; i < stored; i++) {
		const struct pmc_perf_value raw = { values[i].count, values[i].id, values[i].lost };

		values[i].count = pmc_sub_sat(raw.value, group_zero_of(zero, &raw, i));
	}
	if (stored < head.n)
		return -ENOSPC;
	return format & PERF_FORMAT_TOTAL_TIME_RUNNING && !times->running_ns ? -EAGAIN : 0;
}

int pmc_group_value_scale(const struct pmc_group_times *times, const struct pmc_group_value *value,
			  uint64_t *count)
{
	uint64_t scaled;
	int error = pmc_scale(value->count, times->enabled_ns, times->running_ns, &scaled);

	if (!error)
		*count = scaled;
	return error;
}

int counter_group_zero_room(struct pmc_counter *leader, size_t n)
{
	struct group_zero *zero = &leader->group_zero;
	void *more;

	if (n <= zero->room)
		return 0;
	more = realloc(zero->values, n * sizeof(*zero->values));
	if (!more)
		return -ENOMEM;
	zero->values = more;
	zero->room = n;
	return 0;
}

int counter_group_zero(struct pmc_counter *leader)
{
	struct group_zero *zero = &leader->group_zero;
	struct pmc_perf_head head;
	int error = counter_fetch(leader, &head, zero->values, zero->room);

	if (!error && head.n > zero->room) {
		error = counter_group_zero_room(leader, (size_t)head.n);
		if (!error)
			error = counter_fetch(leader, &head, zero->values, zero->room);
	}
	if (error)
		return error;
	/* A member added meanwhile starts from 0. */
	if (head.n > zero->room)
		head.n = zero->room;
	zero->head = head;
	return 0;
}

int pmc_counter_reset_group(struct pmc_counter *counter)
{
	const struct pmc_counter_group *group = counter->group;
	struct pmc_counter *leader = group ? group->members[0] : counter;
	int error = pmc_perf_ioctl(leader->fd, PERF_EVENT_IOC_RESET,
				   (void *)(uintptr_t)PERF_IOC_FLAG_GROUP);

	if (!error && leader->attr.base.read_format & PERF_FORMAT_GROUP)
		error = counter_group_zero(leader);
	if (!error)
		error = counter_zero_here(leader);
	for (size_t i = 1; group && i < group->count && !error; i++)
		error = counter_zero_here(group->members[i]);
	return error;
}
