/* SPDX-License-Identifier: MIT */
/* totals.h - frames of the inherit groups. */
#ifndef PMC_AGENT_TOTALS_H
#define PMC_AGENT_TOTALS_H

#include "agent/core/frame.h"

/* Starts the thread group; the exec group starts by itself. */
void agent_totals_enable(void);
/* Where an inherit group keeps this descriptor; NULL: it has none such. */
int *agent_totals_find(int fd);
/* A TOTAL frame for each group that is open, and the event set they use if it is their own. */
void agent_totals_frames(struct pmc_frame_buf *buf, uint64_t snapshot);

#endif
