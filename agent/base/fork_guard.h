/* SPDX-License-Identifier: MIT */
/* fork_guard.h - tells a forked child from a vfork child from the process itself. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* In a page with MADV_WIPEONFORK: reads 0 in a forked child that has not become a process of its
 * own yet. */
extern _Atomic uint32_t *agent_alive;

/* become_process is called once in each forked child. 0 or -errno. */
int agent_fork_guard_init(void (*become_process)(void));
/* Whether hooks may act: the agent is on, and this is no vfork child. A forked child found here
 * (_Fork, raw clone) becomes a process of its own first. */
bool agent_active(void);
/* The same without the system call that detects a vfork child, for functions that a vfork child may
 * not call. */
bool agent_active_unless_vfork(void);
