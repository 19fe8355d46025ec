/* SPDX-License-Identifier: MIT */
/* find_agent.c - finds the agent, and pmc-spawn, from where pmctl is. */
#include "tools/cli/pmctl.h"

#include <libgen.h>
#include <stdio.h>
#include <unistd.h>

bool tool_find_beside(const char *file, int mode, char dir[PATH_MAX], char found[PATH_MAX])
{
	static const char *const places[] = { "", "/../lib/pmc" };
	ssize_t n = readlink("/proc/self/exe", dir, PATH_MAX - 1);

	dir[n > 0 ? n : 0] = '\0';
	dirname(dir);
	for (unsigned i = 0; i < 2; i++)
		if (snprintf(found, PATH_MAX, "%s%s/%s", dir, places[i], file) < PATH_MAX &&
		    access(found, mode) == 0)
			return true;
	found[0] = '\0';
	return false;
}

bool tool_find_agent(char dir[PATH_MAX], char found[PATH_MAX])
{
	return tool_find_beside("libpmcagent.so", R_OK, dir, found);
}
