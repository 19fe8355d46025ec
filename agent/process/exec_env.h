/* SPDX-License-Identifier: MIT */
/* exec_env.h - environments with PMC_JOB. For an exec it carries what this image has reported. */
#ifndef PMC_AGENT_PROCESS_EXEC_ENV_H
#define PMC_AGENT_PROCESS_EXEC_ENV_H

#include <stdbool.h>
#include <stddef.h>

struct exec_env {
	bool active; /* the rows are written */
	void *map;   /* PMC_JOB, then the list */
	size_t bytes;
};

/* A copy of envp with a new PMC_JOB; envp itself if it has none or there is no memory. */
char *const *exec_env_make(struct exec_env *env, char *const *envp);
/* After an exec that failed. */
void exec_env_free(struct exec_env *env);

/* A copy of the environment with PMC_JOB, in the arena. NULL without memory. */
char **exec_env_with_job(char **environment, char *job_text);

#endif
