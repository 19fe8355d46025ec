/* SPDX-License-Identifier: MIT */
/* find_agent.h - the installed agent. */
#ifndef PMC_TOOLS_CLI_FIND_AGENT_H
#define PMC_TOOLS_CLI_FIND_AGENT_H

#include <limits.h>

/* Looks for the agent beside pmctl and in ../lib/pmc/; found is "" if there is none. 0 or -errno:
 * -ENOENT, or that of reading /proc/self/exe, and then tried is "" too. */
int tool_find_agent(char found[PATH_MAX], char tried[2][PATH_MAX + 64]);

#endif
