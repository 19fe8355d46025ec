/* SPDX-License-Identifier: MIT */
/* agent.c - a process's agent, kept open; see agent.h. */
#include "tools/attach/agent.h"
#include "tools/attach/collect.h"
#include "tools/cli/pmctl.h"

#include <stdlib.h>

/* Of one event set. */
#define SET_BYTES ((size_t)128 << 10)

struct place {
	pid_t tid;
	uint32_t slot;
};

struct attach_agent {
	struct attach target;
	struct place *places; /* of the slots, by tid */
	uint32_t n;
};

/* No program that merely has no agent, or one of another user, is worth a word. */
static bool is_quiet(const struct attach *target)
{
	return !target->address || target->control.state != PMC_CONTROL_ON;
}

struct attach_agent *attach_agent_open(pid_t pid, char *why)
{
	struct attach_agent *agent = calloc(1, sizeof(*agent));
	int code;

	why[0] = '\0';
	if (!agent)
		return NULL;
	tool_keep_errors(why, ATTACH_WHY);
	code = attach_open(&agent->target, pid, 0);
	tool_keep_errors(NULL, 0);
	if (!code)
		return agent;
	if (is_quiet(&agent->target))
		why[0] = '\0';
	attach_agent_close(agent);
	return NULL;
}

void attach_agent_close(struct attach_agent *agent)
{
	if (!agent)
		return;
	attach_close(&agent->target);
	free(agent->places);
	free(agent);
}

bool attach_agent_lives(const struct attach_agent *agent)
{
	return attach_same_image(&agent->target);
}

static int by_tid(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static struct slot *slot_of(const struct attach_agent *agent, uint32_t slot)
{
	return registry_slot(&agent->target.registry, slot);
}

static bool sort_places(struct attach_agent *agent)
{
	const struct attach *target = &agent->target;

	free(agent->places);
	agent->n = 0;
	agent->places = malloc((target->n_slots + 1) * sizeof(*agent->places));
	if (!agent->places)
		return false;
	for (uint32_t i = 0; i < target->n_slots; i++)
		agent->places[agent->n++] =
			(struct place){ attach_our_tid(target, slot_of(agent, i)->tid), i };
	qsort(agent->places, agent->n, sizeof(*agent->places), by_tid);
	return true;
}

bool attach_agent_look(struct attach_agent *agent, char *why)
{
	int code;

	tool_keep_errors(why, ATTACH_WHY);
	code = attach_look(&agent->target);
	if (!code && !sort_places(agent))
		code = tool_fail(EXIT_FAIL, "out of memory");
	tool_keep_errors(NULL, 0);
	if (code && is_quiet(&agent->target))
		why[0] = '\0';
	if (code)
		agent->n = 0;
	return !code;
}

bool attach_agent_thread(const struct attach_agent *agent, pid_t tid, struct attach_thread *thread)
{
	const struct attach *target = &agent->target;
	const struct place key = { .tid = tid };
	const struct place *place =
		agent->n ? bsearch(&key, agent->places, agent->n, sizeof(key), by_tid) : NULL;
	const struct slot *slot;
	uint64_t start;

	if (!place)
		return false;
	slot = slot_of(agent, place->slot);
	start = (uint64_t)(uintptr_t)slot->start.posix;
	*thread = (struct attach_thread){
		.slot = place->slot,
		.main = slot->flags & PMC_THREAD_MAIN,
		.start_ns = slot->start_ns,
		.eventset = snapshot_eventset(&target->control, slot),
	};
	attach_module_of(target, start, &thread->module, &thread->offset);
	return true;
}

int attach_agent_leader(const struct attach_agent *agent, const struct attach_thread *thread,
			unsigned g, unsigned n, uint64_t *id)
{
	const struct snapshot_groups groups =
		snapshot_groups_of(&agent->target.reader, slot_of(agent, thread->slot));
	uint32_t error;

	if (g >= groups.groups || (unsigned)(groups.first[g + 1] - groups.first[g]) != n)
		return -1;
	*id = groups.ids[g];
	return attach_group_dup(&agent->target, groups.fds[groups.first[g]], *id, &error);
}

void attach_agent_set(const struct attach_agent *agent, uint64_t eventset,
		      struct pmc_frame_buf *buf)
{
	void *room = malloc(SET_BYTES);

	pmc_frame_buf_init(buf, room, room ? SET_BYTES : 0);
	if (room)
		attach_set(&agent->target, eventset, buf);
}

bool attach_agent_frames(struct attach_agent *agent, const struct attach_thread *thread,
			 struct pmc_frame_buf *buf, char *why)
{
	int code;

	pmc_frame_buf_init(buf, NULL, 0);
	tool_keep_errors(why, ATTACH_WHY);
	code = attach_collect_thread(&agent->target, thread->slot, buf);
	tool_keep_errors(NULL, 0);
	return !code;
}
