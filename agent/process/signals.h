/* SPDX-License-Identifier: MIT */
/*
 * signals.h - the agent's own signal handlers, invisible to the host.
 *
 * They stand only where the host has SIG_DFL. sigaction and its kin (hooks/signal.c) keep saying
 * SIG_DFL, and a handler the host installs replaces ours.
 */
#ifndef PMC_AGENT_PROCESS_SIGNALS_H
#define PMC_AGENT_PROCESS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Installs the handlers for fatal signals and for PMC_DUMP. While single-threaded. */
void agent_signals_init(void);
/* Whether this handler is one of ours. */
bool agent_signal_is_ours(const struct sigaction *action);
/* What the host is to see in its place. */
void agent_signal_original(int signo, struct sigaction *action);
/* If ours stands for the signal: puts SIG_DFL there and returns true. */
bool agent_signal_forget(int signo);
/* The host set the signal to SIG_DFL: ours takes the place again if it had one. */
void agent_signal_restore(int signo);
/* The host has installed a handler of its own for the signal. */
void agent_signal_taken(int signo);

#endif
