/* SPDX-License-Identifier: MIT */
/* try.c - whether an event opens on this machine for this user, and if not why. */
#include "agent/core/base/advice.h"
#include "agent/core/count/group.h"
#include "agent/core/base/hash.h"
#include "tools/list/list.h"
#include "tools/cli/try_open.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* What an open depends on; compared as bytes, so without holes. */
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

static int try_scope(const struct pmc_event *event, enum pmc_scope scope, int cpu)
{
	struct pmc_attr attr;
	int fd;

	pmc_group_attr(event, scope, true, &attr);
	fd = pmc_perf_open(&attr, cpu < 0 ? 0 : -1, cpu, -1, 0);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

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
		return (struct list_answer){ false,
					     "a seccomp filter kills whoever opens perf events" };
	error = try_scope(event, PMC_SCOPE_ALL, cpu);
	if (!error)
		return (struct list_answer){ true, NULL };
	if ((error == -EACCES || error == -EPERM) && cpu < 0) {
		int user = try_scope(event, PMC_SCOPE_USER, cpu);

		if (!user)
			return (struct list_answer){ true, "in user mode only" };
		/* Refused before the kernel looked for it: what it says then is the cause. */
		if (user != -EACCES && user != -EPERM)
			error = user;
	}
	return (struct list_answer){ false, refusal(list, event->type, cpu, error) };
}

struct list_answer list_try(struct list *list, const struct pmc_event *event, int cpu)
{
	struct pmc_arena *arena = &list->arena;
	struct encoding encoding;
	struct list_verdict *verdict;

	memset(&encoding, 0, sizeof(encoding));
	encoding.type = event->type;
	encoding.config = event->config;
	encoding.config1 = event->config1;
	encoding.config2 = event->config2;
	encoding.config3 = event->config3;
	encoding.cpu = cpu;
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
