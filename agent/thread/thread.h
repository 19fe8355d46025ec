/* SPDX-License-Identifier: MIT */
/* thread.h - a thread's begin and end, and its row. */
#ifndef PMC_AGENT_THREAD_THREAD_H
#define PMC_AGENT_THREAD_THREAD_H

#include "agent/base/agent.h"
#include "agent/core/dump/frame.h"
#include "agent/core/count/group.h"
#include "agent/core/base/clock.h"
#include "agent/core/live/registry.h"

/* Room for one row at its largest, and for reading its groups. */
enum {
	AGENT_LINE = 64,
	AGENT_ROW_HEAD = sizeof(struct pmc_frame_head) + sizeof(struct pmc_thread_fixed),
	AGENT_ROW_BYTES = AGENT_LINE + AGENT_ROW_HEAD +
			  PMC_EVENTS_MAX * (sizeof(struct pmc_reading) + sizeof(uint64_t)) +
			  PMC_GROUP_WORDS(PMC_EVENTS_MAX) * sizeof(uint64_t),
};

int agent_threads_init(void);
/* A slot for a thread about to be created by the caller. NULL: registry full (noted). */
struct slot *agent_thread_reserve(void);
/* Its plan, and its share of descriptors: the creator, before the thread begins. */
void agent_thread_reserve_groups(struct slot *slot);
/* First thing in a new thread: its groups, its tid, LIVE. */
void agent_thread_begin(struct slot *slot);
void agent_thread_enable(struct slot *slot);
/* The host is about to take this number: the group descriptor there gets another. False: it is
 * none of ours. */
bool agent_thread_move_fd(int fd);
/* Called first by a thread that ends; NULL: nothing is. */
extern void (*_Atomic agent_thread_ending)(void);
/* Last thing: its final row. */
void agent_thread_end(struct slot *slot, enum pmc_thread_state state);
/* The main thread of a process image, or the one that called fork. */
void agent_thread_main(void);

/* What readings of groups said on the way. */
struct agent_groups_seen {
	uint64_t enabled_ns; /* raw time enabled of one of them; 0: none could be read */
	uint64_t waited_ns;  /* the longest raw time enabled of a group that has not run */
	uint64_t first_waited_ns; /* that of the first group */
};

/* The readings of groups into the frame being built, which needs the room of a row behind it.
 * base: as set_base. *reason: why descriptors are -1; set to the first error if it was 0. */
struct agent_groups_seen agent_groups_frame(struct pmc_frame_buf *buf, unsigned groups,
					    const uint16_t *first, const int *fds,
					    const uint64_t *ids, const uint64_t *base,
					    uint32_t *reason);
/* Appends a row to buf. The caller owns the slot or has it pinned.
 * own: the calling thread. usage: of another one; NULL: not known. now: CLOCK_MONOTONIC; 0: it is
 * asked for. */
void agent_row(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot, bool own,
	       const struct pmc_usage *usage, enum pmc_thread_state state, uint64_t now);
/* The event set of a slot's groups: the job's, or that in user mode only. */
uint64_t agent_thread_eventset(const struct slot *slot);

#endif
