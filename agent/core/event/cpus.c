/* SPDX-License-Identifier: MIT */
/*
 * cpus.c - the types of cores and the CPUs that count an event, by sysfs.
 *
 * The PMU of a type of core has a file `cpus`, an uncore PMU `cpumask`
 * (Documentation/ABI/testing/sysfs-bus-event_source-devices in the kernel). A machine is hybrid if
 * it has two or more types of cores.
 */
#include "agent/core/event/source.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

/* PERF_PMU_TYPE_SHIFT, which headers before Linux 5.13 lack. */
#define TYPE_SHIFT 32

static bool has_type(const struct event_parse *parse, const char *pmu, uint32_t *type)
{
	char text[32];
	uint64_t number;
	int len = pmc_file_read(text, sizeof(text), "%s/%s/type", parse->roots.sysfs, pmu);

	if (len < 0 || !event_number((struct event_span){ text, (size_t)len }, &number) ||
	    number > UINT32_MAX)
		return false;
	*type = (uint32_t)number;
	return true;
}

/* The kernel gives the PMU of the larger cores the lower number. */
static bool is_before(const struct event_core *a, const struct event_core *b)
{
	return a->type != b->type ? a->type < b->type : strcmp(a->name, b->name) < 0;
}

/* Common PMUs without `cpus`: a server has dozens, so their files are not tried. */
static bool is_no_core(const char *name)
{
	static const char *const others[] = { "uncore_",    "software", "tracepoint",
					      "breakpoint", "kprobe",	"uprobe" };

	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strncmp(name, others[i], strlen(others[i])) == 0)
			return true;
	return false;
}

static void try_core(const char *name, void *arg)
{
	struct event_parse *parse = arg;
	struct event_cores *cores = &parse->cores;
	struct event_core core;
	unsigned at;

	if (is_no_core(name) || cores->n == EVENT_CORES_MAX ||
	    pmc_path_exists("%s/%s/cpus", parse->roots.sysfs, name) != 0 ||
	    !has_type(parse, name, &core.type))
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
			pmc_dir_visit(parse->roots.sysfs, try_core, parse);
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
	       event->type != PERF_TYPE_BREAKPOINT;
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
	const struct event_parse *parse;
	uint32_t type;
	char name[EVENT_NAME_MAX];
};

static void try_type(const char *name, void *arg)
{
	struct pmu_search *search = arg;
	uint32_t type;

	if (!search->name[0] && strlen(name) < sizeof(search->name) &&
	    has_type(search->parse, name, &type) && type == search->type)
		memcpy(search->name, name, strlen(name) + 1);
}

/* Finds the PMU of an event from libpfm4, which gives its number only. */
static int find_pmu(struct event_parse *parse, struct pmc_event *event)
{
	struct pmu_search search = { .parse = parse, .type = event->type };

	pmc_dir_visit(parse->roots.sysfs, try_type, &search);
	if (search.name[0])
		event->pmu = pmc_arena_strdup(parse->arena, search.name);
	return event->pmu ? 0 : -ENOMEM;
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
	const struct event_cores *cores;
	int rc = 0;

	if (!event->pmu[0] && event->type >= PERF_TYPE_MAX)
		rc = find_pmu(parse, event);
	if (rc || (!event->pmu[0] && !event->core_type))
		return rc;
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
				  "'%s' counts for the whole machine: leave out :u and :k",
				  event_show(parse, item));
	if (event->brace != PMC_NO_BRACE)
		return event_fail(parse, PMC_PARSE_SYNTAX, item.at,
				  "'%s' counts for the whole machine: leave out the braces",
				  event_show(parse, item));
	return 0;
}
