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
	int error = pmc_file_read(list, sizeof(list), "/sys/devices/system/cpu/online");

	if (error < 0)
		return error;
	cpu = next_in(list, (uint64_t)(cpu + 1));
	return cpu < 0 ? -ENODEV : cpu;
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

/* Whether to open the event on this CPU: one CPU of each socket counts the events of an uncore PMU;
 * others would count them again. */
static bool counts_on(const struct pmc_counter_event *event, int cpu)
{
	struct search search = { .type = event->type };

	/* PMUs with types below PERF_TYPE_MAX have no list. */
	if (event->type >= PERF_TYPE_MAX)
		pmc_dir_visit(try_pmu, &search, "/sys/bus/event_source/devices");
	return !search.list[0] || next_in(search.list, (uint64_t)cpu) == cpu;
}

int counter_each_cpu(const struct pmc_counter_event *events, size_t n,
		     struct pmc_open_options *open,
		     int (*add)(void *arg, const struct pmc_open_options *open,
				struct pmc_failure *failure),
		     void *arg, struct pmc_failure *failure)
{
	const struct pmc_tried tried = { .call = PMC_CALL_READ };
	bool any = false;
	int error;

	for (open->cpu = counter_cpu_next(-1); open->cpu >= 0;
	     open->cpu = counter_cpu_next(open->cpu)) {
		size_t i = 0;

		while (i < n && counts_on(&events[i], open->cpu))
			i++;
		if (i < n)
			continue;
		error = add(arg, open, failure);
		if (error && (error != -ENODEV || counter_cpu_is_online(open->cpu)))
			return error;
		any |= !error;
	}
	error = open->cpu;
	if (error == -ENODEV && !any)
		counter_fail(failure, error, counter_event_name(events), "no online CPU counts it");
	else if (error != -ENODEV)
		counter_fail_call(failure, error, "/sys/devices/system/cpu/online", &tried);
	return error == -ENODEV && any ? 0 : error;
}

/* ---- open and close -----------------------------------------------------------------------*/

struct adding {
	struct pmc_counter_cpus *cpus;
	const struct pmc_counter_event *events;
};

static int add_cpu(void *arg, const struct pmc_open_options *open, struct pmc_failure *failure)
{
	const struct adding *adding = arg;
	struct pmc_counter_cpus *cpus = adding->cpus;
	struct one_cpu *list = realloc(cpus->list, (cpus->count + 1) * sizeof(*list));
	int error;

	if (!list)
		return counter_fail(failure, -ENOMEM, "memory", "out of memory");
	cpus->list = list;
	list[cpus->count].cpu = open->cpu;
	error = pmc_group_open(&list[cpus->count].group, adding->events, cpus->n, open, failure);
	cpus->count += !error;
	return error;
}

int pmc_counter_cpus_open(struct pmc_counter_cpus **cpus, const struct pmc_counter_event *events,
			  size_t n, const struct pmc_open_options *options,
			  struct pmc_failure *failure)
{
	struct adding adding = { .events = events };
	struct counter_request request;
	struct pmc_counter_cpus *new;
	bool enabled;
	int error;

	if (!cpus || !events || !n)
		return counter_fail(failure, -EINVAL, cpus ? "events" : "cpus", "NULL or none");
	*cpus = NULL;
	error = counter_request_each_cpu(&request, NULL, options, failure);
	if (error)
		return error;
	/* Started together at the end. */
	enabled = request.open.enabled;
	request.open.enabled = false;
	adding.cpus = new = calloc(1, sizeof(*new));
	if (new)
		new->values = calloc(n, sizeof(*new->values));
	if (!new || !new->values) {
		pmc_counter_cpus_close(new);
		return counter_fail(failure, -ENOMEM, "memory", "out of memory");
	}
	new->n = n;
	error = counter_each_cpu(events, n, &request.open, add_cpu, &adding, failure);
	if (!error && enabled)
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
