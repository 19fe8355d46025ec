/* SPDX-License-Identifier: MIT */
/* doctor_counters.c - the PMU's counters: how many, how wide, which run for us, who has the rest.
 */
#include "agent/core/perf.h"
#include "tools/doctor.h"

#include <ctype.h>
#include <dirent.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 32u

/* What takes a programmable counter of most PMUs; cycles where there is no such event. */
static uint64_t event = PERF_COUNT_HW_INSTRUCTIONS;

static int open_one(bool user, bool pinned, int leader, uint64_t config1)
{
	struct pmc_attr attr = {
		.base = {
			.type = PERF_TYPE_HARDWARE,
			.config = event,
			.config1 = config1,
			.pinned = pinned && leader < 0,
			.exclude_kernel = user,
			.exclude_hv = user,
		},
	};

	return pmc_perf_open(&attr, 0, -1, leader, 0);
}

static bool runs(int leader)
{
	uint64_t value;

	return pmc_perf_read(leader, 0, 1, &value) == 0;
}

/* The same event as often as one running group takes it: as the kernel accepts it, which knows
 * how many counters there are; or, pinned, as it really runs. A pinned group that cannot run
 * reads 0 bytes. */
static unsigned group_size(bool user, bool pinned)
{
	int fds[MOST];
	unsigned n = 0, size;

	while (n < MOST) {
		int fd = open_one(user, pinned, n ? fds[0] : -1, 0);

		if (fd < 0)
			break;
		fds[n++] = fd;
		if (pinned && !runs(fds[0]))
			break;
	}
	size = n;
	if (pinned && n && !runs(fds[0]))
		size--;
	while (n > 0)
		close(fds[--n]);
	return size;
}

/* What the page for reads from user space says (pmc_width); arm64 fills it in only for events
 * that ask for such reads (config1 bit 1 of armv8_pmuv3). */
static unsigned counter_width(bool user)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	unsigned width = 0;

	for (uint64_t config1 = 0; config1 <= 2 && !width; config1 += 2) {
		int fd = open_one(user, false, -1, config1);
		const struct perf_event_mmap_page *page;

		if (fd < 0)
			continue;
		page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
		if (page != MAP_FAILED) {
			width = page->cap_user_rdpmc ? page->pmc_width : 0;
			munmap((void *)(uintptr_t)page, size);
		}
		close(fd);
	}
	return width;
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
	for (char *c = name; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	if (f)
		fclose(f);
}

void doctor_holders(const char *proc, unsigned self, struct doctor_facts *facts)
{
	const size_t cap = sizeof(facts->holders);
	struct dirent *entry;
	size_t len = 0;
	DIR *dir = opendir(proc);

	facts->holders[0] = '\0';
	facts->n_holders = 0;
	while (dir && (entry = readdir(dir))) {
		unsigned pid = (unsigned)strtoul(entry->d_name, NULL, 10);
		char name[32];
		int n;

		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !has_perf_event(proc, entry->d_name))
			continue;
		if (pid == self) {
			facts->holds_itself = true;
			continue;
		}
		if (facts->n_holders++ == 0)
			facts->first_holder = pid;
		name_of(proc, entry->d_name, name);
		n = snprintf(facts->holders + len, cap - len, "%s%s (%s)", len ? ", " : "",
			     entry->d_name, name);
		/* Whole names only. */
		if (n < 0 || (size_t)n >= cap - len)
			facts->holders[len] = '\0';
		else
			len += (size_t)n;
	}
	if (dir)
		closedir(dir);
}

void doctor_counters(const char *proc, struct doctor_facts *facts)
{
	bool user = facts->cycles != 0;

	if (facts->cycles != 0 && facts->cycles_user != 0)
		return;
	facts->counters = group_size(user, false);
	if (facts->counters == 0) {
		event = PERF_COUNT_HW_CPU_CYCLES;
		facts->counters = group_size(user, false);
	}
	facts->counters_free = group_size(user, true);
	facts->width = counter_width(user);
	if (facts->counters_free < facts->counters || facts->cycles_run == PMC_NO)
		doctor_holders(proc, (unsigned)getpid(), facts);
}
