/* SPDX-License-Identifier: MIT */
/* cmd_run.c - pmctl run: runs a command under the agent and reports its process tree. */
#include "tools/cli/child.h"
#include "tools/cli/pmctl.h"
#include "tools/run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the agent and the environment ---------------------------------------------------------- */

static int run_find_agent(struct run *run)
{
	const char *agent = run->agent_flag;
	char dir[PATH_MAX], found[PATH_MAX];

	if (!agent && tool_find_agent(dir, found))
		agent = found;
	if (!agent)
		return tool_fail(
			EXIT_OURS,
			"cannot find the agent: no %s in %s or %s/../lib/pmc; add --agent FILE",
			run_preload.library, dir, dir);
	if (!realpath(agent, run->agent))
		return tool_fail(EXIT_OURS, "cannot use the agent %s: %s", agent, strerror(errno));
	if (strpbrk(run->agent, run_preload.separators))
		return tool_fail(EXIT_OURS,
				 "cannot use the agent %s: %s cannot name a path with a %s; copy "
				 "it elsewhere and add --agent FILE",
				 run->agent, run_preload.variable, run_preload.separator_names);
	return 0;
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

static int run_set_environment(struct run *run)
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

static int open_report(struct run *run)
{
	const char *file = run->config.report.file;
	int code;

	run->report_fd = STDERR_FILENO;
	if (!file)
		return 0;
	code = run_dump_refuse_overwrite(run, file);
	if (code)
		return code;
	run->report_fd = tool_open_text(file);
	if (run->report_fd < 0)
		return tool_fail(EXIT_OURS, "cannot write the report to %s: %s", file,
				 tool_output_why(run->report_fd));
	return 0;
}

/* Warns before the command's own output if there will be no thread rows. */
static int look_at_program(struct run *run)
{
	int error = program_look(*run->cmd, run->agent, &run->program);
	const char *obstacle;

	if (error)
		return tool_fail(EXIT_OURS, "cannot use the agent %s: %s", run->agent,
				 error == -ENOEXEC ? "it is not a shared library" :
						     strerror(-error));
	if (!*run->cmd)
		return 0;
	obstacle = program_obstacle(run->program.kind);
	if (obstacle)
		tool_warn("%s %s; totals only, no thread rows%s", run->program.image, obstacle,
			  run->program.hidden ?
				  "; the kernel refuses counters of other users on it" :
				  "");
	return 0;
}

int cmd_run(int argc, char **argv)
{
	/* The report is opened before run_dump_open(), which may rename the existing dump. */
	enum { FIRST_EFFECT = 2 };
	static int (*const steps[])(
		struct run *) = { run_find_agent, look_at_program, run_dump_name,	open_report,
				  run_dump_open,  run_prepare,	   run_set_environment, run_child };
	const unsigned n = sizeof(steps) / sizeof(steps[0]);
	struct run *run = tool_realloc(NULL, sizeof(*run));
	int code;

	memset(run, 0, sizeof(*run));
	run->report_fd = -1;
	run->dump.lock = -1;
	code = run_parse_flags(run, argc, argv);
	for (unsigned i = 0; !code && i < (run->plan_only ? FIRST_EFFECT : n); i++)
		code = steps[i](run);
	if (!code && run->plan_only) {
		code = run_print_plan(run);
		goto out;
	}
	if (code == 0)
		run_print_report(run);
	run_dump_close(run);
	off_cpu_free(run->off_cpu);
	if (code == 0)
		code = tool_end_as(run->child.status);
out:
	if (run->report_fd > STDERR_FILENO)
		close(run->report_fd);
	pmc_arena_free(&run->arena);
	free(run);
	return code;
}
