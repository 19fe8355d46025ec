/* SPDX-License-Identifier: MIT */
/* counters.c - the PMU's counters: how many, how wide, which run for us, who has the rest.
 */
#include "agent/core/count/group.h"
#include "agent/core/count/perf.h"
#include "agent/core/plan/pmu_probe.h"
#include "tools/doctor/doctor.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 32u

/* Since 5.13; older headers lack it. */
#ifndef PERF_PMU_TYPE_SHIFT
#define PERF_PMU_TYPE_SHIFT 32
#endif

/* One kind of processor PMU: a hybrid machine has several, each on its own CPUs. */
struct kind {
	uint64_t type; /* for the upper half of config; 0: the machine has but one */
	bool user;
	uint64_t event; /* instructions; cycles where they do not open */
};

static int open_one(const struct kind *kind, uint64_t event, bool pinned, int leader,
		    uint64_t config1)
{
	struct pmc_attr attr = {
		.base = {
			.type = PERF_TYPE_HARDWARE,
			.config = kind->type << PERF_PMU_TYPE_SHIFT | event,
			.config1 = config1,
			.pinned = pinned && leader < 0,
			.exclude_kernel = kind->user,
			.exclude_hv = kind->user,
		},
	};

	return pmc_perf_open(&attr, 0, -1, leader, 0);
}

static bool runs(int leader)
{
	uint64_t value;

	return pmc_perf_read(leader, 0, 1, &value) == 0;
}

/* A first event, and then another as often as one running group takes it: as the kernel accepts it,
 * which knows how many counters there are; or, pinned, as it really runs here. A pinned group that
 * cannot run reads 0 bytes. 0: none, or nobody knows, since descriptors ran out before counters. */
static unsigned group_size(const struct kind *kind, uint64_t first, bool pinned)
{
	int fds[MOST];
	unsigned n = 0, size;
	bool spent = false;

	while (n < MOST) {
		int fd = open_one(kind, n ? kind->event : first, pinned, n ? fds[0] : -1, 0);

		spent = fd == -EMFILE || fd == -ENFILE;
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
	return spent ? 0 : size;
}

/* The instructions may all have counters while the one for cycles alone is taken, as Intel's NMI
 * watchdog does: so both kinds of group are tried. */
static void count_here(const struct kind *kind, struct doctor_facts *facts)
{
	const uint64_t firsts[] = { kind->event, PERF_COUNT_HW_CPU_CYCLES };

	for (unsigned i = 0; i < 2; i++) {
		unsigned all = group_size(kind, firsts[i], false);
		unsigned free = group_size(kind, firsts[i], true);

		if (free > all)
			free = all;
		if (facts->counters && all - free <= facts->counters - facts->counters_free)
			continue;
		facts->counters = all;
		facts->counters_free = free;
	}
}

/* Calls visit for each CPU of a list such as "0-3,8"; all there may be if there is no list. */
static void each_cpu(const char *list,
		     void (*visit)(int cpu, const struct kind *kind, struct doctor_facts *facts),
		     const struct kind *kind, struct doctor_facts *facts)
{
	char all[32];

	snprintf(all, sizeof(all), "0-%ld", sysconf(_SC_NPROCESSORS_CONF) - 1);
	for (const char *at = list[0] ? list : all; isdigit((unsigned char)*at);) {
		char *end;
		long from = strtol(at, &end, 10), to = from;

		if (*end == '-')
			to = strtol(end + 1, &end, 10);
		for (long cpu = from; cpu <= to && cpu < CPU_SETSIZE; cpu++)
			visit((int)cpu, kind, facts);
		at = *end == ',' ? end + 1 : end;
	}
}

/* Others' events may sit on one CPU only. CPUs that we may not run on do not concern us. */
static void count_on(int cpu, const struct kind *kind, struct doctor_facts *facts)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		return;
	unsigned held = facts->counters - facts->counters_free;

	count_here(kind, facts);
	if (facts->counters - facts->counters_free > held)
		facts->held_cpu = cpu;
}

/* What the page for reads from user space says (pmc_width); arm64 fills it in only for events
 * that ask for such reads (config1 bit 1 of armv8_pmuv3). */
static unsigned counter_width(const struct kind *kind)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	unsigned width = 0;

	for (uint64_t config1 = 0; config1 <= 2 && !width; config1 += 2) {
		int fd = open_one(kind, kind->event, false, -1, config1);
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

static void read_line(const char *root, const char *pmu, const char *name, char *text, size_t cap)
{
	char path[PATH_MAX];
	FILE *f;

	text[0] = '\0';
	snprintf(path, sizeof(path), "%s/bus/event_source/devices/%s/%s", root, pmu, name);
	f = fopen(path, "re");
	if (f && !fgets(text, (int)cap, f))
		text[0] = '\0';
	if (f)
		fclose(f);
}

static void count_kind(const char *sys, const char *pmu, bool hybrid, struct doctor_facts *facts)
{
	struct kind kind = { .user = facts->cycles != 0, .event = PERF_COUNT_HW_INSTRUCTIONS };
	char cpus[4096], type[32];

	read_line(sys, pmu, "cpus", cpus, sizeof(cpus));
	read_line(sys, pmu, "type", type, sizeof(type));
	if (hybrid)
		kind.type = strtoull(type, NULL, 10);
	if (group_size(&kind, kind.event, false) == 0)
		kind.event = PERF_COUNT_HW_CPU_CYCLES;
	each_cpu(cpus, count_on, &kind, facts);
	if (!facts->width)
		facts->width = counter_width(&kind);
}

void doctor_counters(const struct pmc_roots *roots, struct doctor_facts *facts)
{
	char pmus[sizeof(facts->pmus)], *rest = pmus;
	cpu_set_t before;

	facts->held_cpu = -1;
	if (facts->cycles != 0 && facts->cycles_user != 0)
		return;
	/* More CPUs than the set has room for: as they are. */
	if (sched_getaffinity(0, sizeof(before), &before) != 0)
		return;
	strcpy(pmus, facts->pmus);
	do
		count_kind(roots->sys, strsep(&rest, " "), strchr(facts->pmus, ' '), facts);
	while (rest);
	sched_setaffinity(0, sizeof(before), &before);
	if (facts->counters_free > 1 && !strchr(facts->pmus, ' '))
		facts->counters_dead = facts->counters_free -
				       pmc_probe_alive(pmc_perf_open_self, facts->counters_free);
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		facts->held_cpu = -1;
	if (facts->counters_free < facts->counters || facts->cycles_run == PMC_NO)
		doctor_holders(roots->proc, (unsigned)getpid(), facts);
}
