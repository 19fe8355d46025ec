/* SPDX-License-Identifier: MIT */
/* sysfs.c - the named events of the PMUs in sysfs, and the kernel's tracepoints. */
#include "tools/list/list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file's text up to cap, trailing white space cut; false if it cannot be read. */
static bool slurp(const char *path, char *text, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;

	text[0] = '\0';
	if (fd < 0)
		return false;
	while (len + 1 < cap &&
	       ((n = read(fd, text + len, cap - 1 - len)) > 0 || (n < 0 && errno == EINTR)))
		len += n > 0 ? (size_t)n : 0;
	close(fd);
	while (len && strchr(" \t\r\n", text[len - 1]))
		len--;
	text[len] = '\0';
	return n >= 0;
}

/* ---- PMUs ----------------------------------------------------------------------------------*/

static int no_dots(const struct dirent *entry)
{
	/* Hidden ones; .scale, .unit and the like belong to the event beside them. */
	return !strchr(entry->d_name, '.');
}

int list_pmu_cpu(struct list *list, const char *pmu)
{
	unsigned long cpu;
	char text[256];

	if (!*pmu)
		return -1;
	if (!slurp(list_text(list, "%s/%s/cpumask", list->roots.sysfs, pmu), text, sizeof(text)) ||
	    text[0] < '0' || text[0] > '9')
		return -1;
	cpu = strtoul(text, NULL, 10);
	return cpu <= INT_MAX ? (int)cpu : -1;
}

static void add_event(struct list *list, const char *pmu, const char *event, int cpu)
{
	const char *path = list_text(list, "%s/%s/events/%s", list->roots.sysfs, pmu, event);
	const char *name = list_text(list, "%s/%s/", pmu, event);
	struct list_row row = { .pmu = pmu, .name = name, .type = "sysfs" };
	struct pmc_arena arena = { 0 };
	struct pmc_parse_error error;
	char terms[512], unit[64];
	struct pmc_events events;
	struct list_answer answer;

	if (!list_wants(list, name) || !slurp(path, terms, sizeof(terms)))
		return;
	if (pmc_events_parse(name, &list->roots, &arena, &events, &error))
		answer = (struct list_answer){ false, list_text(list, "%s", error.text) };
	else
		answer = list_try(list, &events.list[0], cpu);
	pmc_arena_free(&arena);
	row.available = answer.available;
	row.reason = answer.reason;
	if (cpu >= 0 && answer.available)
		row.reason = "machine-wide only, not for each thread";
	if (slurp(list_text(list, "%s.unit", path), unit, sizeof(unit)) && unit[0])
		row.description = list_text(list, "in %s; %s", unit, terms);
	else
		row.description = terms;
	list_add(list, &row);
}

void list_sysfs(struct list *list)
{
	struct dirent **pmus, **events;
	int n = scandir(list->roots.sysfs, &pmus, no_dots, alphasort), m;

	for (int i = 0; i < n; i++) {
		const char *pmu = pmus[i]->d_name;
		int cpu = list_pmu_cpu(list, pmu);

		m = scandir(list_text(list, "%s/%s/events", list->roots.sysfs, pmu), &events,
			    no_dots, alphasort);
		for (int k = 0; k < m; k++) {
			add_event(list, pmu, events[k]->d_name, cpu);
			free(events[k]);
		}
		if (m >= 0)
			free(events);
		free(pmus[i]);
	}
	if (n >= 0)
		free(pmus);
}

/* ---- tracepoints ---------------------------------------------------------------------------*/

/* One is opened for all: to count, not to sample, the kernel asks the same of each, and closing
 * one takes it milliseconds. */
static struct list_answer try_one(struct list *list, char *names)
{
	static const char usual[] = "sched:sched_switch";
	struct pmc_event event = { .type = PERF_TYPE_TRACEPOINT };
	char *rest = names, *name = strstr(names, usual);
	char id[32] = "", path[512];

	if (!name)
		name = names;
	while (name && !id[0]) {
		size_t len = strcspn(name, "\n"), sys = strcspn(name, ":\n");

		if (sys < len) {
			snprintf(path, sizeof(path), "%s/events/%.*s/%.*s/id", list->roots.tracefs,
				 (int)sys, name, (int)(len - sys - 1), name + sys + 1);
			if (!slurp(path, id, sizeof(id)))
				id[0] = '\0';
		}
		name = rest;
		rest = rest ? strchr(rest, '\n') : NULL;
		rest = rest ? rest + 1 : NULL;
	}
	if (!id[0])
		return (struct list_answer){ false, "tracefs does not tell its number" };
	event.config = strtoull(id, NULL, 10);
	return list_try(list, &event, -1);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_tracepoints(struct list *list, char *names, size_t len)
{
	struct list_row row = { .pmu = "tracepoint",
				.type = "tracepoint",
				.description = "kernel tracepoint" };
	char **wanted = NULL;
	struct list_answer answer;
	size_t lines = 1, n = 0;

	for (size_t i = 0; i < len; i++)
		lines += names[i] == '\n';
	wanted = pmc_arena_alloc(&list->arena, lines * sizeof(*wanted));
	if (!wanted)
		return;
	answer = (struct list_answer){ 0 };
	for (char *name = names, *next; name && *name; name = next) {
		char *end = strchr(name, '\n');

		next = end ? end + 1 : NULL;
		if (end)
			*end = '\0';
		if (list_wants(list, name))
			wanted[n++] = name;
		if (end)
			*end = '\n';
	}
	if (!n)
		return;
	answer = try_one(list, names);
	for (size_t i = 0; i < len; i++)
		if (names[i] == '\n')
			names[i] = '\0';
	qsort(wanted, n, sizeof(*wanted), by_text);
	row.available = answer.available;
	row.reason = answer.reason;
	for (size_t i = 0; i < n; i++) {
		row.name = wanted[i];
		list_add(list, &row);
	}
}

void list_tracepoints(struct list *list)
{
	enum { ROOM = 4 << 20 };
	const char *path = list_text(list, "%s/available_events", list->roots.tracefs);
	char *names = malloc(ROOM);
	struct list_row row = {
		.pmu = "tracepoint",
		.name = "*:*",
		.type = "tracepoint",
		.description = "kernel tracepoints, system:name",
	};

	errno = 0;
	if (names && slurp(path, names, ROOM)) {
		add_tracepoints(list, names, strlen(names));
	} else if (!list->glob || (strchr(list->glob, ':') && !strstr(list->glob, "::"))) {
		row.reason =
			errno == EACCES || errno == EPERM ?
				list_text(list, "%s is closed to this user", list->roots.tracefs) :
				list_text(list, "tracefs is not mounted at %s",
					  list->roots.tracefs);
		list_add(list, &row);
	}
	free(names);
}
