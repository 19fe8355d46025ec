/* SPDX-License-Identifier: MIT */
/* inherit_groups.h - inherit groups and uncore events: opened at the start, framed as TOTAL. */
#ifndef PMC_AGENT_THREAD_INHERIT_GROUPS_H
#define PMC_AGENT_THREAD_INHERIT_GROUPS_H

#include "agent/core/live/control.h"
#include "agent/core/dump/frame.h"

/* Opens all of them, as PMC_INHERIT says; called while the process is single-threaded. */
void agent_inherit_open(void);
/* Enables the thread group and uncore events; the exec group enables itself. */
void agent_inherit_enable(void);
/* Where one of these groups keeps this descriptor; NULL: it is none of theirs. */
int *agent_inherit_find(int fd);
/* Appends a TOTAL frame for each open group, and the event sets that only they use. */
void agent_inherit_frames(struct pmc_frame_buf *buf, uint64_t snapshot);
void agent_total_frame(struct pmc_frame_buf *buf, const struct pmc_control_totals *totals,
		       enum pmc_total_kind kind, uint64_t snapshot);
/* In a forked child. */
void agent_inherit_forked(void);

/* ---- uncore.c ---- */
void agent_uncore_open(void);
void agent_uncore_frames(struct pmc_frame_buf *buf, uint64_t snapshot);
void agent_uncore_forked(void);

#endif
