/* SPDX-License-Identifier: MIT */
/* own_libc.h - what own_libc.c has beside the functions of libc. */
#ifndef PMC_AGENT_BASE_OWN_LIBC_H
#define PMC_AGENT_BASE_OWN_LIBC_H

#include <signal.h>

/* Like sigaction(2), past a sanitizer. */
int agent_sigaction(int signo, const struct sigaction *action, struct sigaction *old);
void agent_sigdefault(int signo); /* sets SIG_DFL */
/* In the constructor: hides the agent's variables from valgrind's race detectors. Its mappings are
 * hidden when they are made. */
void agent_untrack_data(void);

#endif
