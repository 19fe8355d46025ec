/* SPDX-License-Identifier: MIT */
/* agent.c - finds the agent and sets the environment that makes programs load it. */
#include "tools/cli/pmctl.h"
#include "tools/run/child.h"

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
	if (strpbrk(resolved, run_preload.separators))
		return tool_fail(EXIT_OURS,
				 "cannot use the agent %s: %s cannot name a path with a %s; copy "
				 "it elsewhere and add --agent FILE",
				 resolved, run_preload.variable, run_preload.separator_names);
	strcpy(run->agent, resolved);
	return 0;
}

int run_find_agent(struct run *run)
{
	char dir[PATH_MAX];

	if (run->agent[0] || tool_find_agent(dir, run->agent))
		return check_path(run);
	return tool_fail(EXIT_OURS,
			 "cannot find the agent: no %s in %s or %s/../lib/pmc; add --agent FILE",
			 run_preload.library, dir, dir);
}

/* Puts a value in front of a variable whose values are separated by colons. */
static int prepend(const char *name, const char *value)
{
	const char *old = getenv(name);
	char *text;
	int result;

	if (!old || !*old)
		return setenv(name, value, 1);
	if (asprintf(&text, "%s:%s", value, old) < 0)
		return -1;
	result = setenv(name, text, 1);
	free(text);
	return result;
}

static bool is_first_preload(const char *agent)
{
	const char *old = getenv(run_preload.variable);
	size_t len = strlen(agent);

	return old && strncmp(old, agent, len) == 0 &&
	       (!old[len] || strchr(run_preload.separators, old[len]));
}

int run_set_environment(const struct run *run)
{
	const char *asan = getenv("ASAN_OPTIONS");
	bool failed = false;

	if (run_preload.must_load && program_obstacle(run->program.kind))
		unsetenv(run_preload.variable);
	else if (!is_first_preload(run->agent))
		failed |= prepend(run_preload.variable, run->agent) != 0;
	failed |= setenv("PMC_OUT", run->dump.path, 1) != 0;
	/* pmctl reports the whole tree. */
	failed |= setenv("PMC_REPORT", "off", 1) != 0;
	if (run->program.facts.asan && !(asan && strstr(asan, "verify_asan_link_order")))
		failed |= prepend("ASAN_OPTIONS", "verify_asan_link_order=0") != 0;
	return failed ? tool_fail(EXIT_OURS, "out of memory") : 0;
}
