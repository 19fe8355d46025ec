/* SPDX-License-Identifier: MIT */
/*
 * spawn.c - keeps raised descriptor limits out of children that run no hook before their exec.
 * Overrides: posix_spawn posix_spawnp popen system.
 *
 * The child inherits the limit of that moment, so no window (base/fdspace.h) may be open.
 */
#include "agent/base/real.h"
#include "agent/base/agent.h"
#include "agent/base/fdspace.h"
#include "agent/base/fork_guard.h"

#include <stdlib.h>

/* The call, with the result of the given type, while no window is open. */
#define WITHOUT_WINDOWS(type, call)                                                                \
	int saved = errno;                                                                         \
	bool held = agent_active() && agent_fds_hold();                                            \
	errno = saved;                                                                             \
	type result = call;                                                                        \
	saved = errno;                                                                             \
	agent_fds_let(held);                                                                       \
	errno = saved;                                                                             \
	return result

AGENT_API int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	WITHOUT_WINDOWS(int, REAL(posix_spawn)(pid, path, actions, attr, argv, envp));
}

AGENT_API int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	WITHOUT_WINDOWS(int, REAL(posix_spawnp)(pid, file, actions, attr, argv, envp));
}

AGENT_API FILE *popen(const char *command, const char *mode)
{
	WITHOUT_WINDOWS(FILE *, REAL(popen)(command, mode));
}

AGENT_API int system(const char *command)
{
	int saved = errno;

	/* system() waits for the command: windows stay shut only while the child starts. */
	if (agent_active()) {
		agent_fds_quiet();
		agent_fds_let(agent_fds_hold());
	}
	errno = saved;
	return REAL(system)(command);
}
