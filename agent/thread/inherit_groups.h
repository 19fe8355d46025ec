/* SPDX-License-Identifier: MIT */
/* inherit_groups.h - frames of what is counted beside the threads: inherit groups, the whole
 * machine. */
#ifndef PMC_AGENT_THREAD_INHERIT_GROUPS_H
#define PMC_AGENT_THREAD_INHERIT_GROUPS_H

#include "agent/core/live/control.h"
#include "agent/core/dump/frame.h"

void agent_totals_open(void);
void agent_totals_forget(void); /* in a forked child */
/* Starts the thread group and what counts for the machine; the exec group starts by itself. */
void agent_totals_enable(void);
/* Where one of these groups keeps this descriptor; NULL: it has none such. */
int *agent_totals_find(int fd);
/* A TOTAL frame for each group that is open, and the event set they use if it is their own. */
void agent_totals_frames(struct pmc_frame_buf *buf, uint64_t snapshot);
void agent_total_frame(struct pmc_frame_buf *buf, const struct pmc_control_totals *totals,
		       enum pmc_total_kind kind, uint64_t snapshot);

/* ---- uncore.c ---- */
void agent_uncore_open(void);
void agent_uncore_enable(void);
void agent_uncore_frames(struct pmc_frame_buf *buf, uint64_t snapshot);
void agent_uncore_forget(void);

#endif
