/* SPDX-License-Identifier: MIT */
/* start.h - the agent's start in a process image. */
#ifndef PMC_AGENT_PROCESS_START_H
#define PMC_AGENT_PROCESS_START_H

/* In the constructor. Sets pmc_agent_control.state to PMC_CONTROL_ON unless the agent is to stay
 * dormant here. */
void agent_start(int argc, char **argv, char **envp);

#endif
