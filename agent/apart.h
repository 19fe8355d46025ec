/* SPDX-License-Identifier: MIT */
/* apart.h - work done by a throwaway clone: its death, its stack and its limits are not ours. */
#ifndef PMC_AGENT_APART_H
#define PMC_AGENT_APART_H

#include <stdbool.h>
#include <stddef.h>

/* Runs work(arg) in a clone that shares our memory and nothing else, on the given stack, while
 * the caller waits with all signals blocked. The host's SIGCHLD and wait() never see it. Returns
 * whether it lived to the end. Async-signal-safe. */
bool agent_apart(void (*work)(void *), void *arg, void *stack, size_t stack_bytes);

#endif
