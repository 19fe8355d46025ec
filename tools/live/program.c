/* SPDX-License-Identifier: MIT */
/* program.c - the program that is meant by the ID of a `pmctl run`. */
#include "lib/base/file.h"
#include "lib/base/proc.h"
#include "tools/cli/pmctl.h"
#include "tools/live/task.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* 2 s for the program of a `pmctl run` to start; 0.1 s for what the shell has just started, which
 * may be no program. */
#define START_POLLS   200
#define FORK_POLLS    10
#define START_POLL_US 10000

static bool same_program(pid_t a, pid_t b)
{
	char of_a[64], of_b[64];

	snprintf(of_a, sizeof(of_a), "/proc/%d/exe", a);
	snprintf(of_b, sizeof(of_b), "/proc/%d/exe", b);
	return tool_same_file(of_a, of_b);
}

/* Only the pmctl that is running now, also after a fork: any program can be named pmctl. */
static bool is_run(pid_t pid)
{
	char cmdline[4096];
	int n;

	if (!same_program(pid, getpid()))
		return false;
	memset(cmdline, 0, sizeof(cmdline));
	n = pmc_file_read(cmdline, sizeof(cmdline) - 1, "/proc/%d/cmdline", pid);
	/* Within its exec a process has the new program, but no arguments yet. */
	return n == 0 || strcmp(cmdline + strlen(cmdline) + 1, "run") == 0;
}

/* A background job of this shell before its exec: `pmctl run ... & pmctl dump $!`. */
static bool is_fork_of_shell(pid_t pid)
{
	struct pmc_proc_stat stat;

	return live_stat_read(pid, &stat) && stat.parent == (uint64_t)getppid() &&
	       same_program(pid, getppid());
}

/* Follows more than one step: pmctl run -- pmctl run -- CMD. */
static pid_t program_of(pid_t pid)
{
	char children[4096];
	int child, n;

	while (is_run(pid) && pmc_file_read(children, sizeof(children), "/proc/%d/task/%d/children",
					    pid, pid) > 0) {
		/* The last child: earlier ones were started by the image that called exec to become
		 * pmctl. */
		for (char *at = children; sscanf(at, "%d%n", &child, &n) == 1; at += n)
			pid = child;
	}
	return pid;
}

int live_program(pid_t *pid, bool (*has_started)(pid_t program))
{
	pid_t program = 0;

	for (unsigned i = 0; i < START_POLLS; i++) {
		/* First: what is no such fork by now has called exec. */
		bool forked = (has_started || i < FORK_POLLS) && is_fork_of_shell(*pid);

		program = program_of(*pid);
		if (!is_run(program) &&
		    (program == *pid ? !forked : !has_started || has_started(program)))
			break;
		usleep(START_POLL_US);
	}
	if (is_run(program))
		return tool_fail(EXIT_FAIL,
				 "the program of pmctl run (process %d) has not started yet, or "
				 "has ended; try again",
				 *pid);
	if (program != *pid)
		tool_warn("process %d is pmctl run: acting on its child, process %d", *pid,
			  program);
	*pid = program;
	return 0;
}
