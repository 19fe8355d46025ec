/* SPDX-License-Identifier: MIT */
/*
 * mac_signals.h - signals on macOS: last rows at a fatal one, a snapshot at the one of PMC_DUMP.
 *
 * Implemented in darwin/signals.c. Handlers are installed only where the program has none, and are
 * invisible to it.
 */
#pragma once

#include <signal.h>

typedef void mac_handler(int signo);

/* In place of sigaction(2) and signal(3): SIG_DFL stands for a handler of the agent. */
int mac_sigaction(int signo, const struct sigaction *action, struct sigaction *old);
mac_handler *mac_signal(int signo, mac_handler *handler);
