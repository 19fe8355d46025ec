/* SPDX-License-Identifier: MIT */
/* spawn.c - see child.h. */
#include "tools/cli/child.h"
#include "tools/cli/pmctl.h"

#include <spawn.h>

static int set_signals(posix_spawnattr_t *attr, const struct tool_spawn *spawn)
{
	short flags = POSIX_SPAWN_SETSIGMASK;
	sigset_t defaults;

	sigemptyset(&defaults);
	for (unsigned i = 0; i < TOOL_IGNORED; i++) {
		if (tool_ignored_was[i].sa_handler == SIG_IGN)
			continue;
		sigaddset(&defaults, tool_ignored[i]);
		flags |= POSIX_SPAWN_SETSIGDEF;
	}
	if (spawn->group)
		flags |= POSIX_SPAWN_SETPGROUP;
	posix_spawnattr_setsigdefault(attr, &defaults);
	posix_spawnattr_setsigmask(attr, spawn->mask);
	return posix_spawnattr_setflags(attr, flags);
}

/* Of descriptors that are the standard ones already, the close-on-exec flag is cleared. */
static int set_io(posix_spawn_file_actions_t *actions, const struct tool_spawn *spawn)
{
	int error = 0;

	for (int i = 0; spawn->io && i < (spawn->n_io ? spawn->n_io : 3) && !error; i++)
		if (spawn->io[i] >= 0)
			error = posix_spawn_file_actions_adddup2(actions, spawn->io[i], i);
	return error;
}

int tool_spawn(const struct tool_spawn *spawn, pid_t *pid)
{
	char **environment = spawn->environment ? spawn->environment : environ;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int error = posix_spawnattr_init(&attr);

	if (error)
		return error;
	error = posix_spawn_file_actions_init(&actions);
	if (error)
		goto out;
	error = set_signals(&attr, spawn);
	if (!error)
		error = set_io(&actions, spawn);
	if (!error && spawn->path)
		error = posix_spawn(pid, spawn->path, &actions, &attr, spawn->argv, environment);
	else if (!error)
		error = posix_spawnp(pid, spawn->argv[0], &actions, &attr, spawn->argv,
				     environment);
	posix_spawn_file_actions_destroy(&actions);
out:
	posix_spawnattr_destroy(&attr);
	return error;
}
