/* SPDX-License-Identifier: MIT */
/* rows.c - the rows of a list: memory, choice by name, and the events that are built in. */
#include "agent/core/base/out.h"
#include "tools/list/list.h"

#include <dirent.h>
#include <fnmatch.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *list_text(struct list *list, const char *format, ...)
{
	const char *kept;
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	kept = pmc_arena_strdup(&list->arena, text);
	return kept ? kept : "";
}

/* A processor's PMU is called cpu on x86 and POWER, cpum_cf on s390; elsewhere, and on hybrids,
 * it lists its cpus. */
static const char *find_core_pmu(struct list *list)
{
	DIR *dir = opendir(list->roots.sysfs);
	const char *found = NULL;
	struct dirent *entry;

	while (dir && !found && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (name[0] == '.')
			continue;
		if (strcmp(name, "cpu") == 0 || strcmp(name, "cpum_cf") == 0 ||
		    !access(list_text(list, "%s/%s/cpus", list->roots.sysfs, name), F_OK))
			found = list_text(list, "%s", name);
	}
	if (dir)
		closedir(dir);
	return found;
}

void list_init(struct list *list)
{
	if (!list->roots.sysfs)
		list->roots.sysfs = "/sys/bus/event_source/devices";
	if (!list->roots.tracefs)
		list->roots.tracefs =
			access("/sys/kernel/tracing/events", F_OK) &&
					!access("/sys/kernel/debug/tracing/events", F_OK) ?
				"/sys/kernel/debug/tracing" :
				"/sys/kernel/tracing";
	/* It has a source of its own, which reads its tables once. */
	list->roots.no_pfm = true;
	list->core_pmu = find_core_pmu(list);
}

void list_free(struct list *list)
{
	pmc_arena_free(&list->arena);
	memset(list, 0, sizeof(*list));
}

bool list_wants(const struct list *list, const char *name)
{
	/* libpfm4's names are also understood without their PMU. */
	const char *bare = strstr(name, "::");

	return !list->glob || fnmatch(list->glob, name, FNM_CASEFOLD) == 0 ||
	       (bare && fnmatch(list->glob, bare + 2, FNM_CASEFOLD) == 0);
}

void list_add(struct list *list, const struct list_row *row)
{
	struct list_row *to;

	if (list->n == list->room) {
		unsigned room = list->room ? list->room * 2 : 512;
		struct list_row *rows = pmc_arena_alloc(&list->arena, room * sizeof(*rows));

		if (!rows)
			return;
		if (list->n)
			memcpy(rows, list->rows, list->n * sizeof(*rows));
		list->rows = rows;
		list->room = room;
	}
	to = &list->rows[list->n++];
	*to = *row;
	if (row->pmu)
		to->pmu = pmc_arena_strdup(&list->arena, row->pmu);
	to->name = pmc_arena_strdup(&list->arena, row->name);
	to->description = pmc_arena_strdup(&list->arena, row->description);
}

static void add_builtin(const struct pmc_builtin *builtin, void *arg)
{
	const struct pmc_event event = { .type = builtin->type, .config = builtin->config };
	struct list *list = arg;
	struct list_row row = { .name = builtin->name, .description = builtin->doc };
	struct list_answer answer;

	if (!list_wants(list, builtin->name))
		return;
	answer = list_try(list, &event, -1);
	row.available = answer.available;
	row.reason = answer.reason;
	if (builtin->alias_of)
		row.description = list_text(list, "the same as %s", builtin->alias_of);
	row.type = builtin->type == PERF_TYPE_SOFTWARE ? "software" :
		   builtin->type == PERF_TYPE_HW_CACHE ? "cache" :
							 "hardware";
	row.pmu = builtin->type == PERF_TYPE_SOFTWARE ? "software" : list->core_pmu;
	list_add(list, &row);
}

void list_builtins(struct list *list)
{
	pmc_builtins_each(add_builtin, list);
}

void list_sets(struct list *list)
{
	for (unsigned i = 0; i < pmc_n_event_sets; i++) {
		const char *name = list_text(list, "@%s", pmc_event_sets[i].name);
		struct list_row row = { .name = name, .type = "set" };
		const char *reason = NULL, *comma = "";
		struct pmc_parse_error error;
		struct pmc_events events;
		unsigned open = 0;
		struct pmc_out out;
		char text[1000];

		if (!list_wants(list, name))
			continue;
		pmc_out_to_mem(&out, text, sizeof(text));
		pmc_outf(&out, "%s: ", pmc_event_sets[i].doc);
		if (pmc_events_parse(name, &list->roots, &list->arena, &events, &error))
			continue;
		for (unsigned k = 0; k < events.count; k++) {
			struct list_answer answer = list_try(list, &events.list[k], -1);

			pmc_outf(&out, "%s%s", comma, events.list[k].name);
			comma = ",";
			open += answer.available;
			if (!answer.available && !reason)
				reason = answer.reason;
		}
		row.description = text;
		row.available = open == events.count;
		if (reason && open)
			row.reason = list_text(list, "%u of its %u events open; the others: %s",
					       open, events.count, reason);
		else
			row.reason = reason;
		list_add(list, &row);
	}
}
