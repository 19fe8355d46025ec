/* SPDX-License-Identifier: MIT */
/* helper.h - the agent's one thread, only with PMC_INTERVAL or PMC_DELAY. */
#ifndef PMC_AGENT_PROCESS_HELPER_H
#define PMC_AGENT_PROCESS_HELPER_H

void agent_helper_start(void);
/* In a forked child: starts another one for PMC_INTERVAL. */
void agent_helper_forked(void);

#endif
