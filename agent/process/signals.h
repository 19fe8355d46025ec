/* SPDX-License-Identifier: MIT */
/*
 * signals.h - the agent's signal handlers, hidden from the host.
 *
 * They are installed only over SIG_DFL. sigaction and its kin (hooks/signal.c) still report
 * SIG_DFL, and a handler of the host's replaces the agent's.
 */
#ifndef PMC_AGENT_PROCESS_SIGNALS_H
#define PMC_AGENT_PROCESS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Installs the handlers for fatal signals and for PMC_DUMP. While single-threaded. */
void agent_signals_init(void);
/* Whether this is one of the agent's handlers. */
bool agent_signal_is_ours(const struct sigaction *action);
/* The action that the host must see in its place. */
void agent_signal_original(int signo, struct sigaction *action);
/* Replaces the agent's handler by SIG_DFL; false if there is none. */
bool agent_signal_forget(int signo);
/* The host has set SIG_DFL: installs the agent's handler again if it had one. */
void agent_signal_restore(int signo);
/* The host has installed a handler of its own. */
void agent_signal_taken(int signo);

#endif
