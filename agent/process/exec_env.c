/* SPDX-License-Identifier: MIT */
/* exec_env.c - see exec_env.h. Async-signal-safe. */
#include "agent/process/exec_env.h"
#include "agent/base/agent.h"
#include "agent/output/process_frames.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

static bool is_job(const char *entry)
{
	return strncmp(entry, "PMC_JOB=", 8) == 0;
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

	if (!list)
		return NULL;
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
	void *map;

	memset(env, 0, sizeof(*env));
	for (size_t i = 0; envp && envp[i]; i++)
		has_job |= is_job(envp[i]);
	if (!has_job)
		return envp;
	env->text = agent_job_text();
	if (!env->text)
		return envp;
	env->list_bytes = copy_bytes(envp);
	map = mmap(NULL, env->list_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0);
	env->list = copy(envp, env->text, map != MAP_FAILED ? map : NULL);
	return env->list ? env->list : envp;
}

void exec_env_free(struct exec_env *env)
{
	if (env->list)
		munmap(env->list, env->list_bytes);
	if (env->text)
		agent_job_text_free(env->text);
}

char **exec_env_with_job(char **environment, char *job_text)
{
	return copy(environment, job_text, pmc_arena_alloc(&agent.arena, copy_bytes(environment)));
}
