/* SPDX-License-Identifier: MIT */
/* exec_env.c - environments of new program images, with PMC_JOB. Async-signal-safe. */
#include "agent/process/process.h"

static bool is_job(const char *entry)
{
	return strncmp(entry, "PMC_JOB=", 8) == 0;
}

bool exec_env_preloads(char *const *envp)
{
	const char *list = pmc_env(envp, "LD_PRELOAD");

	return list && strstr(list, "pmcagent");
}

static size_t copy_bytes(char *const *envp)
{
	size_t n = 0;

	while (envp[n])
		n++;
	return (n + 2) * sizeof(*envp);
}

/* Copies envp into list (zeroed), with text in place of its PMC_JOB or at the end. */
static char **copy(char *const *envp, char *text, char **list)
{
	size_t at = 0;
	bool placed = false;

	for (size_t i = 0; envp[i]; i++) {
		if (!is_job(envp[i])) {
			list[at++] = envp[i];
		} else if (!placed) {
			list[at++] = text;
			placed = true;
		}
	}
	if (!placed)
		list[at++] = text;
	return list;
}

char *const *exec_env_make(struct exec_env *env, char *const *envp)
{
	bool has_job = false;

	env->bytes = 0;
	for (size_t i = 0; envp && envp[i]; i++)
		has_job |= is_job(envp[i]);
	if (!has_job)
		return envp;
	env->bytes = AGENT_JOB_TEXT + copy_bytes(envp);
	env->map =
		mmap(NULL, env->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (env->map == MAP_FAILED) {
		env->bytes = 0;
		return envp;
	}
	if (!agent_job_text(env->map, true))
		return envp;
	return copy(envp, env->map, (char **)(void *)((char *)env->map + AGENT_JOB_TEXT));
}

void exec_env_free(struct exec_env *env)
{
	if (env->bytes)
		munmap(env->map, env->bytes);
}

char **exec_env_with_job(char **environment, char *job_text)
{
	char **list = pmc_arena_alloc(&agent.arena, copy_bytes(environment));

	return list ? copy(environment, job_text, list) : NULL;
}
