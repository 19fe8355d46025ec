/* SPDX-License-Identifier: MIT */
/*
 * pending_frames.h - frames kept in memory, to be written together later.
 *
 * Private to this folder.
 *
 * Async-signal-safe: any thread puts at any time; one at a time takes.
 */
#ifndef PMC_AGENT_OUTPUT_PENDING_FRAMES_H
#define PMC_AGENT_OUTPUT_PENDING_FRAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Keeps a copy. False: there is no room, or another thread is here; the caller writes the frames
 * itself. */
bool pending_put(const void *frames, size_t len);
/* All frames put so far, valid until pending_done; until then pending_put refuses further frames.
 * len 0: there are none, or another thread has taken them. Gives up at once in a signal handler
 * that interrupted a put or a take. */
const void *pending_take(size_t *len);
/* The same, also in a signal handler that interrupted a put or a take of its thread, which does not
 * go on. */
const void *pending_take_last(size_t *len);
/* After a take: makes room again. In a forked child: drops what is the parent's. */
void pending_done(void);

#endif
