/* SPDX-License-Identifier: MIT */
/* agent.c - a process's agent, kept open; see agent.h. */
#include "tools/attach/attach.h"
#include "tools/cli/list.h"
#include "tools/cli/pmctl.h"

/* Of one event set. */
#define SET_BYTES ((size_t)128 << 10)

/* No program that merely has no agent, or one of another user, is worth a word. */
static bool is_quiet(const struct attach *target)
{
	return !target->address || target->control.state != PMC_CONTROL_ON;
}

struct attach *attach_agent_open(pid_t pid, char *why)
{
	struct attach *agent = tool_realloc(NULL, sizeof(*agent));
	int code;

	why[0] = '\0';
	tool_keep_errors(why, ATTACH_WHY);
	code = attach_open(agent, pid, 0);
	tool_keep_errors(NULL, 0);
	if (!code)
		return agent;
	if (is_quiet(agent))
		why[0] = '\0';
	attach_agent_close(agent);
	return NULL;
}

void attach_agent_close(struct attach *agent)
{
	if (agent)
		attach_close(agent);
	free(agent);
}

bool attach_agent_look(struct attach *agent, char *why)
{
	int code;

	tool_keep_errors(why, ATTACH_WHY);
	code = attach_look(agent);
	tool_keep_errors(NULL, 0);
	if (code && is_quiet(agent))
		why[0] = '\0';
	return !code;
}

bool attach_agent_thread(const struct attach *agent, pid_t tid, struct attach_thread *thread)
{
	const struct attach_task *task = NULL;
	const struct slot *slot;

	if (!agent->other_pid_namespace)
		task = attach_task_of(agent, (uint32_t)tid);
	for (size_t i = 0; agent->other_pid_namespace && i < agent->tasks.n; i++)
		if (agent->tasks.list[i].pid == tid)
			task = &agent->tasks.list[i];
	if (!task || !task->slot)
		return false;
	slot = registry_slot(&agent->registry, task->slot - 1);
	*thread = (struct attach_thread){
		.slot = task->slot - 1,
		.main = slot->flags & PMC_THREAD_MAIN,
		.start_ns = slot->start_ns,
		.eventset = snapshot_eventset(&agent->control, slot),
	};
	attach_module_of(agent, (uint64_t)(uintptr_t)slot->start.posix, &thread->module,
			 &thread->offset);
	return true;
}

int attach_agent_leader(const struct attach *agent, const struct attach_thread *thread, unsigned g,
			unsigned n, uint64_t *id)
{
	const struct snapshot_groups groups =
		snapshot_groups_of(&agent->reader, registry_slot(&agent->registry, thread->slot));
	uint32_t error;

	if (g >= groups.groups || (unsigned)(groups.first[g + 1] - groups.first[g]) != n)
		return -1;
	*id = groups.ids[g];
	return attach_group_dup(agent, groups.fds[groups.first[g]], *id, &error);
}

void attach_agent_set(const struct attach *agent, uint64_t eventset, struct pmc_frame_buf *buf)
{
	pmc_frame_buf_init(buf, tool_realloc(NULL, SET_BYTES), SET_BYTES);
	attach_set(agent, eventset, buf);
}

bool attach_agent_frames(struct attach *agent, const struct attach_thread *thread,
			 struct pmc_frame_buf *buf, char *why)
{
	int code;

	pmc_frame_buf_init(buf, NULL, 0);
	tool_keep_errors(why, ATTACH_WHY);
	code = attach_collect_thread(agent, thread->slot, buf);
	tool_keep_errors(NULL, 0);
	return !code;
}
