/* SPDX-License-Identifier: MIT */
/* exec_env.h - the environment of an exec: PMC_JOB says what this image already reported. */
#ifndef PMC_AGENT_PROCESS_EXEC_ENV_H
#define PMC_AGENT_PROCESS_EXEC_ENV_H

#include <stddef.h>

struct exec_env {
	char **list;
	size_t list_bytes;
	char *text;
};

/* A copy of envp with PMC_JOB renewed; envp itself if it has none or there is no memory. */
char *const *exec_env_make(struct exec_env *env, char *const *envp);
/* After an exec that failed. */
void exec_env_free(struct exec_env *env);

/* The program's environment with PMC_JOB in it, in memory of ours. NULL without memory. */
char **exec_env_with_job(char **environment, char *job_text);

#endif
