/* SPDX-License-Identifier: MIT */
/* doctor_counters.c - how many counters the PMU has, how many of them run for us, who has the rest.
 */
#include "tools/doctor.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 32u

static int open_one(bool user, bool pinned, int leader)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.pinned = pinned && leader < 0,
		.exclude_kernel = user,
		.exclude_hv = user,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

/* The same event as often as one running group takes it: as the kernel accepts it, which knows
 * how many counters there are; or, pinned, as it really runs. A pinned group that cannot run
 * reads 0 bytes. */
static unsigned group_size(bool user, bool pinned)
{
	int fds[MOST];
	uint64_t value;
	unsigned n = 0, size;

	while (n < MOST) {
		int fd = open_one(user, pinned, n ? fds[0] : -1);

		if (fd < 0)
			break;
		fds[n++] = fd;
		if (pinned && read(fds[0], &value, sizeof(value)) == 0)
			break;
	}
	size = n;
	if (pinned && n && read(fds[0], &value, sizeof(value)) == 0)
		size--;
	while (n > 0)
		close(fds[--n]);
	return size;
}

static bool has_perf_event(const char *proc, const char *pid)
{
	char path[PATH_MAX], target[64];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s/fd", proc, pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		if (n < 0)
			continue;
		target[n] = '\0';
		found = strcmp(target, "anon_inode:[perf_event]") == 0;
	}
	if (dir)
		closedir(dir);
	return found;
}

static void name_of(const char *proc, const char *pid, char name[32])
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/comm", proc, pid);
	f = fopen(path, "re");
	if (!f || !fgets(name, 32, f))
		strcpy(name, "?");
	name[strcspn(name, "\n")] = '\0';
	if (f)
		fclose(f);
}

void doctor_holders(const char *proc, unsigned self, char *list, size_t cap)
{
	struct dirent *entry;
	size_t len = 0;
	DIR *dir = opendir(proc);

	list[0] = '\0';
	while (dir && (entry = readdir(dir))) {
		char name[32];
		int n;

		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    strtoul(entry->d_name, NULL, 10) == self ||
		    !has_perf_event(proc, entry->d_name))
			continue;
		name_of(proc, entry->d_name, name);
		n = snprintf(list + len, cap - len, "%s%s (%s)", len ? ", " : "", entry->d_name,
			     name);
		/* Whole names only. */
		if (n < 0 || (size_t)n >= cap - len) {
			list[len] = '\0';
			break;
		}
		len += (size_t)n;
	}
	if (dir)
		closedir(dir);
}

void doctor_counters(const char *proc, struct doctor_facts *facts)
{
	bool user = facts->cycles != 0;

	if (!doctor_hardware(facts))
		return;
	facts->counters = group_size(user, false);
	facts->counters_free = group_size(user, true);
	if (facts->counters_free < facts->counters)
		doctor_holders(proc, (unsigned)getpid(), facts->holders, sizeof(facts->holders));
}
