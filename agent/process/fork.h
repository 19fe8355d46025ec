/* SPDX-License-Identifier: MIT */
/* fork.h - forked children. */
#ifndef PMC_AGENT_PROCESS_FORK_H
#define PMC_AGENT_PROCESS_FORK_H

/* While single-threaded. 0 or -errno. */
int agent_fork_init(void);

#endif
