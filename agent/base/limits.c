/* SPDX-License-Identifier: MIT */
/* limits.c - how much memory the agent may map beside a program with small limits. */
#include "agent/base/agent.h"

#include "agent/base/poison.h"

/* Untouched pages of a private mapping count against both. */
bool agent_crowds_out(size_t bytes, unsigned share)
{
	static const int limits[] = { RLIMIT_AS, RLIMIT_DATA };
	struct rlimit now;

	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (syscall(SYS_prlimit64, 0, limits[i], NULL, &now) == 0 &&
		    now.rlim_cur != RLIM_INFINITY && bytes > now.rlim_cur / share)
			return true;
	return false;
}
