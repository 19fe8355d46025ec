/* SPDX-License-Identifier: MIT */
/* split.h - the plan of a thread: the job's, or one of smaller groups; with its user-mode twin. */
#ifndef PMC_AGENT_SPLIT_H
#define PMC_AGENT_SPLIT_H

#include "agent/core/frame.h"
#include "agent/core/plan.h"
#include "agent/core/registry.h"

/* The most groups that a thread may have; descriptors are as many as ever. */
unsigned agent_split_most_groups(void);
/* For a thread that begins: which plan it has, made if it is the first. */
void agent_split_choose(struct slot *slot);
const struct pmc_plan *agent_split_plan(const struct slot *slot);
/* The same in user mode only; nothing in it: there is none. */
const struct pmc_plan *agent_split_user_plan(const struct slot *slot);
const uint16_t *agent_split_first(const struct slot *slot);
uint64_t agent_split_eventset(const struct slot *slot);
/* The event set of a plan that its thread could not open but in user mode, into the dump. */
void agent_split_user_frame(const struct slot *slot);

/* Looks at the readings of a row, its last or not: a group that was enabled for long and never ran
 * makes the plan of later threads smaller. Async-signal-safe. */
void agent_split_look(const struct slot *slot, const uint8_t *readings, size_t len, bool last);
/* The event sets of smaller plans that are in use. Async-signal-safe. */
void agent_split_frames(struct pmc_frame_buf *buf);
/* In a forked child: its dump may be another. */
void agent_split_forked(void);

#endif
