/* SPDX-License-Identifier: MIT */
/* rows.c - the rows of a list: memory, selection by name, built-in events and event sets. */
#include "lib/base/file.h"
#include "lib/base/out.h"
#include "tools/list/list.h"

#include <fnmatch.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *list_text(struct list *list, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return pmc_arena_strdup(&list->arena, text);
}

/* The processor's PMU is `cpu` on x86 and POWER, `cpum_cf` on s390; elsewhere, and on hybrid CPUs,
 * it is any that has a file `cpus`. */
static void try_core_pmu(const char *name, void *arg)
{
	struct list *list = arg;

	if (!list->core_pmu && (strcmp(name, "cpu") == 0 || strcmp(name, "cpum_cf") == 0 ||
				pmc_path_exists("%s/%s/cpus", list->roots.sysfs, name) == 0))
		list->core_pmu = list_text(list, "%s", name);
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
	/* libpfm4's events come from list_pfm(). */
	list->roots.no_pfm = true;
	pmc_dir_visit(try_core_pmu, list, "%s", list->roots.sysfs);
}

void list_free(struct list *list)
{
	pmc_arena_free(&list->arena);
	memset(list, 0, sizeof(*list));
}

bool list_wants(const struct list *list, const char *name)
{
	/* libpfm4's names are valid without their PMU too. */
	const char *bare = strstr(name, "::");

	return !list->glob || fnmatch(list->glob, name, FNM_CASEFOLD) == 0 ||
	       (bare && fnmatch(list->glob, bare + 2, FNM_CASEFOLD) == 0);
}

void list_add(struct list *list, const struct list_row *row)
{
	struct list_row *to;

	list->rows =
		pmc_arena_grow(&list->arena, list->rows, list->n, &list->room, sizeof(*list->rows));
	to = &list->rows[list->n++];
	*to = *row;
	if (row->pmu)
		to->pmu = pmc_arena_strdup(&list->arena, row->pmu);
	to->name = pmc_arena_strdup(&list->arena, row->name);
	to->description = pmc_arena_strdup(&list->arena, row->description);
}

static int by_name(const void *a, const void *b)
{
	const struct list_row *x = a, *y = b;

	return strcmp(x->name, y->name);
}

void list_sort(struct list *list, unsigned first)
{
	if (list->n > first)
		qsort(list->rows + first, list->n - first, sizeof(*list->rows), by_name);
}

static void add_builtin(const struct pmc_builtin *builtin, void *arg)
{
	const struct pmc_event event = { .type = builtin->type, .config = builtin->config };
	struct list *list = arg;
	struct list_row row = { .name = builtin->name, .description = builtin->doc };

	if (!list_wants(list, builtin->name))
		return;
	row.answer = list_try(list, &event, -1);
	if (builtin->alias_of)
		row.description = list_text(list, "same as %s", builtin->alias_of);
	row.type = builtin->type == PERF_TYPE_SOFTWARE ? "software" :
		   builtin->type == PMC_TYPE_OS	       ? "os" :
		   builtin->type == PERF_TYPE_HW_CACHE ? "cache" :
							 "hardware";
	row.pmu = builtin->type == PERF_TYPE_SOFTWARE ? "software" :
		  builtin->type == PMC_TYPE_OS	      ? "os" :
							list->core_pmu;
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
		if (reason && open)
			reason = list_text(list, "only %u of %u events: %s", open, events.count,
					   reason);
		row.answer = (struct list_answer){ open == events.count, reason, NULL };
		list_add(list, &row);
	}
}
