/* SPDX-License-Identifier: MIT */
/* find_agent.c - see find_agent.h. */
#include "tools/cli/find_agent.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AGENT_NAME "libpmcagent.so"

int tool_find_agent(char found[PATH_MAX], char tried[2][PATH_MAX + 64])
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	found[0] = tried[0][0] = tried[1][0] = '\0';
	if (n < 0)
		return -errno;
	self[n] = '\0';
	dirname(self);
	snprintf(tried[0], sizeof(tried[0]), "%s/" AGENT_NAME, self);
	snprintf(tried[1], sizeof(tried[1]), "%s/../lib/pmc/" AGENT_NAME, self);
	for (unsigned i = 0; i < 2; i++)
		if (!found[0] && strlen(tried[i]) < PATH_MAX && access(tried[i], R_OK) == 0)
			strcpy(found, tried[i]);
	return found[0] ? 0 : -ENOENT;
}
