/* SPDX-License-Identifier: MIT */
/* run_child.c - finds the program that a `pmctl run` process measures. */
#include "agent/core/base/file.h"
#include "agent/core/base/number.h"
#include "tools/attach/attach.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Only the pmctl that is running now: any program can be named pmctl. */
static bool is_pmctl(pid_t pid)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return stat(path, &theirs) == 0 && stat("/proc/self/exe", &ours) == 0 &&
	       ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

static bool is_live_child(const char *name, pid_t parent)
{
	char text[512], state;
	const char *end;
	int ppid;

	if (pmc_file_read(text, sizeof(text), "/proc/%s/stat", name) <= 0)
		return false;
	/* The name of the program, in parentheses, may contain anything. */
	end = strrchr(text, ')');
	return end && sscanf(end + 1, " %c %d", &state, &ppid) == 2 && ppid == parent &&
	       state != 'Z' && state != 'X';
}

pid_t attach_run_child(pid_t pid)
{
	DIR *dir = is_pmctl(pid) ? opendir("/proc") : NULL;
	struct dirent *entry;
	pid_t child = 0;

	while (dir && !child && (entry = readdir(dir))) {
		uint64_t number;

		if (!pmc_number(entry->d_name, INT_MAX, &number) ||
		    !is_live_child(entry->d_name, pid))
			continue;
		/* pmctl run may have a helper, a copy of itself without children. */
		child = (pid_t)number;
		if (is_pmctl(child) && !attach_run_child(child))
			child = 0;
	}
	if (dir)
		closedir(dir);
	return child;
}
