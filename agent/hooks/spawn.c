/* SPDX-License-Identifier: MIT */
/*
 * spawn.c - children that run no hook of ours before their exec. Overrides: posix_spawn
 * posix_spawnp popen system.
 *
 * They inherit the descriptor limit as it is at that moment. So no window of ours (fdspace.c) may
 * be open then.
 */
#include "agent/base/real.h"
#include "agent/base/agent.h"
#include "agent/base/fdspace.h"
#include "agent/base/fork_guard.h"

#include <stdlib.h>

static bool hold(void)
{
	int saved = errno;
	bool held = agent_active() && agent_fds_hold();

	errno = saved;
	return held;
}

AGENT_API int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	bool held = hold();
	int result = REAL(posix_spawn)(pid, path, actions, attr, argv, envp);

	agent_fds_let(held);
	return result;
}

AGENT_API int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	bool held = hold();
	int result = REAL(posix_spawnp)(pid, file, actions, attr, argv, envp);

	agent_fds_let(held);
	return result;
}

AGENT_API FILE *popen(const char *command, const char *mode)
{
	bool held = hold();
	FILE *result = REAL(popen)(command, mode);
	int saved = errno;

	agent_fds_let(held);
	errno = saved;
	return result;
}

AGENT_API int system(const char *command)
{
	/* It waits for the whole command: windows are kept shut only while the child starts. */
	if (agent_active())
		agent_fds_quiet();
	agent_fds_let(hold());
	return REAL(system)(command);
}
