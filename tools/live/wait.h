/* SPDX-License-Identifier: MIT */
/* wait.h - waiting between two readings: for the time, a signal, input, or the end of a command. */
#pragma once

#include "tools/cli/pmctl.h"

#include <stdint.h>

struct live_wait {
	int input; /* a descriptor; -1: none */
	struct tool_child *child;
	bool forward; /* signals are for the command; else they end the watching */
	int signals;  /* a descriptor */
	sigset_t was; /* the mask before */
};

enum live_event { LIVE_TIME, LIVE_INPUT, LIVE_RESIZED, LIVE_STOP, LIVE_ENDED };

/* Blocks SIGCHLD and those of the list, up to a 0, that are not ignored: a blocked signal would be
 * pending even then. Without a command also SIGINT if it is ignored, as it is in the background of
 * scripts, which end a recording by it. */
void live_wait_begin(struct live_wait *wait, const int *signals);
void live_wait_end(struct live_wait *wait);
/* until_ns 0: without end. LIVE_ENDED: the command has ended, or a signal ends the watching. */
enum live_event live_wait(const struct live_wait *wait, uint64_t until_ns);
/* Waits for the end of a child, and sends it the signals that would end pmctl, but for those of the
 * terminal, which it has got, too. */
void live_wait_child(struct tool_child *child);
