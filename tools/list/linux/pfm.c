/* SPDX-License-Identifier: MIT */
/*
 * pfm.c - the events in libpfm4's tables for the PMUs of this machine.
 *
 * <perfmon/perf_event.h> clashes with <linux/perf_event.h>.
 */
#include "tools/list/list.h"

#if defined(__has_include)
#if __has_include(<perfmon/pfmlib_perf_event.h>)
#define HAVE_PFM 1
#endif
#endif

#ifndef HAVE_PFM

void list_pfm(struct list *list)
{
	(void)list;
}

#else

#include <dlfcn.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <string.h>

#define FUNCTIONS(X)                                                                               \
	X(initialize)                                                                              \
	X(terminate) X(get_pmu_info) X(get_event_info) X(get_event_attr_info) X(get_event_next)

struct functions {
#define X(name) __typeof__(pfm_##name) *name;
	FUNCTIONS(X)
#undef X
};

static bool functions_of(void *library, struct functions *pfm)
{
	/* POSIX lets an object pointer become a function pointer, ISO C does not. */
#define X(name)                                                                                    \
	*(void **)&pfm->name = dlsym(library, "pfm_" #name);                                       \
	if (!pfm->name)                                                                            \
		return false;
	FUNCTIONS(X)
#undef X
	return true;
}

struct table {
	struct list *list;
	const struct functions *pfm;
	const char *pmu;
	bool judged;
	struct list_answer answer; /* of all: events of a PMU differ in config bits only */
};

static void judge(struct table *table, const char *name)
{
	struct list *list = table->list;
	struct pmc_parse_error error;
	struct pmc_events events;

	if (table->judged || pmc_events_parse(name, NULL, &list->arena, &events, &error) != 0)
		return;
	table->answer = list_try(list, &events.list[0], -1);
	table->judged = true;
}

static void add_row(struct table *table, const char *name, const char *description)
{
	struct list_row row = {
		.pmu = table->pmu, .name = name, .type = "libpfm4", .description = description
	};

	judge(table, name);
	row.answer = table->judged ?
			     table->answer :
			     (struct list_answer){ .reason = "not countable by its libpfm4 name" };
	list_add(table->list, &row);
}

/* One row for the event, or one for each of its unit masks. */
static void add_event(struct table *table, int index)
{
	pfm_event_info_t info = { .size = sizeof(info) };
	char name[512];
	int masks = 0;

	if (table->pfm->get_event_info(index, PFM_OS_PERF_EVENT_EXT, &info) != PFM_SUCCESS)
		return;
	for (int i = 0; i < info.nattrs; i++) {
		pfm_event_attr_info_t attr = { .size = sizeof(attr) };
		char text[700];

		if (table->pfm->get_event_attr_info(index, i, PFM_OS_PERF_EVENT_EXT, &attr) !=
			    PFM_SUCCESS ||
		    attr.type != PFM_ATTR_UMASK)
			continue;
		masks++;
		snprintf(name, sizeof(name), "%s::%s:%s", table->pmu, info.name, attr.name);
		snprintf(text, sizeof(text), "%s: %s", info.desc, attr.desc);
		if (list_wants(table->list, name))
			add_row(table, name, text);
	}
	snprintf(name, sizeof(name), "%s::%s", table->pmu, info.name);
	if (!masks && list_wants(table->list, name))
		add_row(table, name, info.desc);
}

static void add_pmus(struct list *list, const struct functions *pfm)
{
	for (unsigned pmu = 0; pmu < PFM_PMU_MAX; pmu++) {
		pfm_pmu_info_t info = { .size = sizeof(info) };
		struct table table = { .list = list, .pfm = pfm };

		/* `perf` has the kernel's own names, which are built in; `perf_raw` is empty. */
		if (pfm->get_pmu_info((pfm_pmu_t)pmu, &info) != PFM_SUCCESS || !info.is_present ||
		    strncmp(info.name, "perf", 4) == 0)
			continue;
		table.pmu = info.name;
		for (int i = info.first_event; i >= 0; i = pfm->get_event_next(i))
			add_event(&table, i);
	}
}

void list_pfm(struct list *list)
{
	void *library = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
	struct functions pfm;

	if (library && functions_of(library, &pfm) && pfm.initialize() == PFM_SUCCESS) {
		add_pmus(list, &pfm);
		pfm.terminate();
	}
	if (library)
		dlclose(library);
}

#endif
