/* SPDX-License-Identifier: MIT */
/*
 * fdspace.h - the agent's file descriptors: their numbers, their share of the limit, and windows,
 * the moments in which the soft limit is raised to open them (fdspace.c says why).
 */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>

void agent_fds_init(void);
/* Grows the descriptor table while there is one thread: later that stalls all of them. */
void agent_fds_reserve(void);
/* Between these calls no descriptor can be opened. Only while the process has one thread. */
void agent_fds_forbid(void);
void agent_fds_permit(void);

/* Takes n from the agent's share. False: the share is used up. */
bool agent_fds_take(unsigned n);
void agent_fds_give(unsigned n);

/* Opens a window; returns the lowest number for the descriptors opened in it. */
int agent_fds_window_open(void);
void agent_fds_window_close(void);
/* Until agent_fds_let no window is open and the limit is the host's. False: a window did not close
 * within 0.1 s. */
bool agent_fds_hold(void);
void agent_fds_let(bool held);
/* Whether a window or a fork is in progress, perhaps in the code that a signal interrupted. */
bool agent_fds_busy(void);
/* Opens no window for the next 5 ms, in which system() starts its child. */
void agent_fds_quiet(void);
/* The host has set its own limit. While no window is open. */
void agent_fds_limited(rlim_t soft, rlim_t hard);
/* In a vfork child about to exec: drops a limit raised by another thread's window. */
void agent_fds_exec_child(void);

/* Which numbers are the agent's. Lock-free. */
void agent_fds_mark(const int *list, unsigned n);
void agent_fds_unmark(const int *list, unsigned n);
bool agent_fds_ours(int fd);
int agent_fds_highest(void); /* -1: none */
/* Unmarks, closes and gives back, not during a fork: the child would keep copies. */
void agent_fds_close(int *list, unsigned n);
/* Duplicates a descriptor to one of the agent's numbers; -1: there is none. Async-signal-safe. */
int agent_fds_move(int fd);
/* In a forked child: closes the copies of the parent's descriptors, but for `keep` (-1: none). */
void agent_fds_forked(int keep);
