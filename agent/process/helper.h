/* SPDX-License-Identifier: MIT */
/* helper.h - the one thread of ours, only where PMC_INTERVAL or PMC_DELAY asks for it. */
#ifndef PMC_AGENT_PROCESS_HELPER_H
#define PMC_AGENT_PROCESS_HELPER_H

void agent_helper_start(void);
/* In a forked child, which has no helper but wants the interval too. */
void agent_helper_forked(void);

#endif
