/* SPDX-License-Identifier: MIT */
/* points.c - the tracepoints of -e, and the one that a record belongs to. */
#include "lib/base/suggest.h"
#include "tools/cli/pmctl.h"
#include "tools/trace/trace.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_POINTS 60000
#define IDS	    65536 /* common_type has 16 bits */

/* SYSTEM:NAME of every tracepoint, each with a NUL, and another at the end; NULL if the file cannot
 * be read. The caller frees. */
static char *read_names(void)
{
	size_t size;
	char *names = trace_read_tracefs("available_events", &size);

	for (char *at = names; at && (at = strchr(at, '\n')); at++)
		*at = '\0';
	return names;
}

#define EACH_NAME(name, names)                                                                     \
	const char *name = names;                                                                  \
	*name;                                                                                     \
	name += strlen(name) + 1

static int again(struct trace *trace, unsigned n, const char *filter, struct pmc_failure *why)
{
	const char *was = trace->points[n].filter;

	if (was == filter || (was && filter && !strcmp(was, filter)))
		return 0;
	*why = (struct pmc_failure){ .advice = "two -e name it with different filters; give one, "
					       "with the filters joined by ||" };
	return -EEXIST;
}

static int add(struct trace *trace, const char *name, const char *filter, struct pmc_failure *why)
{
	char system[sizeof(trace->points->name)];
	size_t colon = strcspn(name, ":");
	struct trace_point *point;
	uint64_t id;
	int error;

	trace->points = pmc_arena_grow(&trace->arena, trace->points, trace->n_points,
				       &trace->room_points, sizeof(*trace->points));
	point = &trace->points[trace->n_points];
	*point = (struct trace_point){ .filter = filter };
	*why = (struct pmc_failure){ .advice = "its name is not SYSTEM:NAME" };
	if (strlen(name) >= sizeof(point->name) || !name[colon])
		return -EINVAL;
	snprintf(system, sizeof(system), "%.*s", (int)colon, name);
	error = pmc_tracepoint_load(&point->tracepoint, system, name + colon + 1, why);
	if (error)
		return error;
	id = pmc_tracepoint_id(point->tracepoint);
	if (id >= IDS || trace->by_id[id] || trace->n_points == MOST_POINTS) {
		pmc_tracepoint_free(point->tracepoint);
		return id < IDS && trace->by_id[id] ?
			       again(trace, trace->by_id[id] - 1u, filter, why) :
			       0;
	}
	strcpy(point->name, name);
	point->syscall = !strncmp(name, "syscalls:", 9);
	if (!strcmp(name, "sched:sched_switch")) {
		point->prev_pid = pmc_tracepoint_find(point->tracepoint, "prev_pid");
		point->prev_comm = pmc_tracepoint_find(point->tracepoint, "prev_comm");
		point->next_pid = pmc_tracepoint_find(point->tracepoint, "next_pid");
		point->next_comm = pmc_tracepoint_find(point->tracepoint, "next_comm");
	} else if (trace->print) {
		trace_print_load(trace->print, system, name + colon + 1);
	}
	trace->by_id[id] = (uint16_t)++trace->n_points;
	return 0;
}

/* The part of a name that a pattern is for: without a system it matches names in all systems. */
static const char *part_of(const char *name, const char *pattern)
{
	const char *colon = strchr(pattern, ':') ? NULL : strchr(name, ':');

	return colon ? colon + 1 : name;
}

static int say_why(const struct trace *trace, const char *what, const struct pmc_failure *why)
{
	return tool_fail(rings_failed(&trace->rings), "cannot trace %s: %s", what, why->advice);
}

/* strace has openat where the kernel has syscalls:sys_enter_openat. */
#define ENTER "sys_enter_"

static int unknown(const char *word, const char *names)
{
	struct pmc_nearest nearest;

	pmc_nearest_init(&nearest, word, strlen(word));
	for (EACH_NAME(name, names)) {
		const char *part = part_of(name, word);

		pmc_nearest_try(&nearest, part);
		if (!strncmp(part, ENTER, strlen(ENTER)) && !strcmp(part + strlen(ENTER), word)) {
			nearest.name = part;
			break;
		}
	}
	return tool_fail_unknown("unknown tracepoint", word, nearest.name,
				 "pmctl list '*:*' shows their names");
}

/* All that match; those whose format cannot be read (ftrace's own) are left out if others can. */
static int add_matching(struct trace *trace, const char *pattern, const char *filter,
			const char *names)
{
	unsigned before = trace->n_points, n;
	struct pmc_failure why;
	const char *failed = NULL;
	bool found = false;
	int error;

	for (EACH_NAME(name, names)) {
		if (fnmatch(pattern, part_of(name, pattern), 0) != 0)
			continue;
		found = true;
		n = trace->n_points;
		error = add(trace, name, filter, &why);
		if (error == -EEXIST)
			return say_why(trace, name, &why);
		if (error && !failed)
			failed = name;
		if (trace->n_points > n)
			trace->points[n].matched = strpbrk(pattern, "*?[") != NULL;
	}
	if (!found)
		return unknown(pattern, names);
	return failed && trace->n_points == before ? say_why(trace, failed, &why) : 0;
}

static int add_word(struct trace *trace, const char *word, const struct trace_names *list,
		    const char *names)
{
	struct pmc_tracepoint *any;
	struct pmc_failure why;

	if (!*word)
		return tool_fail(EXIT_USAGE, "an empty name in -e '%s'", list->names);
	if (names && *names)
		return add_matching(trace, word, list->filter, names);
	/* The reason is that of a tracepoint that every kernel has, or that of the list alone. */
	if (!pmc_tracepoint_load(&any, "sched", "sched_switch", &why)) {
		pmc_tracepoint_free(any);
		why = (struct pmc_failure){ .advice = "its list available_events in tracefs cannot "
						      "be read; run as root" };
	}
	return say_why(trace, word, &why);
}

int trace_find_points(struct trace *trace)
{
	char *names = read_names();
	int code = 0;

	trace->by_id = pmc_arena_alloc(&trace->arena, IDS * sizeof(*trace->by_id));
	if ((trace->rows.format == TRACE_TEXT || trace->rows.format == TRACE_RECORD) &&
	    !trace->summarize)
		trace->print = trace_print_new();
	for (unsigned i = 0; i < trace->n_lists && !code; i++) {
		const struct trace_names *list = &trace->lists[i];
		char *words = pmc_arena_strdup(&trace->arena, list->names);

		while (!code && words)
			code = add_word(trace, strsep(&words, ","), list, names);
	}
	free(names);
	return code;
}

void trace_free_points(struct trace *trace)
{
	for (unsigned i = 0; i < trace->n_points; i++)
		pmc_tracepoint_free(trace->points[i].tracepoint);
	trace_print_free(trace->print);
}

const struct trace_point *trace_point_of(const struct trace *trace, const struct pmc_record *record)
{
	uint64_t id;

	if (pmc_tracepoint_of(record, &id) || !trace->by_id[id & (IDS - 1)])
		return NULL;
	return &trace->points[trace->by_id[id & (IDS - 1)] - 1];
}
