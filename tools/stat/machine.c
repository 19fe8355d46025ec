/* SPDX-License-Identifier: MIT */
/* machine.c - the CPUs that are online: their cores, sockets and nodes, and groups on each; a
 * cgroup on them. */
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "tools/cli/try_open.h"
#include "tools/stat/stat.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define CPUS "/sys/devices/system/cpu"

static int topology(int cpu, const char *file)
{
	char text[32];
	uint64_t value;

	if (pmc_file_read(text, sizeof(text), CPUS "/cpu%d/topology/%s", cpu, file) <= 0 ||
	    !pmc_number(text, INT_MAX, &value))
		return 0;
	return (int)value;
}

/* cpuN has a link nodeM. */
static void take_node(const char *name, void *arg)
{
	uint64_t node;

	if (!strncmp(name, "node", 4) && pmc_number(name + 4, INT_MAX, &node))
		*(int *)arg = (int)node;
}

static struct stat_key key_of(const struct stat_job *stat, int cpu)
{
	struct stat_key key = STAT_NO_KEY;

	if (stat->by == BY_CPU)
		key.cpu = cpu;
	if (stat->by == BY_CORE || stat->by == BY_SOCKET)
		key.socket = topology(cpu, "physical_package_id");
	if (stat->by == BY_CORE)
		key.core = topology(cpu, "core_id");
	if (stat->by == BY_NODE) {
		key.node = 0;
		pmc_dir_visit(take_node, &key.node, CPUS "/cpu%d", cpu);
	}
	return key;
}

static bool counts_on(const struct stat_job *stat, unsigned event, int cpu)
{
	const char *at = stat->live.plan.events[event].event.cpus;
	uint64_t first, last;

	while (at && pmc_range_take(&at, &first, &last))
		if (first <= (uint64_t)cpu && (uint64_t)cpu <= last)
			return true;
	return false;
}

static int open_cpu(struct stat_job *stat, int cpu)
{
	const struct pmc_plan *plan = &stat->live.plan;
	const struct stat_key key = key_of(stat, cpu);
	struct stat_row *row = stat_row(stat, &key);
	int error = live_groups_open(&row->groups, &stat->live,
				     stat->cgroup ? PMC_PERF_GROUP_CGROUP : PMC_PERF_GROUP_OWN,
				     stat->cgroup ? stat->cgroup_fd : -1, cpu);

	row->seen = true;
	/* Uncore events know no cgroups. */
	for (unsigned i = plan->opened;
	     i < plan->count && !error && !tool_perf_killed() && !stat->cgroup; i++)
		if (pmc_event_is_uncore(&plan->events[i].event) && counts_on(stat, i, cpu))
			error = live_groups_add(&row->groups, &stat->live, i, 1, PMC_PERF_GROUP_OWN,
						-1, cpu);
	if (stat->begin_ns)
		live_groups_enable(&row->groups);
	return error;
}

/* Counts of a CPU that went offline stay; its groups are detached and opened anew when it is back
 * (perf_event_exit_cpu_context() in kernel/events/core.c). Its row is shown up to that interval. */
static void leave_cpu(struct stat_job *stat, int cpu)
{
	for (unsigned r = 0; r < stat->n_rows; r++) {
		struct stat_row *row = stat->rows[r];

		for (unsigned g = 0; g < row->groups.n; g++)
			if (row->groups.list[g].cpu == cpu)
				live_group_close(&row->groups.list[g]);
		if (r && row->key.cpu == cpu)
			row->seen = false;
	}
}

int stat_scan_cpus(struct stat_job *stat)
{
	uint64_t online[STAT_CPUS / 64] = { 0 }, first, last;
	char text[4096];
	const char *at = text;
	int error = pmc_file_read(text, sizeof(text), CPUS "/online");

	if (error <= 0)
		return error ? error : -ENODEV;
	while (pmc_range_take(&at, &first, &last))
		for (; first <= last && first < STAT_CPUS; first++)
			online[first / 64] |= 1ull << (first % 64);
	for (unsigned cpu = 0; cpu < STAT_CPUS; cpu++) {
		uint64_t *was = &stat->online[cpu / 64], bit = 1ull << (cpu % 64);

		if (!((*was ^ online[cpu / 64]) & bit))
			continue;
		error = 0;
		if (*was & bit)
			leave_cpu(stat, (int)cpu);
		else
			error = open_cpu(stat, (int)cpu);
		/* It went offline just now. */
		if (error == -ENODEV)
			continue;
		if (error)
			return error;
		*was ^= bit;
	}
	return 0;
}
