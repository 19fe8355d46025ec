/* SPDX-License-Identifier: MIT */
/* sysfs.c - the named events of the PMUs in sysfs, and the kernel's tracepoints. */
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "tools/list/list.h"

#include <dirent.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- PMUs ----------------------------------------------------------------------------------*/

/* Not hidden, and not .scale, .unit and the like, which belong to the event beside them. */
static int no_dots(const struct dirent *entry)
{
	return !strchr(entry->d_name, '.');
}

/* The first CPU on which a machine-wide PMU opens events; -1: they are opened on threads. */
static int cpu_of(struct list *list, const char *pmu)
{
	const char *at;
	char text[256];
	uint64_t cpu;

	pmc_file_read(text, sizeof(text), "%s/%s/cpumask", list->roots.sysfs, pmu);
	at = text;
	return pmc_number_take(&at, NULL, 10, &cpu) && cpu <= INT_MAX ? (int)cpu : -1;
}

static void add_event(struct list *list, const char *pmu, const char *event, int cpu)
{
	const char *path =
		pmc_arena_format(&list->arena, "%s/%s/events/%s", list->roots.sysfs, pmu, event);
	const char *name = pmc_arena_format(&list->arena, "%s/%s/", pmu, event);
	struct list_row row = { .pmu = pmu, .name = name, .type = "sysfs" };
	struct pmc_arena arena = { 0 };
	struct pmc_parse_error error;
	char terms[512], unit[64];
	struct pmc_events events;

	if (!list_wants(list, name) || pmc_file_read(terms, sizeof(terms), "%s", path) < 0)
		return;
	if (pmc_events_parse(name, &list->roots, &arena, &events, &error))
		row.answer.reason = pmc_arena_strdup(&list->arena, error.text);
	else
		row.answer = list_try(list, &events.list[0], cpu);
	pmc_arena_free(&arena);
	if (cpu >= 0 && row.answer.available)
		row.answer.reason = "machine-wide only, not for each thread";
	row.description = terms;
	if (pmc_file_read(unit, sizeof(unit), "%s.unit", path) > 0)
		row.description = pmc_arena_format(&list->arena, "in %s; %s", unit, terms);
	list_add(list, &row);
}

void list_sysfs(struct list *list)
{
	struct dirent **pmus, **events;
	int n = scandir(list->roots.sysfs, &pmus, no_dots, alphasort), m;

	for (int i = 0; i < n; i++) {
		const char *pmu = pmus[i]->d_name;
		int cpu = cpu_of(list, pmu);

		m = scandir(pmc_arena_format(&list->arena, "%s/%s/events", list->roots.sysfs, pmu),
			    &events, no_dots, alphasort);
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

/* Opens one tracepoint for all of them: the kernel's conditions for counting are the same, and
 * closing one takes milliseconds. */
static struct list_answer try_tracepoint(struct list *list)
{
	struct pmc_event event = { .type = PERF_TYPE_TRACEPOINT };
	char id[32];

	if (pmc_file_read(id, sizeof(id), "%s/events/sched/sched_switch/id", list->roots.tracefs) <=
	    0)
		return (struct list_answer){ .reason = "tracefs does not show the event's number" };
	event.config = strtoull(id, NULL, 10);
	return list_try(list, &event, -1);
}

void list_tracepoints(struct list *list)
{
	const char *path =
		pmc_arena_format(&list->arena, "%s/available_events", list->roots.tracefs);
	struct list_row row = { .pmu = "tracepoint",
				.type = "tracepoint",
				.description = "kernel tracepoint" };
	const unsigned first = list->n;
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	while (file && getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		row.name = line;
		if (!list_wants(list, line))
			continue;
		if (list->n == first)
			row.answer = try_tracepoint(list);
		list_add(list, &row);
	}
	free(line);
	if (file)
		fclose(file);
	list_sort(list, first);
}
