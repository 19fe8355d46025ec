/* SPDX-License-Identifier: MIT */
/* try.c - whether an event opens here for this user, and if not why. */
#include "agent/core/base/advice.h"
#include "agent/core/base/hash.h"
#include "tools/list/list.h"
#include "tools/cli/try_open.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The key of a verdict. Compared as bytes: no padding. */
struct encoding {
	uint64_t config, config1, config2, config3;
	uint32_t type;
	int32_t cpu;
};

struct list_verdict {
	struct encoding encoding;
	struct list_answer answer;
	UT_hash_handle hh;
};

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

static struct list_answer judge(struct list *list, const struct pmc_event *event, int cpu)
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

struct list_answer list_try(struct list *list, const struct pmc_event *event, int cpu)
{
	struct pmc_arena *arena = &list->arena;
	const struct encoding encoding = { event->config,  event->config1, event->config2,
					   event->config3, event->type,	   cpu };
	struct list_verdict *verdict;

	HASH_FIND(hh, list->verdicts, &encoding, sizeof(encoding), verdict);
	if (verdict)
		return verdict->answer;
	verdict = pmc_arena_alloc(arena, sizeof(*verdict));
	if (!verdict)
		return (struct list_answer){ false, "out of memory" };
	verdict->encoding = encoding;
	verdict->answer = judge(list, event, cpu);
	HASH_ADD(hh, list->verdicts, encoding, sizeof(encoding), verdict);
	return verdict->answer;
}
