/* SPDX-License-Identifier: MIT */
/* counter_cpus.c - a group of events on every online CPU. */
#include "lib/counter/counter.h"
#include "lib/base/file.h"
#include "lib/base/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct pmc_counter_cpus {
	struct one_cpu {
		struct pmc_group *group;
		int cpu;
	} * list;
	size_t count;
	struct pmc_group_value *values; /* of one group, while reading */
	size_t n;
};

/* ---- lists of CPUs, as "0-3,8" ------------------------------------------------------------*/

#define LIST_MAX 4096

/* The least CPU of the list that is at least `from`; -1: none. */
static int next_in(const char *list, uint64_t from)
{
	const char *at = list;
	uint64_t first, last, best = UINT64_MAX;

	while (pmc_range_take(&at, &first, &last))
		if (last >= from && (first > from ? first : from) < best)
			best = first > from ? first : from;
	return best <= INT32_MAX ? (int)best : -1;
}

int counter_cpu_next(int cpu)
{
	char list[LIST_MAX];

	if (pmc_file_read(list, sizeof(list), "/sys/devices/system/cpu/online") < 0)
		return -1;
	return next_in(list, (uint64_t)(cpu + 1));
}

bool counter_cpu_is_online(int cpu)
{
	return counter_cpu_next(cpu - 1) == cpu;
}

struct search {
	uint64_t type;
	char list[LIST_MAX]; /* CPUs of the PMU of this type; "": all */
};

static void try_pmu(const char *name, void *arg)
{
	struct search *search = arg;
	uint64_t type;
	char text[32];

	if (search->list[0] ||
	    pmc_file_read(text, sizeof(text), "/sys/bus/event_source/devices/%s/type", name) < 0 ||
	    !pmc_number(text, UINT32_MAX, &type) || type != search->type)
		return;
	if (pmc_file_read(search->list, LIST_MAX, "/sys/bus/event_source/devices/%s/cpumask",
			  name) <= 0)
		pmc_file_read(search->list, LIST_MAX, "/sys/bus/event_source/devices/%s/cpus",
			      name);
}

bool counter_cpu_counts(const struct pmc_counter_event *event, int cpu)
{
	struct search search = { .type = event->type };

	/* PMUs with types below PERF_TYPE_MAX have no list. */
	if (event->type >= PERF_TYPE_MAX)
		pmc_dir_visit(try_pmu, &search, "/sys/bus/event_source/devices");
	return !search.list[0] || next_in(search.list, (uint64_t)cpu) == cpu;
}

/* ---- open and close -----------------------------------------------------------------------*/

static bool all_count_on(const struct pmc_counter_event *events, size_t n, int cpu)
{
	for (size_t i = 0; i < n; i++)
		if (!counter_cpu_counts(&events[i], cpu))
			return false;
	return true;
}

static int add_cpu(struct pmc_counter_cpus *cpus, const struct pmc_counter_event *events, size_t n,
		   const struct pmc_open_options *options, struct pmc_failure *failure)
{
	struct one_cpu *list = realloc(cpus->list, (cpus->count + 1) * sizeof(*list));
	int error;

	if (!list)
		return counter_fail(failure, -ENOMEM, "memory", "out of memory");
	cpus->list = list;
	list[cpus->count].cpu = options->cpu;
	error = pmc_group_open(&list[cpus->count].group, events, n, options, failure);
	cpus->count += !error;
	return error;
}

int pmc_counter_cpus_open(struct pmc_counter_cpus **cpus, const struct pmc_counter_event *events,
			  size_t n, const struct pmc_open_options *options,
			  struct pmc_failure *failure)
{
	struct counter_request request;
	struct pmc_open_options open;
	struct pmc_counter_cpus *new;
	int error = 0;

	if (!cpus || !events || !n)
		return counter_fail(failure, -EINVAL, cpus ? "events" : "cpus", "NULL or none");
	*cpus = NULL;
	error = counter_request_each_cpu(&request, NULL, options, failure);
	if (error)
		return error;
	open = request.open;
	/* Started together at the end. */
	open.enabled = false;
	new = calloc(1, sizeof(*new));
	if (new)
		new->values = calloc(n, sizeof(*new->values));
	if (!new || !new->values)
		error = counter_fail(failure, -ENOMEM, "memory", "out of memory");
	for (int cpu = counter_cpu_next(-1); !error && cpu >= 0; cpu = counter_cpu_next(cpu)) {
		open.cpu = cpu;
		if (!all_count_on(events, n, cpu))
			continue;
		error = add_cpu(new, events, n, &open, failure);
		/* The CPU went offline. */
		if (error == -ENODEV && !counter_cpu_is_online(cpu))
			error = 0;
	}
	if (!error && new->count == 0)
		error = counter_fail(failure, -ENODEV, counter_event_name(&events[0]),
				     "no online CPU counts it");
	if (!error)
		new->n = n;
	if (!error && request.open.enabled)
		error = pmc_counter_cpus_enable(new);
	if (error)
		pmc_counter_cpus_close(new);
	else
		*cpus = new;
	return error;
}

void pmc_counter_cpus_close(struct pmc_counter_cpus *cpus)
{
	if (!cpus)
		return;
	while (cpus->count > 0)
		pmc_group_close(cpus->list[--cpus->count].group);
	free(cpus->list);
	free(cpus->values);
	free(cpus);
}

/* ---- the groups ---------------------------------------------------------------------------*/

size_t pmc_counter_cpus_count(const struct pmc_counter_cpus *cpus)
{
	return cpus ? cpus->count : 0;
}

struct pmc_group *pmc_counter_cpus_at(const struct pmc_counter_cpus *cpus, size_t index, int *cpu)
{
	if (!cpus || index >= cpus->count)
		return NULL;
	if (cpu)
		*cpu = cpus->list[index].cpu;
	return cpus->list[index].group;
}

static int each(struct pmc_counter_cpus *cpus, int (*call)(struct pmc_group *group))
{
	int error = cpus ? 0 : -EINVAL;

	for (size_t i = 0; !error && i < cpus->count; i++)
		error = call(cpus->list[i].group);
	return error;
}

int pmc_counter_cpus_enable(struct pmc_counter_cpus *cpus)
{
	return each(cpus, pmc_group_enable);
}

int pmc_counter_cpus_disable(struct pmc_counter_cpus *cpus)
{
	return each(cpus, pmc_group_disable);
}

int pmc_counter_cpus_reset(struct pmc_counter_cpus *cpus)
{
	return each(cpus, pmc_group_reset);
}

int pmc_counter_cpus_read(const struct pmc_counter_cpus *cpus, struct pmc_group_times *times,
			  struct pmc_group_value *values, size_t max)
{
	if (!cpus || !times || (max && !values))
		return -EINVAL;
	*times = (struct pmc_group_times){ .n = cpus->n };
	memset(values, 0, (max < cpus->n ? max : cpus->n) * sizeof(*values));
	for (size_t i = 0; i < cpus->count; i++) {
		struct pmc_group_times one = { 0 };
		int error = pmc_group_read(cpus->list[i].group, &one, cpus->values, cpus->n);

		if (error && error != -EAGAIN && error != -EBUSY)
			return error;
		times->enabled_ns += one.enabled_ns;
		times->running_ns += one.running_ns;
		for (size_t k = 0; k < cpus->n && k < max; k++) {
			values[k].count += cpus->values[k].count;
			values[k].lost += cpus->values[k].lost;
		}
	}
	if (max < cpus->n)
		return -ENOSPC;
	return times->running_ns ? 0 : times->enabled_ns ? -EBUSY : -EAGAIN;
}
