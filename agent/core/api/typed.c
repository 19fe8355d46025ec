/* SPDX-License-Identifier: MIT */
/* typed.c - opening a typed group: names looked up, permission found out; see pmc/group.h. */
#include "agent/core/api/counter_event.h"
#include "agent/core/api/typed.h"
#include "agent/core/count/group.h"

#include <errno.h>
#include <string.h>

/* ---- names ---------------------------------------------------------------------------------*/

/* One row is one event: not a list, a brace or a set. Of one that each type of core counts by
 * itself, the first type's: no group can span two. */
static int one_event(const struct pmc_events *events)
{
	if (events->sets || events->list[0].brace != PMC_NO_BRACE)
		return -EINVAL;
	return events->list[events->count - 1].position == 0 ? 0 : -EINVAL;
}

static int parse_row(const char *text, struct pmc_arena *arena, struct pmc_event *event)
{
	struct pmc_counter_event none;
	struct pmc_parse_error error;
	struct pmc_events events;

	if (!text)
		return -EINVAL;
	if (pmc_events_parse(text, NULL, arena, &events, &error))
		return counter_event_text(&none, text, NULL, NULL, NULL);
	if (one_event(&events))
		return -EINVAL;
	*event = events.list[0];
	return 0;
}

/* All rows in one go: libpfm4, should a name need it, is loaded once. That the names are the
 * rows' proves that no list, brace or set was among them. False: somebody has to look at them one
 * by one. */
static bool look_up_joined(const struct pmc_field *fields, unsigned n, struct pmc_arena *arena,
			   struct pmc_planned *planned)
{
	struct pmc_parse_error error;
	struct pmc_events events;
	size_t bytes = 1;
	char *text;
	struct pmc_out out;

	for (unsigned i = 0; i < n; i++)
		bytes += fields[i].event ? strlen(fields[i].event) + 1 : 0;
	text = pmc_arena_alloc(arena, bytes);
	if (!text)
		return false;
	pmc_out_to_mem(&out, text, bytes);
	for (unsigned i = 0; i < n && fields[i].event; i++)
		pmc_outf(&out, "%s%s", i ? "," : "", fields[i].event);
	if (pmc_events_parse(text, NULL, arena, &events, &error) || events.count != n)
		return false;
	for (unsigned i = 0; i < n; i++) {
		if (!fields[i].event || strcmp(events.list[i].name, fields[i].event))
			return false;
		planned[i].event = events.list[i];
	}
	return true;
}

int typed_look_up(const struct pmc_field *fields, unsigned n, struct pmc_arena *arena,
		  struct pmc_planned *planned, int32_t *failed)
{
	bool joined = look_up_joined(fields, n, arena, planned);

	for (unsigned i = 0; i < n && !joined; i++) {
		int error = parse_row(fields[i].event, arena, &planned[i].event);

		if (error) {
			*failed = (int32_t)i;
			return error;
		}
	}
	/* ":D" in any row pins them all: they are on the PMU together or not at all. */
	for (unsigned i = 1; i < n; i++)
		planned[0].event.pinned |= planned[i].event.pinned;
	return 0;
}

/* ---- the group -----------------------------------------------------------------------------*/

void typed_begin(struct pmc_typed *group, struct pmc_typed_event *events, unsigned n)
{
	*group = (struct pmc_typed){ .failed = -1, .scope = PMC_SCOPE_ALL };
	for (unsigned i = 0; i < n && n <= PMC_EVENTS_MAX; i++)
		events[i] = (struct pmc_typed_event){ .fd = -1 };
}

/* What the group as a whole can be said to count. */
static enum pmc_scope scope_of(const struct pmc_attr *attr)
{
	return attr->base.exclude_kernel ? PMC_SCOPE_USER :
	       attr->base.exclude_user	 ? PMC_SCOPE_KERNEL :
					   PMC_SCOPE_ALL;
}

int typed_add(struct pmc_typed *group, struct pmc_typed_event *events, int fd,
	      const struct pmc_attr *attr)
{
	unsigned i = group->n_open;
	int error;

	group->failed = (int32_t)i;
	if (fd < 0)
		return fd;
	events[i].fd = fd;
	group->n_open++;
	error = pmc_perf_ioctl(fd, PERF_EVENT_IOC_ID, &events[i].id);
	if (error < 0)
		return error;
	if (i == 0)
		group->scope = (uint8_t)scope_of(attr);
	else if (group->scope != scope_of(attr))
		group->scope = PMC_SCOPE_ALL;
	group->failed = -1;
	return 0;
}

int typed_open_planned(struct pmc_typed *group, struct pmc_typed_event *events,
		       const struct pmc_planned *planned, unsigned n, int pid, int cpu)
{
	int error = 0;

	typed_begin(group, events, n);
	for (unsigned i = 0; i < n && !error; i++) {
		struct pmc_attr attr;
		int fd;

		pmc_group_attr(&planned[i].event, planned[i].scope, i == 0, &attr);
		fd = pmc_perf_open(&attr, pid, cpu, i ? events[0].fd : -1, 0);
		error = typed_add(group, events, fd, &attr);
	}
	if (error)
		pmc_typed_close(group, events);
	return error;
}

static bool fall_back(struct pmc_planned *planned, unsigned n)
{
	bool any = false;

	for (unsigned i = 0; i < n; i++) {
		if (planned[i].event.asked_scope)
			continue;
		planned[i].scope = PMC_SCOPE_USER;
		any = true;
	}
	return any;
}

int pmc_typed_open(struct pmc_typed *group, struct pmc_typed_event *events,
		   const struct pmc_field *fields, unsigned n, pid_t pid, int cpu)
{
	struct pmc_planned planned[PMC_EVENTS_MAX] = { 0 };
	struct pmc_arena arena = { 0 };
	int kept = errno, error = -EINVAL;

	typed_begin(group, events, n);
	if (n == 0 || n > PMC_EVENTS_MAX)
		return error;
	error = typed_look_up(fields, n, &arena, planned, &group->failed);
	if (!error)
		error = typed_open_planned(group, events, planned, n, pid, cpu);
	/* All of them or none: a ratio of events of two scopes means nothing. */
	if ((error == -EACCES || error == -EPERM) && fall_back(planned, n)) {
		int refused = error;
		int32_t failed = group->failed;

		error = typed_open_planned(group, events, planned, n, pid, cpu);
		if (error == refused)
			group->failed = failed;
	}
	pmc_arena_free(&arena);
	errno = kept;
	return error;
}
