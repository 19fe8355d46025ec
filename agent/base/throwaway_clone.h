/* SPDX-License-Identifier: MIT */
/* throwaway_clone.h - work done by a throwaway clone: its death, its stack and its limits are not
 * ours. */
#ifndef PMC_AGENT_BASE_THROWAWAY_CLONE_H
#define PMC_AGENT_BASE_THROWAWAY_CLONE_H

#include <stddef.h>

/* Runs work(arg) in a clone that shares our memory and nothing else, on the given stack, while
 * the caller waits with all signals blocked. The host's SIGCHLD and wait() never see it. Returns
 * 1 if it lived to the end, 0 if it died, -1 if there could be no clone. Async-signal-safe. */
int agent_apart(void (*work)(void *), void *arg, void *stack, size_t stack_bytes);

#endif
