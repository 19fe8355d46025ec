/* SPDX-License-Identifier: MIT */
/* typed.c - typed groups: the rows of PMC_GROUP() on a counter group; see pmc/group.h. */
#include "agent/core/api/counter/counter.h"
#include "agent/core/api/counter/counter_event.h"
#include "agent/core/base/advice.h"

#include <errno.h>
#include <pmc/group.h>
#include <string.h>

/* ---- rows ---------------------------------------------------------------------------------*/

/* One row is one event. Of an event that each type of core counts by itself the first type's is
 * taken: no group can span two. *asked: the row chooses the scope by :u or :k. */
static int parse_row(const char *text, struct pmc_counter_event *event, bool *asked)
{
	struct pmc_parse_error error;
	struct pmc_arena arena = { 0 };
	struct pmc_events events;
	int result = -EINVAL;

	if (text && pmc_events_parse(text, NULL, &arena, &events, &error))
		result = counter_event_error(&error);
	else if (text && !events.sets && events.list[0].brace == PMC_NO_BRACE &&
		 events.list[events.count - 1].position == 0)
		result = 0;
	if (!result) {
		counter_event_of(&events.list[0], event);
		*asked = events.list[0].asked_scope;
	}
	pmc_arena_free(&arena);
	return result;
}

static int parse_rows(struct pmc_typed *group, const struct pmc_field *fields, unsigned n,
		      struct pmc_counter_event *events, bool *asked)
{
	bool pinned = false;

	for (unsigned i = 0; i < n; i++) {
		int error = parse_row(fields[i].event, &events[i], &asked[i]);

		if (error) {
			group->failed = (int32_t)i;
			return error;
		}
		/* A group is pinned by its leader: ":D" in any row pins all. */
		pinned |= events[i].pinned;
		events[i].pinned = false;
	}
	events[0].pinned = pinned;
	return 0;
}

/* ---- opening ------------------------------------------------------------------------------*/

static enum pmc_scope scope_of(const struct perf_event_attr *attr)
{
	return attr->exclude_kernel ? PMC_SCOPE_USER :
	       attr->exclude_user   ? PMC_SCOPE_KERNEL :
				      PMC_SCOPE_ALL;
}

static int open_events(struct pmc_typed *group, const struct pmc_counter_event *events, unsigned n,
		       const struct pmc_open *open)
{
	struct pmc_counter_group *counters;
	struct pmc_counter *member;
	int error = pmc_counter_group_open(&counters, NULL, 0, open, NULL);

	if (error)
		return error;
	/* Enabled once it is complete: siblings must not miss what their leader counts. */
	counters->open.enabled = false;
	group->failed = -1;
	for (unsigned i = 0; i < n && !error; i++) {
		error = pmc_counter_group_add(counters, &events[i], NULL, &member, NULL);
		if (error)
			group->failed = (int32_t)i;
		else if (i == 0)
			group->scope = (uint8_t)scope_of(pmc_counter_attr(member));
		else if (group->scope != scope_of(pmc_counter_attr(member)))
			group->scope = PMC_SCOPE_ALL;
	}
	if (!error && open && open->enabled)
		error = pmc_counter_group_enable(counters);
	if (error)
		pmc_counter_group_close(counters);
	else
		group->counters = counters;
	return error;
}

/* Without the kernel where a row does not choose. All rows or none: a ratio of events of two scopes
 * means nothing. */
static bool fall_back(struct pmc_counter_event *events, const bool *asked, unsigned n)
{
	bool any = false;

	for (unsigned i = 0; i < n; i++) {
		events[i].exclude_kernel |= !asked[i];
		any |= !asked[i];
	}
	return any;
}

static int open_rows(struct pmc_typed *group, const struct pmc_field *fields, unsigned n,
		     const struct pmc_open *open, bool may_fall_back)
{
	struct pmc_counter_event events[PMC_EVENTS_MAX];
	bool asked[PMC_EVENTS_MAX];
	int kept = errno, error;

	*group = (struct pmc_typed){ .failed = -1, .scope = PMC_SCOPE_ALL };
	if (n == 0 || n > PMC_EVENTS_MAX)
		return -EINVAL;
	error = parse_rows(group, fields, n, events, asked);
	if (!error)
		error = open_events(group, events, n, open);
	if (may_fall_back && (error == -EACCES || error == -EPERM) && fall_back(events, asked, n))
		error = open_events(group, events, n, open);
	errno = kept;
	return error;
}

int pmc_typed_open(struct pmc_typed *group, const struct pmc_field *fields, unsigned n, pid_t pid,
		   int cpu)
{
	struct pmc_open open = PMC_OPEN_INIT;

	open.pid = pid;
	open.cpu = cpu;
	if (pid == -1) {
		open.target = PMC_TARGET_ANY;
		open.pid = 0;
	}
	return open_rows(group, fields, n, &open, true);
}

int pmc_typed_open_with(struct pmc_typed *group, const struct pmc_field *fields, unsigned n,
			const struct pmc_open *open)
{
	return open_rows(group, fields, n, open, false);
}

/* ---- an open group ------------------------------------------------------------------------*/

/* What is not the group's reading is another file's: the descriptor was closed and used again. */
static int error_of_reading(int error)
{
	return error == -EIO || error == -ENOSPC ? -EBADF : error;
}

int pmc_typed_enable(const struct pmc_typed *group)
{
	return group->counters ? pmc_counter_group_enable(group->counters) : -EBADF;
}

int pmc_typed_disable(const struct pmc_typed *group)
{
	return group->counters ? pmc_counter_group_disable(group->counters) : -EBADF;
}

int pmc_typed_reset(struct pmc_typed *group)
{
	return error_of_reading(group->counters ? counter_group_zero(group->counters) : -EBADF);
}

int pmc_typed_read(const struct pmc_typed *group, unsigned n, uint64_t *values,
		   struct pmc_typed_times *times)
{
	struct pmc_group_value read[PMC_EVENTS_MAX];
	struct pmc_group_times all;
	int error = -EBADF;

	*times = (struct pmc_typed_times){ .state = PMC_NOT_COUNTED };
	if (group->counters && n == pmc_counter_group_count(group->counters))
		error = pmc_counter_group_read(group->counters, &all, read, n);
	error = error_of_reading(error);
	if (!error || error == -EAGAIN) {
		times->enabled_ns = all.enabled_ns;
		times->running_ns = all.running_ns;
	}
	for (unsigned i = 0; i < n && !error; i++)
		error = pmc_group_value_scale(&all, &read[i], &values[i]);
	if (!error)
		times->state = all.running_ns < all.enabled_ns ? PMC_SCALED : PMC_COUNTED;
	for (unsigned i = 0; i < n && error; i++)
		values[i] = PMC_NO_VALUE;
	return error;
}

void pmc_typed_close(struct pmc_typed *group)
{
	int kept = errno;

	if (!group)
		return;
	pmc_counter_group_close(group->counters);
	group->counters = NULL;
	errno = kept;
}

void pmc_typed_explain(const struct pmc_typed *group, const struct pmc_field *fields, int error,
		       struct pmc_failure *failure)
{
	struct pmc_tried tried = { .call = PMC_CALL_READ };
	struct perf_event_attr attr = { 0 };
	struct pmc_counter_event event;
	char text[sizeof(failure->advice)];
	const char *what = "";
	struct pmc_here here;
	int kept = errno;
	bool asked;

	*failure = (struct pmc_failure){ .error = error < 0 ? -error : error };
	if (group->failed >= 0) {
		what = fields[group->failed].event ? fields[group->failed].event : "";
		if (parse_row(what, &event, &asked)) {
			if (!counter_event_text(&event, what, NULL, NULL, failure))
				counter_fail(failure, -failure->error, what,
					     "a row is one event, without braces and not a set");
			goto out;
		}
		attr.type = event.type;
		attr.config = event.config;
		attr.exclude_user = event.exclude_user;
		attr.exclude_kernel = event.exclude_kernel;
		tried = (struct pmc_tried){ .call = PMC_CALL_OPEN,
					    .attr = &attr,
					    .sibling = group->failed > 0 };
	}
	pmc_here_read(&here, NULL);
	counter_fail(failure, -failure->error, what, "%s",
		     pmc_advice_text(failure->error, &tried, &here, text, sizeof(text)));
out:
	errno = kept;
}
