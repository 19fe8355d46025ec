/* SPDX-License-Identifier: MIT */
/* seccomp.h - calls by which a program may put a seccomp filter on itself. */
#ifndef PMC_AGENT_HOOKS_SECCOMP_H
#define PMC_AGENT_HOOKS_SECCOMP_H

extern long (*agent_libc_syscall)(long, ...);
/* First thing in the constructor: before it no syscall() of the agent's works. */
void agent_syscall_init(void);
/* Makes the host's system call; if it is one that installs a filter, the agent looks first whether
 * it could live with that. Result and errno as syscall(2). */
long agent_filtering_call(long number, const long args[6]);

#endif
