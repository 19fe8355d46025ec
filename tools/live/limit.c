/* SPDX-License-Identifier: MIT */
/* limit.c - see limit.h. */
#include "tools/live/limit.h"
#include "lib/base/file.h"
#include "lib/base/proc.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static double read_limit(const char *dir, bool v1)
{
	char text[128];
	int64_t quota = -1, period = 0;

	if (v1) {
		if (pmc_file_read(text, sizeof(text), "%s/cpu.cfs_quota_us", dir) > 0)
			sscanf(text, "%" SCNd64, &quota);
		if (pmc_file_read(text, sizeof(text), "%s/cpu.cfs_period_us", dir) > 0)
			sscanf(text, "%" SCNd64, &period);
	} else if (pmc_file_read(text, sizeof(text), "%s/cpu.max", dir) > 0) {
		/* "max 100000": none */
		sscanf(text, "%" SCNd64 " %" SCNd64, &quota, &period);
	}
	return quota > 0 && period > 0 ? (double)quota / (double)period : 0;
}

static void take(struct live_cpu_limit *limit, const char *dir, bool v1)
{
	const double cpus = read_limit(dir, v1);
	char text[2048];

	if (!(cpus > 0) || (limit->cpus > 0 && cpus >= limit->cpus) ||
	    pmc_file_read(text, sizeof(text), "%s/cpu.stat", dir) <= 0)
		return;
	*limit = (struct live_cpu_limit){ .cpus = cpus };
	pmc_proc_number(text, "nr_periods", &limit->periods);
	pmc_proc_number(text, "nr_throttled", &limit->throttled);
	if (!pmc_proc_number(text, "throttled_time", &limit->throttled_ns) &&
	    pmc_proc_number(text, "throttled_usec", &limit->throttled_ns))
		limit->throttled_ns *= 1000;
}

/* A line of proc_pid_cgroup: "0::/path" of v2, "1:cpu,cpuacct:/path" of v1. */
static void take_line(struct live_cpu_limit *limit, char *line)
{
	static const char *const mounts[2][2] = { { "", "/unified" }, { "/cpu", "/cpu,cpuacct" } };
	char *controllers = strchr(line, ':'),
	     *path = controllers ? strchr(controllers + 1, ':') : NULL;
	char dir[4096 + 64];
	bool v1;

	if (!path)
		return;
	*path++ = '\0';
	controllers++;
	v1 = *controllers;
	if (v1 && strcmp(controllers, "cpu") != 0 && strncmp(controllers, "cpu,", 4) != 0 &&
	    !strstr(controllers, ",cpu"))
		return;
	for (char *slash;; *slash = '\0') {
		for (unsigned i = 0; i < 2; i++) {
			snprintf(dir, sizeof(dir), "/sys/fs/cgroup%s%s", mounts[v1][i], path);
			take(limit, dir, v1);
		}
		slash = strrchr(path, '/');
		if (!slash)
			return;
	}
}

void live_cpu_limit_read(pid_t pid, struct live_cpu_limit *limit)
{
	char text[8192], *save = NULL;

	*limit = (struct live_cpu_limit){ 0 };
	if (pmc_file_read(text, sizeof(text), "/proc/%d/cgroup", pid) <= 0)
		return;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		take_line(limit, line);
}

void live_cpu_limit_since(struct live_cpu_limit *now, const struct live_cpu_limit *before)
{
	/* Another cgroup, or none before. */
	if (before->cpus != now->cpus || before->periods > now->periods) {
		now->periods = now->throttled = now->throttled_ns = 0;
		return;
	}
	now->periods -= before->periods;
	now->throttled -= before->throttled;
	now->throttled_ns -= before->throttled_ns;
}
