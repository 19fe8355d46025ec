/* SPDX-License-Identifier: MIT */
/* helper.h - the one thread of ours, only where PMC_INTERVAL or PMC_DELAY asks for it. */
#ifndef PMC_AGENT_PROCESS_HELPER_H
#define PMC_AGENT_PROCESS_HELPER_H

#include <stdint.h>

void agent_helper_start(void);
/* In a forked child, which has no helper but wants the interval too. */
void agent_helper_forked(void);
/* Its tid, which has no row; 0: none. BEGINS: there is one, which has not yet said its tid. */
#define AGENT_HELPER_BEGINS UINT32_MAX
uint32_t agent_helper_tid(void);

#endif
