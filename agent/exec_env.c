/* SPDX-License-Identifier: MIT */
/* exec_env.c - environment arrays in mapped memory; see exec_env.h. Async-signal-safe. */
#include "agent/exec_env.h"
#include "agent/process.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

static bool is_job(const char *entry)
{
	return strncmp(entry, "PMC_JOB=", 8) == 0;
}

/* A copy of envp with `text` for its PMC_JOB, or at its end if it has none. */
static char **copy(char *const *envp, char *text, size_t *bytes)
{
	size_t n = 0, at = 0;
	bool placed = false;
	char **list;

	while (envp[n])
		n++;
	*bytes = (n + 2) * sizeof(*list);
	list = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (list == MAP_FAILED)
		return NULL;
	for (size_t i = 0; i < n; i++) {
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

	memset(env, 0, sizeof(*env));
	for (size_t i = 0; envp && envp[i]; i++)
		has_job |= is_job(envp[i]);
	if (!has_job)
		return envp;
	env->text = agent_job_text(true);
	if (!env->text)
		return envp;
	env->list = copy(envp, env->text, &env->list_bytes);
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
	size_t bytes;

	return copy(environment, job_text, &bytes);
}
