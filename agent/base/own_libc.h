/* SPDX-License-Identifier: MIT */
/* own_libc.h - functions of own_libc.c that libc does not have. */
#pragma once

#include <signal.h>
#include <stdbool.h>

/* sigaction(2), not intercepted by sanitizers. */
int agent_sigaction(int signo, const struct sigaction *action, struct sigaction *old);
bool agent_sigdefault(int signo); /* sets SIG_DFL; whether it could */
/* Whether the process runs on another C library than the one that the agent was built for. */
bool agent_libc_is_other(void);
