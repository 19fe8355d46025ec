/* SPDX-License-Identifier: MIT */
/*
 * cgroup.c - the cgroup of pmctl stat --cgroup.
 *
 * perf_event is a controller of cgroup v1 if a hierarchy of it is mounted, else of cgroup v2, where
 * it is always on (Documentation/admin-guide/cgroup-v2.rst).
 */
#include "tools/cli/pmctl.h"
#include "tools/stat/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>

/* Where the hierarchy that perf knows is mounted. */
static bool find_mount(char *dir, size_t cap)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *mount;
	bool found = false, v1 = false;

	while (mounts && !v1 && (mount = getmntent(mounts))) {
		v1 = !strcmp(mount->mnt_type, "cgroup") && hasmntopt(mount, "perf_event");
		if (!v1 && strcmp(mount->mnt_type, "cgroup2") != 0)
			continue;
		found = (size_t)snprintf(dir, cap, "%s", mount->mnt_dir) < cap;
	}
	if (mounts)
		endmntent(mounts);
	return found;
}

int stat_open_cgroup(struct stat_job *stat)
{
	char mount[2048] = "", path[4096];

	stat->cgroup_fd = -1;
	if (!find_mount(mount, sizeof(mount)) && stat->cgroup[0] != '/')
		return tool_fail(EXIT_FAIL,
				 "no cgroup %s: no cgroup file system is mounted; mount -t "
				 "cgroup2 none /sys/fs/cgroup",
				 stat->cgroup);
	if (!strncmp(stat->cgroup, mount, strlen(mount)))
		snprintf(path, sizeof(path), "%s", stat->cgroup);
	else
		snprintf(path, sizeof(path), "%s/%s", mount,
			 stat->cgroup + (stat->cgroup[0] == '/'));
	stat->cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (stat->cgroup_fd >= 0)
		return 0;
	return tool_fail(EXIT_FAIL, "no cgroup %s: %s: %s; /proc/PID/cgroup has that of a process",
			 stat->cgroup, path, strerror(errno));
}
