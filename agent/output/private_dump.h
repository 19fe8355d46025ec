/* SPDX-License-Identifier: MIT */
/*
 * private_dump.h - the dump of a job without PMC_OUT, which its first process removes.
 *
 * Its name says whose it is: pmc-JOB-PID-NAMESPACE.job, PID the first process and NAMESPACE the
 * inode of its pid namespace. Nothing else is removed, whatever PMC_JOB says.
 */
#pragma once

#include <stdbool.h>

/* The path of this job's, in the first writable of $TMPDIR, /tmp, /var/tmp and /dev/shm; in the
 * arena. NULL: no memory. */
const char *agent_private_path(char *const *envp);
/* Whether the path ends in the name of this job's. */
bool agent_private_is_ours(const char *path);
/* Removes this job's. False: there is none. Async-signal-safe. */
bool agent_private_remove(const char *path);
/* Removes those of this user whose first process was killed, in the directory of the path. */
void agent_private_sweep(const char *path);
