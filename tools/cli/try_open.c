/* SPDX-License-Identifier: MIT */
/* try_open.c - see try_open.h. */
#include "tools/cli/try_open.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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

static void try_in_child(struct pmc_attr *attr, int pipe)
{
	const struct rlimit none = { 0, 0 };
	int result;

	/* Being killed is an expected result: no core file. */
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	result = try_attr(attr, 0, -1);
	if (write(pipe, &result, sizeof(result)) != sizeof(result))
		_exit(1);
	_exit(0);
}

int tool_perf_try(const struct perf_event_attr *base)
{
	struct pmc_attr attr = { .base = *base };
	int pipes[2], result;
	pid_t pid;

	if (prctl(PR_GET_SECCOMP) == 0)
		return try_attr(&attr, 0, -1);
	if (pipe(pipes) != 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		try_in_child(&attr, pipes[1]);
	close(pipes[1]);
	if (pid < 0)
		result = -errno;
	else if (read(pipes[0], &result, sizeof(result)) != sizeof(result))
		result = TOOL_PROBE_KILLED;
	close(pipes[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return result;
}

bool tool_perf_killed(void)
{
	static int known = -1;
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.disabled = 1,
		.exclude_kernel = 1,
	};

	if (known < 0)
		known = tool_perf_try(&attr) == TOOL_PROBE_KILLED;
	return known;
}

int tool_perf_open(struct pmc_attr *attr, int leader)
{
	return tool_perf_killed() ? -EPERM : pmc_perf_open_self(attr, leader);
}

int tool_event_try(const struct pmc_event *event, enum pmc_scope scope, int cpu)
{
	struct pmc_attr attr;

	pmc_group_attr(event, scope, true, &attr);
	return tool_perf_killed() ? -EPERM : try_attr(&attr, cpu < 0 ? 0 : -1, cpu);
}
