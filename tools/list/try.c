/* SPDX-License-Identifier: MIT */
/* try.c - whether an event opens here for this user, and if not why. */
#include "agent/core/base/advice.h"
#include "tools/cli/try_open.h"
#include "tools/list/list.h"

#include <errno.h>

static const char *refusal(struct list *list, uint32_t type, int cpu, int error)
{
	const struct perf_event_attr attr = { .type = type };
	const struct pmc_tried tried = {
		.attr = &attr, .placed = true, .pid = cpu < 0 ? 0 : -1, .cpu = cpu
	};
	struct pmc_advice advice;

	if (!list->here) {
		list->here = pmc_arena_alloc(&list->arena, sizeof(*list->here));
		if (list->here)
			pmc_here_read(list->here, NULL);
	}
	pmc_advise(error, &tried, list->here, &advice);
	return list_text(list, "%s", advice.means);
}

const char *list_refusal(struct list *list, uint32_t type, int error)
{
	return refusal(list, type, -1, error);
}

struct list_answer list_try(struct list *list, const struct pmc_event *event, int cpu)
{
	int error;

	if (tool_perf_killed())
		return (struct list_answer){ false, TOOL_KILLED_TEXT };
	error = tool_event_try(event, PMC_SCOPE_ALL, cpu);
	if (!error)
		return (struct list_answer){ true, NULL };
	if ((error == -EACCES || error == -EPERM) && cpu < 0) {
		int user = tool_event_try(event, PMC_SCOPE_USER, cpu);

		if (!user)
			return (struct list_answer){ true, "in user mode only" };
		/* Permission is checked before the event is looked up: this errno is the cause. */
		if (user != -EACCES && user != -EPERM)
			error = user;
	}
	return (struct list_answer){ false, refusal(list, event->type, cpu, error) };
}
