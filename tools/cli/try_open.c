/* SPDX-License-Identifier: MIT */
/* try_open.c - see try_open.h. */
#include "tools/cli/try_open.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int try_here(const struct perf_event_attr *attr)
{
	struct pmc_attr copy = { .base = *attr };
	int fd = pmc_perf_open(&copy, 0, -1, -1, 0);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void probe_child(const struct perf_event_attr *attr, int tell)
{
	const struct rlimit none = { 0, 0 };
	int result;

	/* Being killed here is an answer, not a crash to keep. */
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	result = try_here(attr);
	if (write(tell, &result, sizeof(result)) != sizeof(result))
		_exit(1);
	_exit(0);
}

int tool_perf_try(const struct perf_event_attr *attr)
{
	int tell[2], result = TOOL_PROBE_KILLED, status;
	pid_t pid;

	if (prctl(PR_GET_SECCOMP) == 0)
		return try_here(attr);
	if (pipe(tell) != 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		probe_child(attr, tell[1]);
	close(tell[1]);
	if (pid < 0)
		result = -errno;
	else if (read(tell[0], &result, sizeof(result)) != sizeof(result))
		result = TOOL_PROBE_KILLED;
	close(tell[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
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
