/* SPDX-License-Identifier: MIT */
/* throwaway_clone.h - a clone for work that may die, or needs a stack or limits of its own. */
#pragma once

#include <stddef.h>

/* Runs work(arg) on the given stack in a clone that shares memory only, while the caller waits with
 * all signals blocked. The host's SIGCHLD handler and wait() do not see it. Returns 1 if the work
 * returned, 0 if the clone died, -1 if there could be no clone. Async-signal-safe. */
int agent_throwaway_clone(void (*work)(void *), void *arg, void *stack, size_t stack_bytes);
