/* SPDX-License-Identifier: MIT */
/*
 * pending_frames.h - frames that may wait in memory before they are written together.
 *
 * Lock-free: any thread puts at any time, nobody waits for another. One writer at a time takes.
 */
#ifndef PMC_AGENT_OUTPUT_PENDING_FRAMES_H
#define PMC_AGENT_OUTPUT_PENDING_FRAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Keeps a copy. False: there is no room (or no memory): the caller writes his by himself. */
bool backlog_put(const void *frames, size_t len);
/* All that was put, complete, if nobody is just putting and nobody else has taken it; len 0:
 * nothing to take now. Valid until backlog_done, which makes room again. */
const void *backlog_take(size_t *len);
/* The same, but lets threads that are just putting finish first (for a moment, not for ever). */
const void *backlog_take_all(size_t *len);
void backlog_done(void);
/* In a forked child: what waits is the parent's. */
void backlog_forget(void);

#endif
