/* SPDX-License-Identifier: MIT */
/* split.h - the plan of a thread: the job's, or one of smaller groups; with its user-mode twin. */
#ifndef PMC_AGENT_THREAD_SPLIT_H
#define PMC_AGENT_THREAD_SPLIT_H

#include "agent/core/dump/frame.h"
#include "agent/core/plan/plan.h"
#include "agent/core/live/registry.h"

/* ---- split.c: plans, by level; 0 is the job's ---- */
/* The most groups that a thread may have; descriptors are as many as ever. */
unsigned agent_split_most_groups(void);
/* For a thread that is created: which level it has. */
void agent_split_choose(struct slot *slot);
/* The highest level that is wanted; one more, if it is just below. False: others were first. */
unsigned agent_split_wanted(void);
bool agent_split_want(unsigned level);
/* The highest level that there is, made now if it is wanted. */
unsigned agent_split_ready(void);
const struct pmc_plan *agent_split_plan(unsigned level);
/* The same in user mode only; nothing in it: there is none. */
const struct pmc_plan *agent_split_user_plan(unsigned level);
const uint16_t *agent_split_first(unsigned level);
/* Which events of the level below those of a level are. */
const uint16_t *agent_split_from(unsigned level);
uint64_t agent_split_eventset(const struct slot *slot, unsigned level);
/* The event set of a plan that its thread could not open but in user mode, into the dump. */
void agent_split_user_frame(unsigned level);
/* The event sets of smaller plans that are in use. Async-signal-safe. */
void agent_split_frames(struct pmc_frame_buf *buf);
/* In a forked child: its dump may be another. */
void agent_split_forked(void);

/* ---- split_look.c: async-signal-safe ---- */
/* Looks at the readings of a row, its last or not, of the groups that its thread was born with: one
 * that was enabled for long and never ran makes the plan of later threads smaller. */
void agent_split_look(const struct slot *slot, unsigned level, const uint8_t *readings, size_t len,
		      bool last);
/* Around a snapshot. False: nothing can be split, or another snapshot is at it. */
bool agent_split_begin(void);
void agent_split_end(void);
/* Between the two: looks at a row of a slot that the caller has pinned. A group that has not run
 * for long since the look before, or ever, gives the thread smaller ones. */
void agent_split_live(struct slot *slot, unsigned level, const uint8_t *readings, size_t len);
void agent_split_look_forked(void);

/* ---- split_move.c: async-signal-safe ---- */
/* Gives a slot's thread the groups of the next level, which is there. The caller has the slot
 * pinned and is the only one. It may stay as it is. */
void agent_split_move(struct slot *slot, struct slot_more *more, unsigned level);
/* The calling thread keeps the groups that it has from here on. False: they are changing. */
bool agent_split_keep(struct slot *slot);

#endif
