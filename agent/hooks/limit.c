/* SPDX-License-Identifier: MIT */
/*
 * limit.c - keeps the host's descriptor limit apart from raised ones. Overrides: getrlimit
 * getrlimit64 setrlimit setrlimit64 prlimit prlimit64 posix_spawn posix_spawnp popen system.
 *
 * While a thread opens its groups the soft limit is raised for a moment; the host must neither see
 * nor change it then, nor start a child that would inherit it. Calls for other limits are
 * forwarded.
 */
#include "agent/hooks/hooks.h"

#include <stdlib.h>

/* On 64-bit systems struct rlimit is struct rlimit64, and the calls are the same. */
_Static_assert(sizeof(rlim_t) == 8, "rlim_t has 64 bits");

static int limit(int pid, unsigned resource, const struct rlimit *new, struct rlimit *old)
{
	bool ours = resource == RLIMIT_NOFILE && (pid == 0 || pid == agent.pid) && agent_active();
	bool held = ours && agent_fds_hold();
	long result = syscall(SYS_prlimit64, pid, resource, new, old);
	int saved = errno;

	if (held && new &&result == 0)
		agent_fds_limited(new->rlim_cur, new->rlim_max);
	agent_fds_let(held);
	errno = saved;
	return (int)result;
}

#ifdef __GLIBC__
#define RESOURCE __rlimit_resource_t
#else
#define RESOURCE int
#endif

AGENT_API int getrlimit(RESOURCE resource, struct rlimit *rlimit)
{
	return limit(0, (unsigned)resource, NULL, rlimit);
}

AGENT_API int setrlimit(RESOURCE resource, const struct rlimit *rlimit)
{
	return limit(0, (unsigned)resource, rlimit, NULL);
}

AGENT_API int prlimit(pid_t pid, RESOURCE resource, const struct rlimit *new, struct rlimit *old)
{
	return limit(pid, (unsigned)resource, new, old);
}

#ifdef __GLIBC__
AGENT_API int getrlimit64(RESOURCE resource, struct rlimit64 *rlimit)
{
	return limit(0, (unsigned)resource, NULL, (struct rlimit *)(void *)rlimit);
}

AGENT_API int setrlimit64(RESOURCE resource, const struct rlimit64 *rlimit)
{
	return limit(0, (unsigned)resource, (const struct rlimit *)(const void *)rlimit, NULL);
}

AGENT_API int prlimit64(pid_t pid, RESOURCE resource, const struct rlimit64 *new,
			struct rlimit64 *old)
{
	return limit(pid, (unsigned)resource, (const struct rlimit *)(const void *)new,
		     (struct rlimit *)(void *)old);
}
#endif

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
