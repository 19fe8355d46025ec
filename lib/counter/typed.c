/* SPDX-License-Identifier: MIT */
/* typed.c - typed groups: the rows of PMC_GROUP() on a counter group; see pmc/group.h. */
#include "lib/counter/counter.h"

#include <errno.h>
#include <pmc/group.h>

static int parse_rows(struct pmc_group_typed *group, const struct pmc_group_typed_field *fields,
		      unsigned n, struct pmc_counter_event *events)
{
	bool pinned = false;

	for (unsigned i = 0; i < n; i++) {
		const char *text = fields[i].event;
		int error = text ? counter_event_text(&events[i], text, text, true, NULL) : -EINVAL;

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

/* The scope of all members. Clocks, which count all modes, are ignored beside other events. */
static enum pmc_scope common_scope(const struct pmc_group *group)
{
	enum pmc_scope scope = PMC_SCOPE_ALL;
	bool known = false;

	for (size_t i = 0; i < group->count; i++) {
		const struct pmc_counter *member = group->members[i];

		if (member->filter == PMC_UNFILTERED)
			continue;
		if (known && member->scope != scope)
			return PMC_SCOPE_ALL;
		scope = member->scope;
		known = true;
	}
	return scope;
}

/* Tells an open group from a struct that was never set, as far as its bytes can. */
static uint64_t mark_of(const struct pmc_group *counters)
{
	return (uint64_t)(uintptr_t)counters ^ UINT64_C(0x706d632d67726f75);
}

static bool is_open(const struct pmc_group_typed *group)
{
	return group->counters && group->open_mark == mark_of(group->counters);
}

int pmc_group_typed_open_with(struct pmc_group_typed *group,
			      const struct pmc_group_typed_field *fields, unsigned n,
			      const struct pmc_open_options *options)
{
	struct pmc_counter_event events[PMC_EVENTS_MAX];
	int kept = errno, error;

	if (!group)
		return -EINVAL;
	if (is_open(group))
		return -EALREADY;
	*group = (struct pmc_group_typed){ .failed = -1, .scope = PMC_SCOPE_ALL, .cpu = -1 };
	if (options) {
		group->pid = options->target == PMC_TARGET_PID ? options->pid : -1;
		group->cpu = options->cpu;
	}
	if (!fields || n == 0 || n > PMC_EVENTS_MAX)
		return -EINVAL;
	error = parse_rows(group, fields, n, events);
	if (!error)
		error = counter_group_open(&group->counters, events, n, options, &group->failed,
					   NULL);
	if (!error) {
		group->scope = (uint8_t)common_scope(group->counters);
		group->open_mark = mark_of(group->counters);
	}
	errno = kept;
	return error;
}

int pmc_group_typed_open(struct pmc_group_typed *group, const struct pmc_group_typed_field *fields,
			 unsigned n, pid_t pid, int cpu)
{
	struct pmc_open_options options = PMC_OPEN_INIT;

	options.pid = pid;
	options.cpu = cpu;
	if (pid == -1) {
		options.target = PMC_TARGET_ANY;
		options.pid = 0;
	}
	return pmc_group_typed_open_with(group, fields, n, &options);
}

/* ---- an open group ------------------------------------------------------------------------*/

/* A reading of another form is another file's: the descriptor was closed and used again. */
static int error_of_reading(int error)
{
	return error == -EIO || error == -ENOSPC ? -EBADF : error;
}

int pmc_group_typed_enable(const struct pmc_group_typed *group)
{
	if (!group)
		return -EINVAL;
	return group->counters ? pmc_group_enable(group->counters) : -EBADF;
}

int pmc_group_typed_disable(const struct pmc_group_typed *group)
{
	if (!group)
		return -EINVAL;
	return group->counters ? pmc_group_disable(group->counters) : -EBADF;
}

int pmc_group_typed_reset(struct pmc_group_typed *group)
{
	if (!group)
		return -EINVAL;
	return error_of_reading(group->counters ? counter_group_zero(group->counters) : -EBADF);
}

int pmc_group_typed_read(const struct pmc_group_typed *group, unsigned n, uint64_t *values,
			 struct pmc_group_typed_times *times)
{
	struct pmc_group_value read[PMC_EVENTS_MAX];
	struct pmc_group_times all;
	int error = -EBADF;

	if (!group || !values || !times)
		return -EINVAL;
	*times = (struct pmc_group_typed_times){ .state = PMC_NOT_COUNTED };
	if (group->counters && n == pmc_group_count(group->counters))
		error = pmc_group_read(group->counters, &all, read, n);
	error = error_of_reading(error);
	if (!error || error == -EAGAIN || error == -EBUSY) {
		times->enabled_ns = all.enabled_ns;
		times->running_ns = all.running_ns;
	}
	for (unsigned i = 0; i < n && !error; i++)
		error = pmc_group_scale(&all, &read[i], &values[i]);
	if (!error)
		times->state = all.running_ns < all.enabled_ns ? PMC_SCALED : PMC_COUNTED;
	for (unsigned i = 0; i < n && error; i++)
		values[i] = PMC_NO_VALUE;
	return error;
}

void pmc_group_typed_close(struct pmc_group_typed *group)
{
	int kept = errno;

	if (!group)
		return;
	pmc_group_close(group->counters);
	group->counters = NULL;
	errno = kept;
}

static struct pmc_open_options options_of(const struct pmc_group_typed *group)
{
	struct pmc_open_options options = PMC_OPEN_INIT;

	options.target = group->pid == -1 ? PMC_TARGET_ANY : PMC_TARGET_PID;
	options.pid = group->pid == -1 ? 0 : group->pid;
	options.cpu = group->cpu;
	return options;
}

/* Of a failed open. */
static void explain_open(const struct pmc_group_typed *group,
			 const struct pmc_group_typed_field *fields, int error,
			 struct pmc_failure *failure)
{
	const struct pmc_open_options options = options_of(group);
	struct pmc_counter_event event;
	struct counter_request request;
	const char *text;

	if (group->failed >= 0) {
		text = fields[group->failed].event ? fields[group->failed].event : "";
		if (counter_event_text(&event, text, text, true, failure))
			return;
		counter_request_make(&request, &event, &options, NULL);
		counter_advise(&request, group->failed > 0, error, failure);
	} else if (counter_request_make(&request, NULL, &options, failure) != error) {
		counter_fail(failure, error, "options",
			     "the list of events is empty, or an option is invalid; see "
			     "pmc_open_options(3)");
	}
}

void pmc_group_typed_explain(const struct pmc_group_typed *group,
			     const struct pmc_group_typed_field *fields, int error,
			     struct pmc_failure *failure)
{
	int kept = errno;

	error = error > 0 ? -error : error;
	if (!failure)
		return;
	if (!group || !fields)
		counter_fail(failure, error, "group", "an argument is NULL");
	else if (group->counters)
		pmc_group_explain(group->counters, error, failure);
	else if (error == -EBADF)
		counter_fail(failure, error, "group", "it is not open; open it first");
	else
		explain_open(group, fields, error, failure);
	errno = kept;
}
