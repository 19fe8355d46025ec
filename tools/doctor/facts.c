/* SPDX-License-Identifier: MIT */
/* facts.c - reads from /proc, /sys and this process's limits what the checks judge. */
#include "tools/doctor/doctor.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Files of /proc and /sys say their size is 0: read what comes. False if unreadable. */
static bool slurp(const char *root, const char *name, char *text, size_t cap)
{
	char path[PATH_MAX];
	size_t len = 0;
	ssize_t n;
	int fd;

	text[0] = '\0';
	snprintf(path, sizeof(path), "%s/%s", root, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (len + 1 < cap && (n = read(fd, text + len, cap - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(fd);
	return len > 0;
}

static bool exists(const char *root, const char *name)
{
	char path[PATH_MAX + 512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return access(path, F_OK) == 0;
}

static int64_t number_in(const char *root, const char *name)
{
	char text[64];

	return slurp(root, name, text, sizeof(text)) ? strtoll(text, NULL, 10) : DOCTOR_NONE;
}

/* A processor's PMU is called cpu on x86 and POWER, cpum_cf on s390; elsewhere, and on hybrids,
 * it lists its cpus. Uncore ones have a cpumask instead. */
static void read_pmus(const char *sys, struct doctor_facts *facts)
{
	char path[PATH_MAX], rdpmc[512] = "";
	struct dirent *entry;
	size_t len = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/bus/event_source/devices", sys);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		char name[512];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/cpus", entry->d_name);
		if (strcmp(entry->d_name, "cpu") != 0 && strcmp(entry->d_name, "cpum_cf") != 0 &&
		    !exists(path, name))
			continue;
		if (len + strlen(entry->d_name) + 2 > sizeof(facts->pmus))
			break;
		len += (size_t)snprintf(facts->pmus + len, sizeof(facts->pmus) - len, "%s%s",
					len ? " " : "", entry->d_name);
		snprintf(name, sizeof(name), "%s/rdpmc", entry->d_name);
		if (!rdpmc[0] && exists(path, name))
			strcpy(rdpmc, name);
	}
	if (dir)
		closedir(dir);
	if (!rdpmc[0])
		return;
	/* Not while the folder is open: there may be no two descriptors to spare. */
	facts->rdpmc = number_in(path, rdpmc);
	snprintf(facts->rdpmc_file, sizeof(facts->rdpmc_file), "%.*s/%s", PATH_MAX - 600, path,
		 rdpmc);
}

static void read_sysctls(const char *proc, struct doctor_facts *facts)
{
	facts->nmi_watchdog = number_in(proc, "sys/kernel/nmi_watchdog");
	facts->mlock_kb = number_in(proc, "sys/kernel/perf_event_mlock_kb");
	facts->cpu_percent = number_in(proc, "sys/kernel/perf_cpu_time_max_percent");
	facts->ptrace_scope = number_in(proc, "sys/kernel/yama/ptrace_scope");
	facts->user_access = number_in(proc, "sys/kernel/perf_user_access");
}

static void read_limits(struct doctor_facts *facts)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		facts->nofile_soft = limit.rlim_cur;
		facts->nofile_hard = limit.rlim_max;
	}
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
		facts->memlock_soft = limit.rlim_cur;
		facts->memlock_hard = limit.rlim_max;
	}
}

static void read_tracefs(const char *sys, struct doctor_facts *facts)
{
	static const char *const places[] = { "kernel/tracing", "kernel/debug/tracing" };
	char name[64], text[32];

	for (unsigned i = 0; i < 2; i++) {
		/* The directory is there, unreadable, for who may not enter the mount. */
		snprintf(name, sizeof(name), "%s/events", places[i]);
		facts->tracefs_mounted |= exists(sys, name);
		snprintf(name, sizeof(name), "%s/events/sched/sched_switch/id", places[i]);
		facts->tracefs_readable |= slurp(sys, name, text, sizeof(text));
	}
}

/* Who may not enter a mounted tracefs still sees it in the list of mounts. */
static bool is_mounted(const char *proc)
{
	char line[1024], path[PATH_MAX];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/self/mounts", proc);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, " tracefs ") != NULL;
	if (f)
		fclose(f);
	return found;
}

static const char *install_pfm(const char *root)
{
	static const struct {
		const char *program, *command;
	} systems[] = {
		{ "usr/bin/apt-get", "sudo apt-get install -y libpfm4" },
		{ "usr/bin/dnf", "sudo dnf install -y libpfm" },
		{ "usr/bin/zypper", "sudo zypper install -y libpfm4" },
		{ "usr/bin/pacman", "sudo pacman -S --noconfirm libpfm" },
		{ "sbin/apk", "sudo apk add libpfm" },
	};

	for (unsigned i = 0; i < sizeof(systems) / sizeof(*systems); i++)
		if (exists(root, systems[i].program))
			return systems[i].command;
	return NULL;
}

void doctor_read(const struct pmc_roots *roots, struct doctor_facts *facts)
{
	memset(facts, 0, sizeof(*facts));
	facts->cycles = facts->cycles_user = facts->software = facts->software_user =
		facts->system_wide = facts->ring = DOCTOR_UNTRIED;
	facts->rdpmc = DOCTOR_NONE;
	facts->uid = geteuid();
	pmc_here_read(&facts->here, roots);
	read_pmus(roots->sys, facts);
	read_sysctls(roots->proc, facts);
	read_limits(facts);
	slurp(roots->sys, "kernel/security/lsm", facts->lsm, sizeof(facts->lsm));
	facts->lsm[strcspn(facts->lsm, "\n")] = '\0';
	read_tracefs(roots->sys, facts);
	facts->tracefs_mounted |= is_mounted(roots->proc);
	facts->install_pfm = install_pfm(roots->root);
}
