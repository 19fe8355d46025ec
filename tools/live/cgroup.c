/* SPDX-License-Identifier: MIT */
/* cgroup.c - control groups by name, and their threads. */
#include "tools/cli/pmctl.h"
#include "tools/live/task.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MOST 32u

/* Below the hierarchy that perf knows, where systemd mounts it: of the controller perf_event of
 * cgroup v1 if that is mounted, else of cgroup v2, where it is always on
 * (Documentation/admin-guide/cgroup-v2.rst). Elsewhere by its path. */
int live_cgroup_open(const char *name, int *fd)
{
	static const char *const mounts[] = { "/sys/fs/cgroup/perf_event/",
					      "/sys/fs/cgroup/unified/", "/sys/fs/cgroup/", "" };
	const unsigned n = name[0] == '/' ? 4 : 3;
	char path[4096];

	*fd = -1;
	for (unsigned i = 0; i < n && *fd < 0; i++) {
		snprintf(path, sizeof(path), "%s%s", mounts[i], name);
		*fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (*fd >= 0)
		return 0;
	return tool_fail(EXIT_FAIL, "no cgroup %s: %s: %s; /proc/PID/cgroup has that of a process",
			 name, path, strerror(errno));
}

static void add_threads(int dir, const char *file, struct live_tids *tids)
{
	const int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	FILE *lines = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;

	while (lines && getline(&line, &room, lines) > 0)
		live_tids_add(tids, (pid_t)atol(line));
	free(line);
	if (lines)
		fclose(lines);
}

static void visit(int parent, const char *name, unsigned depth, struct live_tids *tids)
{
	const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir)
		return;
	add_threads(fd, "cgroup.threads", tids);
	/* Of cgroup v1. */
	add_threads(fd, "tasks", tids);
	while ((entry = readdir(dir)) && depth < DEPTH_MOST)
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			visit(fd, entry->d_name, depth + 1, tids);
	closedir(dir);
}

void live_cgroup_threads(int fd, struct live_tids *tids)
{
	tids->n = 0;
	visit(fd, ".", 0, tids);
}
