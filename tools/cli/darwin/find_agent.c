/* SPDX-License-Identifier: MIT */
/* find_agent.c - finds the agent from where pmctl is. */
#include "tools/cli/pmctl.h"

#include <libgen.h>
#include <mach-o/dyld.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool tool_find_agent(char dir[PATH_MAX], char found[PATH_MAX])
{
	static const char *const places[] = { "", "/../lib/pmc" };
	char path[PATH_MAX], real[PATH_MAX];
	uint32_t room = sizeof(path);

	dir[0] = found[0] = '\0';
	if (_NSGetExecutablePath(path, &room) != 0 || !realpath(path, real))
		return false;
	dirname_r(real, dir);
	for (unsigned i = 0; i < 2; i++)
		if (snprintf(found, PATH_MAX, "%s%s/libpmcagent.dylib", dir, places[i]) <
			    PATH_MAX &&
		    access(found, R_OK) == 0)
			return true;
	found[0] = '\0';
	return false;
}
