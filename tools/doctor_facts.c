/* SPDX-License-Identifier: MIT */
/* doctor_facts.c - reads from /proc, /sys and the kernel what the doctor's checks judge. */
#include "tools/doctor.h"
#include "tools/tool_probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
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

/* The text after "\nKEY:" and blanks, or NULL. */
static const char *field(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && strchr(" \t:", line[len]))
			return line + len + strspn(line + len, " \t:");
	}
	return NULL;
}

/* A processor's PMU is called cpu on x86 and POWER, cpum_cf on s390; elsewhere, and on hybrids,
 * it lists its cpus. Uncore ones have a cpumask instead. */
static void read_pmus(const char *sys, struct doctor_facts *facts)
{
	char path[PATH_MAX];
	struct dirent *entry;
	size_t len = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/bus/event_source/devices", sys);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		char cpus[512];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(cpus, sizeof(cpus), "%s/cpus", entry->d_name);
		if (strcmp(entry->d_name, "cpu") != 0 && strcmp(entry->d_name, "cpum_cf") != 0 &&
		    !exists(path, cpus))
			continue;
		if (len + strlen(entry->d_name) + 2 > sizeof(facts->pmus))
			break;
		len += (size_t)snprintf(facts->pmus + len, sizeof(facts->pmus) - len, "%s%s",
					len ? " " : "", entry->d_name);
	}
	if (dir)
		closedir(dir);
}

static void read_status(const char *proc, struct doctor_facts *facts)
{
	char text[8192];
	const char *value;

	if (!slurp(proc, "self/status", text, sizeof(text)))
		return;
	value = field(text, "CapEff");
	if (value) {
		uint64_t caps = strtoull(value, NULL, 16);

		facts->cap_perfmon = caps & (1ull << CAP_PERFMON | 1ull << CAP_SYS_ADMIN);
	}
	value = field(text, "Seccomp");
	if (value)
		facts->seccomp = atoi(value);
}

static bool has_hypervisor(const char *proc)
{
	char *text = malloc(64 << 10);
	const char *flags;
	bool found = false;

	if (text && slurp(proc, "cpuinfo", text, 64 << 10)) {
		flags = field(text, "flags");
		if (flags) {
			const char *word = strstr(flags, " hypervisor");
			const char *end = strchr(flags, '\n');

			found = word && (!end || word < end);
		}
	}
	free(text);
	return found;
}

void doctor_read(const struct doctor_roots *roots, struct doctor_facts *facts)
{
	static const char *const tracefs[] = { "kernel/tracing", "kernel/debug/tracing" };
	struct rlimit limit = { 0, 0 };
	char text[256];

	memset(facts, 0, sizeof(*facts));
	facts->uid = geteuid();
	read_pmus(roots->sys, facts);
	read_status(roots->proc, facts);
	/* Arm has no flag for it; a hypervisor that offers itself shows in sysfs. */
	facts->vm = has_hypervisor(roots->proc) ||
		    (slurp(roots->sys, "hypervisor/type", text, sizeof(text)) && text[0]);
	facts->container =
		exists(roots->root, ".dockerenv") || exists(roots->root, "run/.containerenv");
	facts->has_paranoid =
		slurp(roots->proc, "sys/kernel/perf_event_paranoid", text, sizeof(text));
	facts->paranoid = facts->has_paranoid ? atoi(text) : 0;
	facts->nmi_watchdog = slurp(roots->proc, "sys/kernel/nmi_watchdog", text, sizeof(text)) &&
			      atoi(text) == 1;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		facts->nofile_soft = limit.rlim_cur;
		facts->nofile_hard = limit.rlim_max;
	}
	for (unsigned i = 0; i < 2; i++) {
		char events[64];

		snprintf(events, sizeof(events), "%s/events", tracefs[i]);
		facts->tracefs_mounted |= exists(roots->sys, events);
		snprintf(events, sizeof(events), "%s/events/sched/sched_switch/id", tracefs[i]);
		facts->tracefs_readable |= slurp(roots->sys, events, text, sizeof(text));
	}
}

static int try_event(uint32_t type, uint64_t config, bool user)
{
	const struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.disabled = 1,
		.exclude_kernel = user,
		.exclude_hv = user,
	};

	return tool_perf_try(&attr);
}

void doctor_try(struct doctor_facts *facts)
{
	facts->software_user = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true);
	facts->software = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false);
	facts->cycles_user = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true);
	facts->cycles = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false);
}
