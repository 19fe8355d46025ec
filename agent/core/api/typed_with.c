/* SPDX-License-Identifier: MIT */
/* typed_with.c - typed groups with options, and why an open failed, in words; see pmc/group.h. */
#include "agent/core/base/advice.h"
#include "agent/core/api/counter.h"
#include "agent/core/api/counter_event.h"
#include "agent/core/api/typed.h"
#include "agent/core/count/group.h"

#include <errno.h>
#include <string.h>

static struct pmc_counter_event event_of(const struct pmc_event *event)
{
	return (struct pmc_counter_event){
		.type = event->type,
		.config = event->config,
		.config1 = event->config1,
		.config2 = event->config2,
		.config3 = event->config3,
		.exclude_user = event->exclude_user,
		.exclude_kernel = event->exclude_kernel,
		.scale = event->scale,
	};
}

/* The options of one member: what is the leader's alone is not a sibling's, and a sibling counts
 * as soon as its leader does. */
static struct pmc_open member_options(const struct pmc_open *open, bool leader)
{
	struct pmc_open member = *open;

	member.read_format = PERF_FORMAT_GROUP;
	member.enabled = !leader;
	if (!leader)
		member.pinned = member.exclusive = member.enable_on_exec = false;
	return member;
}

static int open_members(struct pmc_typed *group, struct pmc_typed_event *events,
			const struct pmc_planned *planned, unsigned n, const struct pmc_open *open)
{
	struct pmc_counter leader = { .fd = -1 };
	int error = 0;

	for (unsigned i = 0; i < n && !error; i++) {
		struct pmc_counter_event event = event_of(&planned[i].event);
		struct counter_request request;
		struct pmc_attr attr;

		error = counter_request_make(&request, &event, open, NULL);
		if (error)
			return error;
		request.open = member_options(&request.open, i == 0);
		request.open.pinned |= i == 0 && planned[0].event.pinned;
		error = typed_add(group, events, counter_try(&request, i ? &leader : NULL, &attr),
				  &attr);
		if (i == 0) {
			leader.fd = events[0].fd;
			leader.attr = attr;
		}
	}
	return error;
}

int pmc_typed_open_with(struct pmc_typed *group, struct pmc_typed_event *events,
			const struct pmc_field *fields, unsigned n, const struct pmc_open *open)
{
	struct pmc_planned planned[PMC_EVENTS_MAX] = { 0 };
	const struct pmc_open usual = PMC_OPEN_INIT;
	struct pmc_arena arena = { 0 };
	int kept = errno, error = -EINVAL;

	typed_begin(group, events, n);
	if (n == 0 || n > PMC_EVENTS_MAX)
		return error;
	if (!open)
		open = &usual;
	error = typed_look_up(fields, n, &arena, planned, &group->failed);
	if (!error)
		error = open_members(group, events, planned, n, open);
	if (!error && open->enabled)
		error = pmc_typed_enable(group, events);
	if (error)
		pmc_typed_close(group, events);
	pmc_arena_free(&arena);
	errno = kept;
	return error;
}

void pmc_typed_explain(const struct pmc_typed *group, const struct pmc_field *fields, int error,
		       struct pmc_failure *failure)
{
	struct pmc_tried tried = { .call = PMC_CALL_READ };
	struct pmc_planned planned = { 0 };
	struct pmc_arena arena = { 0 };
	struct pmc_counter_event event;
	char text[sizeof(failure->advice)];
	const char *what = "";
	struct pmc_here here;
	struct pmc_attr attr;
	int kept = errno;

	*failure = (struct pmc_failure){ .error = error < 0 ? -error : error };
	if (group->failed >= 0) {
		int32_t none;

		what = fields[group->failed].event ? fields[group->failed].event : "";
		if (typed_look_up(&fields[group->failed], 1, &arena, &planned, &none)) {
			/* Of its texts the parser's is the better one. */
			if (!counter_event_text(&event, what, NULL, NULL, failure))
				counter_fail(failure, -failure->error, what,
					     "a row is one event, without braces and not a set");
			goto out;
		}
		pmc_group_attr(&planned.event, planned.scope, group->failed == 0, &attr);
		tried = (struct pmc_tried){ .call = PMC_CALL_OPEN,
					    .attr = &attr.base,
					    .sibling = group->failed > 0 };
	}
	pmc_here_read(&here, NULL);
	counter_fail(failure, -failure->error, what, "%s",
		     pmc_advice_text(failure->error, &tried, &here, text, sizeof(text)));
out:
	pmc_arena_free(&arena);
	errno = kept;
}
