/* SPDX-License-Identifier: MIT */
/*
 * cpus.c - the types of cores and the CPUs that count an event, by sysfs.
 *
 * The PMU of a type of core has a file `cpus`, an uncore PMU `cpumask`
 * (Documentation/ABI/testing/sysfs-bus-event_source-devices in the kernel). A machine is hybrid if
 * it has two or more types of cores.
 */
#include "lib/event/source.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

/* PERF_PMU_TYPE_SHIFT, which headers before Linux 5.13 lack. */
#define TYPE_SHIFT 32

/* The kernel gives the PMU of the larger cores the lower number. */
static bool is_before(const struct event_core *a, const struct event_core *b)
{
	return a->type != b->type ? a->type < b->type : strcmp(a->name, b->name) < 0;
}

static void try_core(const char *name, void *arg)
{
	struct event_parse *parse = arg;
	struct event_cores *cores = &parse->cores;
	struct event_core core;
	unsigned at;

	if (cores->n == EVENT_CORES_MAX ||
	    pmc_path_exists("%s/%s/cpus", parse->roots.sysfs, name) != 0 ||
	    !event_pmu_type(parse, event_span_of(name), &core.type))
		return;
	core.name = pmc_arena_strdup(parse->arena, name);
	if (!core.name)
		return;
	for (at = cores->n++; at > 0 && is_before(&core, &cores->list[at - 1]); at--)
		cores->list[at] = cores->list[at - 1];
	cores->list[at] = core;
}

const struct event_cores *event_cores(struct event_parse *parse)
{
	struct event_cores *cores = &parse->cores;

	if (!cores->known) {
		cores->known = true;
		/* x86 that is not hybrid has a PMU "cpu". */
		if (pmc_path_exists("%s/cpu", parse->roots.sysfs) != 0)
			pmc_dir_visit(try_core, parse, "%s", parse->roots.sysfs);
		if (parse->arena->failed)
			return NULL;
		if (cores->n < 2)
			cores->n = 0;
	}
	return cores;
}

bool pmc_event_needs_pmu(const struct pmc_event *event)
{
	return event->type != PERF_TYPE_SOFTWARE && event->type != PERF_TYPE_TRACEPOINT &&
	       event->type != PERF_TYPE_BREAKPOINT && event->type != PMC_TYPE_OS;
}

bool pmc_event_is_of_core(const struct pmc_event *event, const char *core_type)
{
	return !strcmp(event->core_type ? event->core_type : "", core_type ? core_type : "");
}

bool event_is_everywhere(const struct pmc_event *event)
{
	if (event->pmu[0] || event->core_type)
		return false;
	return event->type == PERF_TYPE_HARDWARE || event->type == PERF_TYPE_HW_CACHE ||
	       event->type == PERF_TYPE_RAW;
}

void event_to_core(struct pmc_event *event, const struct event_core *core)
{
	event->core_type = core->name;
	/* Raw events have the type of the PMU, generic ones have it above the code. */
	if (event->type == PERF_TYPE_RAW)
		event->type = core->type;
	else
		event->config |= (uint64_t)core->type << TYPE_SHIFT;
}

struct pmu_search {
	struct event_parse *parse;
	struct pmc_event *event;
};

static void try_type(const char *name, void *arg)
{
	struct pmu_search *search = arg;
	uint32_t type;

	if (event_pmu_type(search->parse, event_span_of(name), &type) &&
	    type == search->event->type)
		search->event->pmu = pmc_arena_strdup(search->parse->arena, name);
}

/* The file is empty if none of the CPUs is online. */
static int find_uncore_cpus(struct event_parse *parse, struct pmc_event *event)
{
	char text[PMC_PATH_MAX];
	int len =
		pmc_file_read(text, sizeof(text), "%s/%s/cpumask", parse->roots.sysfs, event->pmu);

	if (len <= 0)
		return 0;
	event->cpus = pmc_arena_strndup(parse->arena, text, (size_t)len);
	return event->cpus ? 0 : -ENOMEM;
}

int event_place(struct event_parse *parse, struct pmc_event *event)
{
	struct pmu_search search = { parse, event };
	const struct event_cores *cores;

	/* libpfm4 gives the number of the PMU only. */
	if (!event->pmu[0] && event->type >= PERF_TYPE_MAX)
		pmc_dir_visit(try_type, &search, "%s", parse->roots.sysfs);
	if (!event->pmu)
		return -ENOMEM;
	if (!event->pmu[0] && !event->core_type)
		return 0;
	cores = event_cores(parse);
	if (!cores)
		return -ENOMEM;
	for (unsigned i = 0; i < cores->n; i++) {
		if (cores->list[i].type == event->type) {
			event->core_type = cores->list[i].name;
			return 0;
		}
	}
	return event->pmu[0] ? find_uncore_cpus(parse, event) : 0;
}

int event_check_uncore(struct event_parse *parse, struct event_span item,
		       const struct pmc_event *event)
{
	if (!event->cpus || !event->cpus[0])
		return 0;
	if (event->asked_scope)
		return event_fail(parse, PMC_PARSE_BAD_MODIFIER, item.at,
				  "'%.*s' counts for the whole machine: leave out :u and :k",
				  EVENT_SHOW(item));
	if (event->brace != PMC_NO_BRACE)
		return event_fail(parse, PMC_PARSE_SYNTAX, item.at,
				  "'%.*s' counts for the whole machine: leave out the braces",
				  EVENT_SHOW(item));
	return 0;
}
