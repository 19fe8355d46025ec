/* SPDX-License-Identifier: MIT */
/* pid.c - the processes that a command line means: by ID, with descendants, by name. */
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "lib/base/proc.h"
#include "tools/attach/attach.h"
#include "tools/cli/pmctl.h"
#include "tools/live/task.h"

#include <string.h>
#include <unistd.h>

/* Whether the agent has started, or the process may not be read. */
static bool has_started(pid_t pid)
{
	struct attach target;
	bool started = attach_enter(&target, pid, false) != 0 || attach_maps(&target) != 0;
	uint32_t state;

	if (!started && target.address)
		started = attach_read(&target, target.address + offsetof(struct pmc_control, state),
				      &state, sizeof(state)) != 0 ||
			  state == PMC_CONTROL_ON || state == PMC_CONTROL_DONE;
	attach_close(&target);
	return started;
}

int attach_pid(const char *text, pid_t *pid)
{
	uint64_t value;
	int code;

	if (strchr(text, '.') && access(text, F_OK) == 0)
		return tool_fail(EXIT_USAGE,
				 "invalid process ID '%s', a file; pmctl report %s shows a dump",
				 text, text);
	if (!pmc_number(text, INT_MAX, &value) || value == 0)
		return tool_fail(EXIT_USAGE, "invalid process ID '%s'; give one number", text);
	*pid = (pid_t)value;
	code = live_refuse(*pid);
	return code ? code : live_program(pid, has_started);
}

static int find(const struct attach_targets *targets, struct live_tids *found)
{
	pid_t pid;
	int code;

	if (!targets->tree)
		return live_find(targets->pids, targets->named, found);
	code = attach_pid(targets->tree, &pid);
	if (!code && live_tree_pids(pid, found) != 0)
		code = tool_fail(EXIT_FAIL, "no such process: %d", pid);
	return code;
}

int attach_find(struct attach_targets *targets, const char *usage, struct live_tids *found)
{
	const unsigned given =
		!!targets->pid + !!targets->pids + !!targets->tree + !!targets->named;
	unsigned kept = 0;
	pid_t pid;
	int code;

	if (given != 1)
		return tool_fail(EXIT_USAGE, "%s",
				 given ? "PID, --pid, --tree and --name cannot be used together" :
					 usage);
	if (targets->pids && !strchr(targets->pids, ',')) {
		targets->pid = targets->pids;
		targets->pids = NULL;
	}
	targets->many = !targets->pid;
	if (!targets->many) {
		code = attach_pid(targets->pid, &pid);
		if (!code)
			live_tids_add(found, pid);
		return code;
	}
	code = find(targets, found);
	for (unsigned i = 0; i < found->n; i++)
		if (found->list[i] != getpid())
			found->list[kept++] = found->list[i];
	found->n = kept;
	return code;
}

int attach_left_out(unsigned failed, unsigned n, const char *why)
{
	if (failed && failed == n)
		return tool_fail(EXIT_FAIL, "%s", why);
	if (failed)
		tool_warn("%u of %u processes were left out: %s", failed, n, why);
	return 0;
}

int attach_each(struct attach_targets *targets, const char *usage, int (*act)(pid_t pid, void *arg),
		void *arg)
{
	struct live_tids found = { .n = 0 };
	char why[ATTACH_WHY], first[ATTACH_WHY] = "";
	int code = attach_find(targets, usage, &found);
	unsigned failed = 0;

	if (!code && !targets->many)
		code = act(found.list[0], arg);
	for (unsigned i = 0; i < found.n && targets->many && !code; i++) {
		int error;

		tool_keep_errors(why, sizeof(why));
		error = act(found.list[i], arg);
		tool_keep_errors(NULL, 0);
		failed += error != 0;
		if (!error && why[0])
			tool_warn("%s", why);
		else if (error && !first[0])
			strcpy(first, why);
	}
	if (!code)
		code = attach_left_out(failed, found.n, first);
	live_tids_free(&found);
	return code;
}
