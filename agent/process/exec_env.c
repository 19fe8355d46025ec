/* SPDX-License-Identifier: MIT */
/* exec_env.c - environments of new program images, with PMC_JOB. Async-signal-safe. */
#include "agent/process/process.h"

bool exec_env_preloads(char *const *envp)
{
	const char *list = pmc_env(envp, "LD_PRELOAD");

	return list && strstr(list, "pmcagent");
}

char *const *exec_env_make(struct exec_env *env, char *const *envp)
{
	bool has_job = false;
	size_t n = 0;

	env->bytes = 0;
	for (; envp && envp[n]; n++)
		has_job |= agent_env_is_job(envp[n]);
	if (!has_job)
		return envp;
	env->bytes = AGENT_JOB_TEXT + (n + 2) * sizeof(*envp);
	env->map =
		mmap(NULL, env->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (env->map == MAP_FAILED) {
		env->bytes = 0;
		return envp;
	}
	if (!agent_job_text(env->map, true))
		return envp;
	return agent_env_copy((char **)(void *)((char *)env->map + AGENT_JOB_TEXT), envp, env->map);
}

void exec_env_free(struct exec_env *env)
{
	if (env->bytes)
		munmap(env->map, env->bytes);
}
