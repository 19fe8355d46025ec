/* SPDX-License-Identifier: MIT */
/* tracepoint.c - kernel tracepoints, sys:name, by their number in tracefs. */
#include "agent/core/event/source.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

const char *event_tracefs(const struct pmc_event_roots *roots)
{
	if (roots->tracefs)
		return roots->tracefs;
	/* debugfs mounts tracefs on first access, if at all. */
	return pmc_path_exists("%s/events", places[0]) == -ENOENT &&
			       !pmc_path_exists("%s/events", places[1]) ?
		       places[1] :
		       places[0];
}

enum event_trace event_tracepoint(const struct pmc_event_roots *roots, struct event_span sys,
				  struct event_span name, struct pmc_event *event)
{
	const char *root = event_tracefs(roots);
	char text[32];
	int rc;

	if (!event_is_file_name(sys) || !event_is_file_name(name))
		return EVENT_TRACE_NONE;
	rc = pmc_file_read(text, sizeof(text), "%s/events/%.*s/%.*s/id", root, (int)sys.len, sys.at,
			   (int)name.len, name.at);
	if (rc >= 0) {
		if (!event_number((struct event_span){ text, strlen(text) }, &event->config))
			return EVENT_TRACE_NONE;
		event->type = PERF_TYPE_TRACEPOINT;
		return EVENT_TRACE_FOUND;
	}
	if (rc == -EACCES || rc == -EPERM)
		return EVENT_TRACE_NOT_PERMITTED;
	rc = pmc_path_exists("%s/events", root);
	return rc == -EACCES || rc == -EPERM ? EVENT_TRACE_NOT_PERMITTED :
	       rc			     ? EVENT_TRACE_NOT_MOUNTED :
					       EVENT_TRACE_NONE;
}
