/* SPDX-License-Identifier: MIT */
/* hooks.h - what the files that interpose libc functions share. Private to this folder. */
#pragma once

#include "agent/base/real.h"
#include "agent/process/process.h"

/* In the first thread of Go code: starts ticks if the program did not begin in __libc_start_main,
 * which does that for others. */
void agent_without_main(void);

/* The hooks of close, close_range, dup2 and dup3, for callers inside the agent. agent_host_dup:
 * moves the agent's descriptor out of the way; false, with errno: `from` is the agent's. */
int agent_host_close(int fd);
int agent_host_close_range(unsigned first, unsigned last, int flags);
bool agent_host_dup(int from, int to);

/* First in the constructor: before it no syscall() of the agent's works. */
void agent_syscall_init(void);
/* Makes the host's system call. If it installs a seccomp filter, the agent first tries whether it
 * survives under that filter. prctl: the function for the call; NULL: syscall(2). Result and errno
 * as of syscall(2). */
long agent_filtering_call(long number, const long args[6], int (*prctl)(int, ...));
/* The host has named the calling thread. */
void agent_name_given(const char *name);
