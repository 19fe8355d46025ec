/* SPDX-License-Identifier: MIT */
/* try.c - whether an event opens here for this user, and if not why. */
#include "lib/base/advice.h"
#include "lib/base/clock.h"
#include "lib/base/proc.h"
#include "lib/dump/words.h"
#include "tools/cli/try_open.h"
#include "tools/list/list.h"

#include <unistd.h>

static struct list_answer refusal(struct list *list, const struct pmc_tried *tried, int error)
{
	struct pmc_advice advice;

	if (!list->here) {
		list->here = pmc_arena_alloc(&list->arena, sizeof(*list->here));
		pmc_here_read(list->here, NULL);
	}
	pmc_advise(error, tried, list->here, &advice);
	return (struct list_answer){ .reason = list_text(list, "%s", advice.means),
				     .fix = list_text(list, "%s", advice.todo) };
}

struct list_answer list_refusal(struct list *list, const struct pmc_planned *planned)
{
	struct pmc_attr attr;
	const struct pmc_tried tried = pmc_plan_tried(planned, &attr);

	if (planned->error >= PMC_REASON_ADOPTED)
		return (struct list_answer){ .reason = pmc_reason_text((uint32_t)planned->error),
					     .fix = "change the list of events" };
	return refusal(list, &tried, planned->error);
}

/* On one CPU, as uncore events are counted. */
static struct list_answer try_cpu(struct list *list, const struct pmc_event *event, int cpu)
{
	const struct perf_event_attr attr = { .type = event->type };
	const struct pmc_tried tried = { .attr = &attr, .placed = true, .pid = -1, .cpu = cpu };
	int error = tool_event_try(event, PMC_SCOPE_ALL, cpu);

	return error ? refusal(list, &tried, error) : (struct list_answer){ .available = true };
}

static struct list_answer try_os(const struct pmc_event *event)
{
	uint64_t ns;
	bool known = event->config != PMC_OS_RUN_DELAY || pmc_run_delay(0, &ns);

	return (struct list_answer){ known, known ? NULL : "/proc/thread-self/schedstat has none",
				     NULL };
}

struct list_answer list_try(struct list *list, const struct pmc_event *event, int cpu)
{
	struct pmc_planned planned = { .event = *event };
	int fd;

	if (pmc_event_is_of_os(event))
		return try_os(event);
	if (tool_perf_killed())
		return (struct list_answer){ false, TOOL_KILLED_TEXT, "see the check 'seccomp'" };
	if (cpu >= 0)
		return try_cpu(list, event, cpu);
	fd = pmc_plan_try(tool_perf_open, &planned);
	if (fd < 0)
		return list_refusal(list, &planned);
	close(fd);
	return (struct list_answer){
		true, planned.flags & PMC_EVENT_FELL_BACK ? "in user mode only" : NULL, NULL
	};
}
