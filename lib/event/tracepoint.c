/* SPDX-License-Identifier: MIT */
/* tracepoint.c - kernel tracepoints, sys:name, by their number in tracefs. */
#include "lib/event/source.h"

#include <errno.h>
#include <linux/perf_event.h>

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

int event_tracepoint(const struct pmc_event_roots *roots, struct event_span sys,
		     struct event_span name, struct pmc_event *event)
{
	const char *root = event_tracefs(roots);
	char text[32];
	int rc;

	if (!event_is_file_name(sys) || !event_is_file_name(name))
		return EVENT_NOT_MINE;
	rc = pmc_file_read(text, sizeof(text), "%s/events/%.*s/%.*s/id", root, (int)sys.len, sys.at,
			   (int)name.len, name.at);
	if (rc >= 0 && event_number(event_span_of(text), &event->config)) {
		event->type = PERF_TYPE_TRACEPOINT;
		/* perf_syscall_enter() in kernel/trace/trace_syscalls.c passes the registers of
		 * user mode; others pass the kernel's, and perf_tp_event_match() in
		 * kernel/events/core.c looks at exclude_kernel only. */
		event->filter = event_span_is(sys, "syscalls") ? PMC_UNFILTERED : PMC_KERNEL_ONLY;
		return EVENT_FOUND;
	}
	return rc == -EACCES ? rc : pmc_path_exists("%s/events", root);
}
