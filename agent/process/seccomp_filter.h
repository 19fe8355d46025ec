/* SPDX-License-Identifier: MIT */
/* seccomp_filter.h - seccomp filters that the host installs on itself. */
#ifndef PMC_AGENT_PROCESS_SECCOMP_FILTER_H
#define PMC_AGENT_PROCESS_SECCOMP_FILTER_H

/* The host is about to install a filter by this system call. If the filter kills for what the agent
 * does at the end of a thread or of the process, everything is written now and the agent does
 * nothing from here on. */
void agent_before_filter(long number, const long args[6]);

#endif
