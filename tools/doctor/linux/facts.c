/* SPDX-License-Identifier: MIT */
/* facts.c - facts from /proc, sysfs, resource limits and the installed files. */
#include "lib/base/file.h"
#include "tools/doctor/facts.h"
#include "tools/cli/pmctl.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* The processor's PMU is `cpu` on x86 and POWER, `cpum_cf` on s390; elsewhere, and on hybrid CPUs,
 * it is any that has a file `cpus`. */
static void add_pmu(const char *name, void *arg)
{
	struct pmu_search *search = arg;
	struct doctor_facts *facts = search->facts;
	size_t len = strlen(facts->pmus);

	if ((strcmp(name, "cpu") != 0 && strcmp(name, "cpum_cf") != 0 &&
	     pmc_path_exists("%s/%s/cpus", search->dir, name) != 0) ||
	    len + strlen(name) + 2 > sizeof(facts->pmus))
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

static void read_limits(struct doctor_facts *facts)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		facts->nofile_soft = limit.rlim_cur;
		facts->nofile_hard = limit.rlim_max;
	}
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
		facts->memlock_soft = limit.rlim_cur;
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
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *file = MAP_FAILED, *at = NULL;
	struct stat st;

	version[0] = '\0';
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (file == MAP_FAILED)
		return false;
	at = memmem(file, (size_t)st.st_size, marker, sizeof(marker) - 1);
	if (at) {
		at += sizeof(marker) - 1;
		snprintf(version, 32, "%.*s", (int)(file + st.st_size - at), at);
	}
	munmap((void *)(uintptr_t)file, (size_t)st.st_size);
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
	memset(facts, 0, sizeof(*facts));
	facts->cycles = facts->cycles_user = facts->software = facts->software_user =
		facts->system_wide = facts->ring = DOCTOR_UNTRIED;
	facts->uid = geteuid();
	pmc_here_read(&facts->here, roots);
	read_pmus(roots->sys, facts);
	facts->nmi_watchdog = number_in(roots->proc, "sys/kernel/nmi_watchdog");
	facts->mlock_kb = number_in(roots->proc, "sys/kernel/perf_event_mlock_kb");
	facts->cpu_percent = number_in(roots->proc, "sys/kernel/perf_cpu_time_max_percent");
	facts->ptrace_scope = number_in(roots->proc, "sys/kernel/yama/ptrace_scope");
	facts->user_access = number_in(roots->proc, "sys/kernel/perf_user_access");
	read_limits(facts);
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
	doctor_count_counters(&roots, &facts);
	return &facts;
}
