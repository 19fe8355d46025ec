/* SPDX-License-Identifier: MIT */
/* try.c - whether macOS counts an event for threads of this user. */
#include "tools/cli/pmctl.h"
#include "tools/list/list.h"

#include <linux/perf_event.h>

struct list_answer list_try(struct list *list, const struct pmc_event *event, int cpu)
{
	(void)list, (void)cpu;
	if (event->type == PERF_TYPE_HARDWARE && (event->config == PERF_COUNT_HW_CPU_CYCLES ||
						  event->config == PERF_COUNT_HW_INSTRUCTIONS))
		return (struct list_answer){ true, NULL };
	return (struct list_answer){ false, "not counted on macOS; see events of type kpep" };
}

int list_fit_host(struct list_fit *fit, const char *events)
{
	(void)fit, (void)events;
	return tool_fail(EXIT_USAGE, "--fit needs a table of counter masks; add --pmu-db FILE");
}
