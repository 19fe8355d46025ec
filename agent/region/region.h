/* SPDX-License-Identifier: MIT */
/* region.h - marked regions (pmc/region.h) of the threads of this process. Async-signal-safe. */
#pragma once

#include "agent/thread/thread.h"

/* In the thread that ends the process: closes its open regions, notes those of other threads. */
void agent_regions_last(void);
/* Whether the slot's thread has marked a region. */
bool agent_region_has(struct slot *slot);
/* Appends the frame of the next record, from *index on, of a live thread's slot. buf has
 * REGION_FRAME_BYTES of room. False: there are no more. */
bool agent_region_next(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot,
		       uint32_t *index);
/* Around an exec that may fail: ends the caller's open regions, and enters them again. */
void agent_regions_before_exec(void);
void agent_regions_exec_failed(void);
/* In a forked child, after its thread has a slot: starts the open regions at the fork. */
void agent_regions_forked(void);
