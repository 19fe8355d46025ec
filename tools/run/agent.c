/* SPDX-License-Identifier: MIT */
/* agent.c - finds the agent and sets the environment that makes programs load it. */
#include "tools/cli/pmctl.h"
#include "tools/run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int check_path(struct run *run)
{
	char resolved[PATH_MAX];

	if (!realpath(run->agent, resolved))
		return tool_fail(EXIT_OURS, "cannot use the agent %s: %s", run->agent,
				 strerror(errno));
	if (strpbrk(resolved, " :\t\n"))
		return tool_fail(EXIT_OURS,
				 "cannot use the agent %s: LD_PRELOAD cannot name a path with a "
				 "space or colon; copy it elsewhere and add --agent FILE",
				 resolved);
	strcpy(run->agent, resolved);
	return 0;
}

int run_find_agent(struct run *run)
{
	char dir[PATH_MAX];

	if (run->agent[0] || tool_find_agent(dir, run->agent))
		return check_path(run);
	return tool_fail(EXIT_OURS,
			 "cannot find the agent: no libpmcagent.so in %s or %s/../lib/pmc; add "
			 "--agent FILE",
			 dir, dir);
}

/* Puts a value in front of a list-valued variable. */
static int prepend(const char *name, const char *value, char separator)
{
	const char *old = getenv(name);
	char *text;
	int result;

	if (!old || !*old)
		return setenv(name, value, 1);
	if (asprintf(&text, "%s%c%s", value, separator, old) < 0)
		return -1;
	result = setenv(name, text, 1);
	free(text);
	return result;
}

static bool is_first_preload(const char *agent)
{
	const char *old = getenv("LD_PRELOAD");
	size_t len = strlen(agent);

	return old && strncmp(old, agent, len) == 0 && (!old[len] || strchr(" :", old[len]));
}

int run_set_environment(const struct run *run)
{
	const char *asan = getenv("ASAN_OPTIONS");
	bool failed = false;

	if (!is_first_preload(run->agent))
		failed |= prepend("LD_PRELOAD", run->agent, ':') != 0;
	failed |= setenv("PMC_OUT", run->dump.path, 1) != 0;
	/* pmctl reports the whole tree. */
	failed |= setenv("PMC_REPORT", "off", 1) != 0;
	if (run->program.facts.asan && !(asan && strstr(asan, "verify_asan_link_order")))
		failed |= prepend("ASAN_OPTIONS", "verify_asan_link_order=0", ':') != 0;
	return failed ? tool_fail(EXIT_OURS, "out of memory") : 0;
}
