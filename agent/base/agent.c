/* SPDX-License-Identifier: MIT */
/* agent.c - defines the state of agent.h. */
#include "agent/base/agent.h"

struct agent agent;
AGENT_API struct pmc_control pmc_agent_control;
struct registry agent_registry;
