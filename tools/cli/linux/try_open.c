/* SPDX-License-Identifier: MIT */
/* try_open.c - see try_open.h. */
#include "tools/cli/try_open.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int try_attr(struct pmc_attr *attr, int pid, int cpu)
{
	int fd = pmc_perf_open(attr, pid, cpu, -1, 0);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void try_and_exit(void)
{
	struct pmc_attr attr = { .base = {
					 .type = PERF_TYPE_SOFTWARE,
					 .size = sizeof(attr.base),
					 .config = PERF_COUNT_SW_TASK_CLOCK,
					 .disabled = 1,
					 .exclude_kernel = 1,
				 } };

	/* Being killed is an expected result: no core file. */
	tool_no_core();
	try_attr(&attr, 0, -1);
	_exit(0);
}

bool tool_perf_killed(void)
{
	static int known = -1;
	int status = -1;
	pid_t pid;

	if (known < 0 && prctl(PR_GET_SECCOMP) == 0)
		known = 0;
	if (known < 0) {
		pid = fork();
		if (pid == 0)
			try_and_exit();
		while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		known = !WIFEXITED(status);
	}
	return known;
}

int tool_perf_try(const struct perf_event_attr *base)
{
	struct pmc_attr attr = { .base = *base };

	return tool_perf_killed() ? TOOL_PROBE_KILLED : try_attr(&attr, 0, -1);
}

int tool_perf_open(struct pmc_attr *attr, int leader)
{
	return tool_perf_killed() ? -EPERM : pmc_perf_open_self(attr, leader);
}

int tool_event_try(const struct pmc_event *event, enum pmc_scope scope, int cpu)
{
	struct pmc_attr attr;

	pmc_perf_group_attr(event, scope, true, &attr);
	return tool_perf_killed() ? -EPERM : try_attr(&attr, cpu < 0 ? 0 : -1, cpu);
}
