/* SPDX-License-Identifier: MIT */
/* fork_guard.c - on macOS handlers of pthread_atfork see each child with memory of its own; see
 * fork_guard.h. */
#include "agent/base/fork_guard.h"
#include "agent/base/agent.h"

#include <unistd.h>

bool agent_active(void)
{
	return atomic_load(&pmc_agent_control.state) == PMC_CONTROL_ON && getpid() == agent.pid;
}
