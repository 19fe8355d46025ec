/* SPDX-License-Identifier: MIT */
/* agent.c - defines the state of agent.h. */
#include "agent/base/agent.h"

#include <sched.h>

struct agent agent;
AGENT_API struct pmc_control pmc_agent_control;
struct registry agent_registry;
__thread struct slot *agent_self;

void agent_final_wait(void)
{
	uint64_t start = pmc_now_ns();

	while (pmc_agent_control.state == PMC_CONTROL_DONE && !atomic_load(&agent.final_written) &&
	       pmc_now_ns() - start < 2000000000u)
		sched_yield();
}
