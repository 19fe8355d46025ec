/* SPDX-License-Identifier: MIT */
/* thread.h - the start and the end of a thread, and its row. */
#ifndef PMC_AGENT_THREAD_THREAD_H
#define PMC_AGENT_THREAD_THREAD_H

#include "agent/base/agent.h"
#include "agent/core/dump/frame.h"
#include "agent/thread/groups.h"
#include "agent/core/base/clock.h"
#include "agent/core/live/registry.h"

/* Sizes of the largest row, with scratch space for reading its groups. */
enum {
	AGENT_LINE = 64,
	AGENT_ROW_HEAD = sizeof(struct pmc_frame_head) + sizeof(struct pmc_thread_fixed),
	AGENT_ROW_BYTES = AGENT_LINE + AGENT_ROW_HEAD +
			  PMC_EVENTS_MAX * (sizeof(struct pmc_reading) + sizeof(uint64_t)) +
			  PMC_GROUP_WORDS(PMC_EVENTS_MAX) * sizeof(uint64_t),
};

int agent_threads_init(void);
/* A slot for a thread that the caller is about to create. NULL: the registry is full (noted). */
struct slot *agent_thread_reserve(void);
/* Takes descriptors for its groups; called by the creator. */
void agent_thread_reserve_groups(struct slot *slot);
/* First thing in a new thread: fills the slot, opens and enables the groups. */
void agent_thread_begin(struct slot *slot);
void agent_thread_enable(struct slot *slot);
/* Moves a group descriptor to another number because the host is about to use this one. False: it
 * is not a group of ours. */
bool agent_thread_move_fd(int fd);
/* Called first by a thread that ends; NULL: nothing is. */
extern void (*_Atomic agent_thread_ending)(void);
/* Last thing in a thread: its final row. */
void agent_thread_end(struct slot *slot, enum pmc_thread_state state);
/* The main thread of a process image, or the one that called fork. */
void agent_thread_main(void);

/* Appends a row to buf. The caller owns the slot or has it pinned. own: the slot is the calling
 * thread's. usage: of another thread; NULL: unknown. */
void agent_row(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot, bool own,
	       const struct pmc_usage *usage, enum pmc_thread_state state);
/* The hash of the event set of a slot's groups: the job's, or the user-mode one. */
uint64_t agent_thread_eventset(const struct slot *slot);

#endif
