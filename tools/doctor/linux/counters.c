/* SPDX-License-Identifier: MIT */
/* counters.c - facts about the PMU's counters: how many count on each CPU, and who holds the rest.
 */
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "lib/plan/plan.h"
#include "tools/doctor/facts.h"

#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNTERS_MAX 32u

/* Linux 5.13; older headers lack it. */
#ifndef PERF_PMU_TYPE_SHIFT
#define PERF_PMU_TYPE_SHIFT 32
#endif

/* Keeps the CPU where most counters are held: pinned events of others may be on one CPU only. */
static void count_on(int cpu, uint64_t type, struct doctor_facts *facts)
{
	const struct pmc_event cycles = { .type = PERF_TYPE_HARDWARE,
					  .config = type | PERF_COUNT_HW_CPU_CYCLES };
	const struct pmc_event instructions = { .type = PERF_TYPE_HARDWARE,
						.config = type | PERF_COUNT_HW_INSTRUCTIONS };
	/* Where cycles have a counter of their own (Intel's NMI watchdog holds it), a group of
	 * instructions alone does not show that it is held. */
	const struct pmc_event *leaders[] = { &instructions, &cycles };
	struct pmc_counters counters;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	/* CPUs that this process may not use do not matter. */
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		return;
	for (unsigned i = 0; i < 2; i++) {
		if (pmc_probe_counters(pmc_perf_open_self, leaders[i], &instructions, COUNTERS_MAX,
				       &counters) != 0)
			continue;
		if (counters.counting &&
		    counters.running - counters.counting > facts->counters_dead)
			facts->counters_dead = counters.running - counters.counting;
		if (facts->counters &&
		    counters.accepted - counters.running <= facts->counters - facts->counters_free)
			continue;
		facts->counters = counters.accepted;
		facts->counters_free = counters.running;
		if (counters.running < counters.accepted && sysconf(_SC_NPROCESSORS_ONLN) > 1)
			snprintf(facts->held_on, sizeof(facts->held_on), " on CPU %d", cpu);
	}
}

/* Each CPU of a list such as "0-3,8". */
static void count_on_each(const char *list, uint64_t type, struct doctor_facts *facts)
{
	for (uint64_t cpu, last; pmc_range_take(&list, &cpu, &last);)
		for (; cpu <= last && cpu < CPU_SETSIZE; cpu++)
			count_on((int)cpu, type, facts);
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

		target[n < 0 ? 0 : n] = '\0';
		found = strcmp(target, "anon_inode:[perf_event]") == 0;
	}
	if (dir)
		closedir(dir);
	return found;
}

struct holder_search {
	const char *proc;
	unsigned self;
	struct doctor_facts *facts;
};

static void add_holder(const char *entry, void *arg)
{
	struct holder_search *search = arg;
	struct doctor_facts *facts = search->facts;
	size_t len = strlen(facts->holders), cap = sizeof(facts->holders);
	unsigned pid = (unsigned)strtoul(entry, NULL, 10);
	char name[32];
	int n;

	if (!isdigit((unsigned char)entry[0]) || !has_perf_event(search->proc, entry))
		return;
	if (pid == search->self) {
		facts->holds_itself = true;
		return;
	}
	if (facts->n_holders++ == 0)
		facts->first_holder = pid;
	pmc_file_read(name, sizeof(name), "%s/%s/comm", search->proc, entry);
	for (char *c = name; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	n = snprintf(facts->holders + len, cap - len, "%s%s (%s)", len ? ", " : "", entry, name);
	/* Only whole names. */
	if (n < 0 || (size_t)n >= cap - len)
		facts->holders[len] = '\0';
}

void doctor_find_holders(const char *proc, unsigned self, struct doctor_facts *facts)
{
	struct holder_search search = { proc, self, facts };

	facts->holders[0] = '\0';
	facts->n_holders = 0;
	pmc_dir_visit(add_holder, &search, "%s", proc);
}

void doctor_count_counters(const struct pmc_roots *roots, struct doctor_facts *facts)
{
	char pmus[sizeof(facts->pmus)], cpus[4096], type[32], *rest = pmus;
	bool hybrid = strchr(facts->pmus, ' ');
	cpu_set_t before;

	/* A machine with more CPUs than the set holds is not examined. */
	if ((facts->cycles != 0 && facts->cycles_user != 0) ||
	    sched_getaffinity(0, sizeof(before), &before) != 0)
		return;
	strcpy(pmus, facts->pmus);
	do {
		const char *pmu = strsep(&rest, " ");
		const char *const dir = "bus/event_source/devices";

		pmc_file_read(type, sizeof(type), "%s/%s/%s/type", roots->sys, dir, pmu);
		if (pmc_file_read(cpus, sizeof(cpus), "%s/%s/%s/cpus", roots->sys, dir, pmu) <= 0)
			snprintf(cpus, sizeof(cpus), "0-%ld", sysconf(_SC_NPROCESSORS_CONF) - 1);
		/* Each PMU of a hybrid CPU counts on its own CPUs only. */
		count_on_each(cpus, hybrid ? strtoull(type, NULL, 10) << PERF_PMU_TYPE_SHIFT : 0,
			      facts);
	} while (rest);
	sched_setaffinity(0, sizeof(before), &before);
	if (facts->counters_free < facts->counters || facts->cycles_run == PMC_NO)
		doctor_find_holders(roots->proc, (unsigned)getpid(), facts);
}
