/* SPDX-License-Identifier: MIT */
/*
 * facts.c - facts from /proc, sysfs, resource limits and the installed files, and by trying: opens,
 * a count that advances, a ring buffer, how many hardware counters are free on each CPU and who
 * holds the rest.
 */
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/try_open.h"
#include "tools/doctor/facts.h"
#include "tools/list/list.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- attempts ------------------------------------------------------------------------------- */

/* perf's default size of a ring buffer. */
#define RING_BYTES (512u << 10)

static struct pmc_attr attr_of(uint32_t type, uint64_t config, bool user)
{
	return (struct pmc_attr){
		.base = {
			.type = type,
			.size = sizeof(struct perf_event_attr),
			.config = config,
			.disabled = 1,
			.exclude_kernel = user,
			.exclude_hv = user,
		},
	};
}

static int try_event(uint32_t type, uint64_t config, bool user)
{
	const struct pmc_attr attr = attr_of(type, config, user);

	return tool_perf_try(&attr.base);
}

/* Virtual PMUs may accept events and never count. */
static bool counts(bool user)
{
	const struct pmc_event cycles = { .type = PERF_TYPE_HARDWARE,
					  .config = PERF_COUNT_HW_CPU_CYCLES };
	const struct pmc_event *events[] = { &cycles };
	const enum pmc_scope scope = user ? PMC_SCOPE_USER : PMC_SCOPE_ALL;

	return pmc_probe_together(pmc_perf_open_self, events, &scope, 1) == 1;
}

static int try_cpu(void)
{
	const struct pmc_event clock = { .type = PERF_TYPE_SOFTWARE,
					 .config = PERF_COUNT_SW_CPU_CLOCK };

	return tool_event_try(&clock, PMC_SCOPE_ALL, sched_getcpu());
}

static int try_ring(void)
{
	struct pmc_attr attr = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true);
	size_t size = RING_BYTES + (size_t)sysconf(_SC_PAGESIZE);
	int fd, error = 0;
	void *ring;

	attr.base.sample_period = 1000000000;
	fd = pmc_perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return fd;
	ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		error = -errno;
	else
		munmap(ring, size);
	close(fd);
	return error;
}

void doctor_try(struct doctor_facts *facts)
{
	facts->software_user = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true);
	facts->software = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false);
	facts->cycles_user = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true);
	facts->cycles = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false);
	if (facts->software_user == TOOL_PROBE_KILLED)
		return;
	if (facts->cycles_user == 0)
		facts->cycles_run = counts(facts->cycles != 0) ? PMC_YES : PMC_NO;
	facts->system_wide = try_cpu();
	facts->ring = try_ring();
}

/* ---- counters ------------------------------------------------------------------------------- */

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

static void count_counters(const struct pmc_roots *roots, struct doctor_facts *facts)
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

/* ---- files ---------------------------------------------------------------------------------- */

static int64_t number_in(const char *root, const char *name)
{
	char text[64];

	return pmc_file_read(text, sizeof(text), "%s/%s", root, name) > 0 ?
		       strtoll(text, NULL, 10) :
		       DOCTOR_NONE;
}

struct pmu_search {
	const char *dir;
	struct doctor_facts *facts;
};

static void add_pmu(const char *name, void *arg)
{
	struct pmu_search *search = arg;
	struct doctor_facts *facts = search->facts;
	size_t len = strlen(facts->pmus);

	if (!pmc_is_core_pmu(search->dir, name) || len + strlen(name) + 2 > sizeof(facts->pmus))
		return;
	snprintf(facts->pmus + len, sizeof(facts->pmus) - len, "%s%s", len ? " " : "", name);
	if (!facts->rdpmc_file[0] && pmc_path_exists("%s/%s/rdpmc", search->dir, name) == 0)
		snprintf(facts->rdpmc_file, sizeof(facts->rdpmc_file), "%s/%s/rdpmc", search->dir,
			 name);
}

static void read_pmus(const char *sys, struct doctor_facts *facts)
{
	char dir[PATH_MAX];
	struct pmu_search search = { dir, facts };

	snprintf(dir, sizeof(dir), "%s/bus/event_source/devices", sys);
	pmc_dir_visit(add_pmu, &search, "%s", dir);
	facts->rdpmc = facts->rdpmc_file[0] ? number_in("", facts->rdpmc_file + 1) : DOCTOR_NONE;
}

static void read_tracefs(const struct pmc_roots *roots, struct doctor_facts *facts)
{
	static const char *const places[] = { "kernel/tracing", "kernel/debug/tracing" };
	char text[1024];
	FILE *mounts;

	for (unsigned i = 0; i < 2; i++) {
		if (pmc_path_exists("%s/%s/events", roots->sys, places[i]) == 0)
			facts->tracefs_mounted = true;
		if (pmc_file_read(text, sizeof(text), "%s/%s/events/sched/sched_switch/id",
				  roots->sys, places[i]) > 0)
			facts->tracefs_readable = true;
		snprintf(text, sizeof(text), "%s/%s/available_events", roots->sys, places[i]);
		if (faccessat(AT_FDCWD, text, R_OK, AT_EACCESS) == 0)
			facts->tracefs_names = true;
	}
	/* A mount that this user may not enter is still in the list of mounts. */
	snprintf(text, sizeof(text), "%s/self/mounts", roots->proc);
	mounts = fopen(text, "re");
	while (mounts && fgets(text, sizeof(text), mounts))
		if (strstr(text, " tracefs "))
			facts->tracefs_mounted = true;
	if (mounts)
		fclose(mounts);
}

bool doctor_agent_version(const char *path, char version[32])
{
	/* The version in agent/hooks/main.c follows this marker. */
	static const char marker[] = "pmcagent-version:";
	FILE *file = fopen(path, "re");
	const char *at = NULL;
	char *text = NULL;
	size_t room = 0;

	version[0] = '\0';
	while (file && !at && getdelim(&text, &room, '\0', file) > 0) {
		at = strstr(text, marker);
		if (at)
			snprintf(version, 32, "%s", at + sizeof(marker) - 1);
	}
	free(text);
	if (file)
		fclose(file);
	return version[0] != '\0';
}

/* libpfm4's version function says 4.0 in every release; the name of its file tells more. */
static void find_pfm(struct doctor_facts *facts)
{
	void *library = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
	void *function = library ? dlsym(library, "pfm_initialize") : NULL;
	Dl_info info;

	if (function && (!dladdr(function, &info) || !realpath(info.dli_fname, facts->pfm)))
		strcpy(facts->pfm, "libpfm.so.4");
	if (library)
		dlclose(library);
}

void doctor_read(const struct pmc_roots *roots, struct doctor_facts *facts)
{
	struct rlimit limit;

	memset(facts, 0, sizeof(*facts));
	facts->cycles = facts->cycles_user = facts->software = facts->software_user =
		facts->system_wide = facts->ring = DOCTOR_UNTRIED;
	facts->uid = geteuid();
	pmc_here_read(&facts->here, roots);
	read_pmus(roots->sys, facts);
	facts->nmi_watchdog = number_in(roots->proc, "sys/kernel/nmi_watchdog");
	facts->ptrace_scope = number_in(roots->proc, "sys/kernel/yama/ptrace_scope");
	facts->user_access = number_in(roots->proc, "sys/kernel/perf_user_access");
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		facts->nofile_soft = limit.rlim_cur;
		facts->nofile_hard = limit.rlim_max;
	}
	read_tracefs(roots, facts);
	if (tool_find_agent(facts->agent_dir, facts->agent))
		doctor_agent_version(facts->agent, facts->agent_version);
	find_pfm(facts);
}

const struct doctor_facts *doctor_gather(void)
{
	static const struct pmc_roots roots = { "/proc", "/sys", "" };
	static struct doctor_facts facts;

	doctor_read(&roots, &facts);
	doctor_try(&facts);
	count_counters(&roots, &facts);
	return &facts;
}
