/* SPDX-License-Identifier: MIT */
/*
 * counter_group.c - groups of counters that are on the PMU together: one, one on every online CPU,
 * and typed ones, the rows of PMC_GROUP().
 */
#include "lib/base/number.h"
#include "lib/counter/counter.h"
#include "lib/event/source.h"

#include <errno.h>
#include <pmc/group.h>
#include <stdlib.h>
#include <string.h>

/* ---- open, add, close ---------------------------------------------------------------------*/

/* pmc_group_open() that says which event failed; -1: none in particular. */
static int group_open(struct pmc_group **group, const struct pmc_counter_event *events, size_t n,
		      const struct pmc_open_options *options, int32_t *failed,
		      struct pmc_failure *failure)
{
	struct counter_request request;
	struct pmc_group *new;
	int error;

	*group = NULL;
	*failed = -1;
	error = counter_request_make(&request, NULL, options, failure);
	if (error)
		return error;
	new = calloc(1, sizeof(*new));
	if (!new)
		return counter_fail(failure, -ENOMEM, "memory", "out of memory");
	new->open = request.open;
	/* Enabled once complete: siblings must not miss what their leader counts. */
	new->open.enabled = n == 0 && request.open.enabled;
	for (size_t i = 0; i < n && !error; i++) {
		error = pmc_group_add(new, &events[i], NULL, NULL, failure);
		*failed = error ? (int32_t)i : -1;
	}
	if (!error && n > 0 && request.open.enabled) {
		error = pmc_group_enable(new);
		if (error)
			pmc_group_explain(new, error, failure);
	}
	new->open.enabled = request.open.enabled;
	if (error)
		pmc_group_close(new);
	else
		*group = new;
	return error;
}

int pmc_group_open(struct pmc_group **group, const struct pmc_counter_event *events, size_t n,
		   const struct pmc_open_options *options, struct pmc_failure *failure)
{
	int32_t failed;

	if (!group || (n && !events))
		return counter_fail(failure, -EINVAL, group ? "events" : "group", "NULL");
	return group_open(group, events, n, options, &failed, failure);
}

static int make_room(struct pmc_group *group)
{
	void *members = realloc(group->members, (group->count + 1) * sizeof(*group->members));
	void *zero = realloc(group->zero, (group->count + 1) * sizeof(*group->zero));

	group->members = members ? members : group->members;
	group->zero = zero ? zero : group->zero;
	return members && zero ? 0 : -ENOMEM;
}

/* Lets a new member of a running group run. The kernel reschedules only the member's own PMU, which
 * for software events may differ from the leader's (__perf_install_in_context() and ctx_resched()
 * in kernel/events/core.c); the member would not run until the next context switch. */
static void join_the_running(const struct pmc_counter *leader, struct pmc_counter *counter)
{
	uint64_t before = counter_running_ns(leader);

	if (!before || counter_running_ns(counter) || counter_running_ns(leader) == before)
		return;
	pmc_perf_ioctl(leader->fd, PERF_EVENT_IOC_DISABLE, NULL);
	/* Enabled time before this point must not scale the count. */
	counter_zero_here(counter);
	pmc_perf_ioctl(leader->fd, PERF_EVENT_IOC_ENABLE, NULL);
}

static int member_request(const struct pmc_group *group, const struct pmc_counter_event *event,
			  const struct pmc_open_options *options, struct counter_request *request,
			  struct pmc_failure *failure)
{
	int error = counter_request_make(request, event, options ? options : &group->open, failure);
	struct pmc_open_options *open = &request->open;

	if (error)
		return error;
	/* Only the leader reads the whole group. */
	if (group->count == 0)
		open->read_format |= PERF_FORMAT_GROUP;
	else
		open->read_format &= ~(uint64_t)PERF_FORMAT_GROUP;
	if (group->count && !options)
		open->pinned = open->exclusive = open->enable_on_exec = false;
	return 0;
}

/* Members that do not choose a mode all fall back to user mode, or none does: ratios of events with
 * different scopes are meaningless. */
static int open_member(struct pmc_group *group, struct counter_request *request,
		       struct pmc_counter **counter, struct pmc_failure *failure)
{
	struct pmc_counter *leader = group->count ? group->members[0] : NULL;
	const bool chooses = !counter_may_fall_back(request);
	int error;

	request->event.exclude_kernel |= group->user_only && !chooses;
	error = counter_request_open(request, leader, !group->all_modes, counter, failure);
	if (!error && !chooses) {
		group->user_only = request->event.exclude_kernel;
		group->all_modes = !group->user_only;
	}
	return error;
}

int pmc_group_add(struct pmc_group *group, const struct pmc_counter_event *event,
		  const struct pmc_open_options *options, struct pmc_counter **member,
		  struct pmc_failure *failure)
{
	struct pmc_counter *leader, *counter = NULL;
	struct counter_request request;
	int error;

	if (member)
		*member = NULL;
	if (!group || !event)
		return counter_fail(failure, -EINVAL, group ? "event" : "group", "NULL");
	leader = group->count ? group->members[0] : NULL;
	error = member_request(group, event, options, &request, failure);
	if (error)
		return error;
	error = make_room(group);
	if (error)
		return counter_fail(failure, error, "memory", "out of memory");
	error = open_member(group, &request, &counter, failure);
	if (error)
		return error;
	if (leader)
		join_the_running(leader, counter);
	counter->group = group;
	group->zero[group->count] = (struct pmc_record_value){ .value = 0 };
	group->members[group->count++] = counter;
	if (member)
		*member = counter;
	return 0;
}

void pmc_group_close(struct pmc_group *group)
{
	if (!group)
		return;
	/* The leader last: without it each member would be a group of its own and run. */
	while (group->count > 0)
		counter_free(group->members[--group->count]);
	free(group->members);
	free(group->zero);
	free(group);
}

/* ---- members ------------------------------------------------------------------------------*/

size_t pmc_group_count(const struct pmc_group *group)
{
	return group ? group->count : 0;
}

struct pmc_counter *pmc_group_at(const struct pmc_group *group, size_t index)
{
	return group && index < group->count ? group->members[index] : NULL;
}

int pmc_group_index(const struct pmc_group *group, const struct pmc_counter *counter)
{
	for (size_t i = 0; group && i < group->count; i++)
		if (group->members[i] == counter)
			return (int)i;
	return group && counter ? -ENOENT : -EINVAL;
}

/* ---- all at once --------------------------------------------------------------------------*/

/* Calls it for the leader. */
static int by_leader(const struct pmc_group *group, int (*call)(struct pmc_counter *leader))
{
	return !group ? -EINVAL : group->count ? call(group->members[0]) : -ENOENT;
}

int pmc_group_enable(struct pmc_group *group)
{
	return by_leader(group, pmc_counter_enable_group);
}

int pmc_group_disable(struct pmc_group *group)
{
	return by_leader(group, pmc_counter_disable_group);
}

int pmc_group_reset(struct pmc_group *group)
{
	return by_leader(group, pmc_counter_reset_group);
}

int pmc_group_read(const struct pmc_group *group, struct pmc_group_times *times,
		   struct pmc_group_value *values, size_t max)
{
	if (group && !group->count)
		return -ENOENT;
	return pmc_counter_read_group(group ? group->members[0] : NULL, times, values, max);
}

void pmc_group_explain(const struct pmc_group *group, int error, struct pmc_failure *failure)
{
	pmc_counter_explain(group && group->count ? group->members[0] : NULL, error, failure);
}

/* ---- lists of CPUs, as "0-3,8" ------------------------------------------------------------*/

#define LIST_MAX 4096

/* The next online CPU after `cpu` (-1: the first); -ENODEV: none; another -errno: unknown. */
static int next_cpu(int cpu)
{
	const uint64_t from = (uint64_t)(cpu + 1);
	char list[LIST_MAX];
	const char *at = list;
	uint64_t first, last;
	int error = pmc_file_read(list, sizeof(list), "/sys/devices/system/cpu/online");

	if (error < 0)
		return error;
	/* The kernel's list ascends. */
	while (pmc_range_take(&at, &first, &last))
		if (last >= from)
			return (int)(first > from ? first : from);
	return -ENODEV;
}

bool counter_cpu_is_online(int cpu)
{
	return next_cpu(cpu - 1) == cpu;
}

#define PMUS "/sys/bus/event_source/devices"

/* Whether to open the event on this CPU: one CPU of each socket counts the events of an uncore PMU;
 * others would count them again. */
static bool counts_on(const struct pmc_counter_event *event, int cpu)
{
	char pmu[EVENT_NAME_MAX], list[LIST_MAX];

	/* Without a list it counts on all CPUs. */
	return !event_pmu_of_type(PMUS, event->type, pmu) ||
	       (pmc_file_read(list, LIST_MAX, PMUS "/%s/cpumask", pmu) <= 0 &&
		pmc_file_read(list, LIST_MAX, PMUS "/%s/cpus", pmu) <= 0) ||
	       pmc_list_has(list, (uint64_t)cpu);
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

	for (open->cpu = next_cpu(-1); open->cpu >= 0; open->cpu = next_cpu(open->cpu)) {
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

/* ---- a group on every CPU -------------------------------------------------------------------*/

struct pmc_counter_cpus {
	struct one_cpu {
		struct pmc_group *group;
		int cpu;
	} * list;
	size_t count;
	struct pmc_group_value *values; /* of one group, while reading */
	size_t n;
};

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

/* ---- typed groups ---------------------------------------------------------------------------*/

static int parse_rows(struct pmc_group_typed *group, const struct pmc_group_typed_field *fields,
		      unsigned n, struct pmc_counter_event *events)
{
	bool pinned = false;

	for (unsigned i = 0; i < n; i++) {
		const char *text = fields[i].event;
		int error = text ? counter_event_text(&events[i], text, text, true, NULL) : -EINVAL;

		if (error) {
			group->failed = (int32_t)i;
			return error;
		}
		/* A group is pinned by its leader: ":D" in any row pins all. */
		pinned |= events[i].pinned;
		events[i].pinned = false;
	}
	events[0].pinned = pinned;
	return 0;
}

/* The scope of all members. Clocks, which count all modes, are ignored beside other events. */
static enum pmc_scope common_scope(const struct pmc_group *group)
{
	enum pmc_scope scope = PMC_SCOPE_ALL;
	bool known = false;

	for (size_t i = 0; i < group->count; i++) {
		const struct pmc_counter *member = group->members[i];

		if (member->filter == PMC_UNFILTERED)
			continue;
		if (known && member->scope != scope)
			return PMC_SCOPE_ALL;
		scope = member->scope;
		known = true;
	}
	return scope;
}

/* Tells an open group from a struct that was never set, as far as its bytes can. */
static uint64_t mark_of(const struct pmc_group *counters)
{
	return (uint64_t)(uintptr_t)counters ^ UINT64_C(0x706d632d67726f75);
}

int pmc_group_typed_open_with(struct pmc_group_typed *group,
			      const struct pmc_group_typed_field *fields, unsigned n,
			      const struct pmc_open_options *options)
{
	struct pmc_counter_event events[PMC_EVENTS_MAX];
	int kept = errno, error;

	if (!group)
		return -EINVAL;
	if (group->counters && group->open_mark == mark_of(group->counters))
		return -EALREADY;
	*group = (struct pmc_group_typed){ .failed = -1, .scope = PMC_SCOPE_ALL, .cpu = -1 };
	if (options) {
		group->target = (uint8_t)options->target;
		group->pid = options->pid;
		group->cpu = options->cpu;
	}
	if (!fields || n == 0 || n > PMC_EVENTS_MAX)
		return -EINVAL;
	error = parse_rows(group, fields, n, events);
	if (!error)
		error = group_open(&group->counters, events, n, options, &group->failed, NULL);
	if (!error) {
		group->scope = (uint8_t)common_scope(group->counters);
		group->open_mark = mark_of(group->counters);
	}
	errno = kept;
	return error;
}

int pmc_group_typed_open(struct pmc_group_typed *group, const struct pmc_group_typed_field *fields,
			 unsigned n, pid_t pid, int cpu)
{
	struct pmc_open_options options = PMC_OPEN_INIT;

	options.target = pid == -1 ? PMC_TARGET_ANY : PMC_TARGET_PID;
	options.pid = pid == -1 ? 0 : pid;
	options.cpu = cpu;
	return pmc_group_typed_open_with(group, fields, n, &options);
}

/* A reading of another form is another file's: the descriptor was closed and used again. */
static int error_of_reading(int error)
{
	return error == -EIO || error == -ENOSPC ? -EBADF : error;
}

int pmc_group_typed_enable(const struct pmc_group_typed *group)
{
	return group && !group->counters ? -EBADF :
					   pmc_group_enable(group ? group->counters : NULL);
}

int pmc_group_typed_disable(const struct pmc_group_typed *group)
{
	return group && !group->counters ? -EBADF :
					   pmc_group_disable(group ? group->counters : NULL);
}

int pmc_group_typed_reset(struct pmc_group_typed *group)
{
	if (!group)
		return -EINVAL;
	return error_of_reading(group->counters ? counter_group_zero(group->counters) : -EBADF);
}

int pmc_group_typed_read(const struct pmc_group_typed *group, unsigned n, uint64_t *values,
			 struct pmc_group_typed_times *times)
{
	struct pmc_group_value read[PMC_EVENTS_MAX];
	struct pmc_group_times all;
	int error = -EBADF;

	if (!group || !values || !times)
		return -EINVAL;
	*times = (struct pmc_group_typed_times){ .state = PMC_NOT_COUNTED };
	if (group->counters && n == pmc_group_count(group->counters))
		error = pmc_group_read(group->counters, &all, read, n);
	error = error_of_reading(error);
	if (!error || error == -EAGAIN || error == -EBUSY) {
		times->enabled_ns = all.enabled_ns;
		times->running_ns = all.running_ns;
	}
	for (unsigned i = 0; i < n && !error; i++)
		error = pmc_group_scale(&all, &read[i], &values[i]);
	if (!error)
		times->state = all.running_ns < all.enabled_ns ? PMC_SCALED : PMC_COUNTED;
	for (unsigned i = 0; i < n && error; i++)
		values[i] = PMC_NO_VALUE;
	return error;
}

void pmc_group_typed_close(struct pmc_group_typed *group)
{
	int kept = errno;

	if (!group)
		return;
	pmc_group_close(group->counters);
	group->counters = NULL;
	errno = kept;
}

/* Of a failed open. */
static void explain_open(const struct pmc_group_typed *group,
			 const struct pmc_group_typed_field *fields, int error,
			 struct pmc_failure *failure)
{
	struct pmc_open_options options = PMC_OPEN_INIT;
	struct pmc_counter_event event;
	struct counter_request request;
	const char *text;

	options.target = (enum pmc_target)group->target;
	options.pid = group->pid;
	options.cpu = group->cpu;
	if (group->failed >= 0) {
		text = fields[group->failed].event ? fields[group->failed].event : "";
		if (counter_event_text(&event, text, text, true, failure))
			return;
		counter_request_make(&request, &event, &options, NULL);
		counter_advise(&request, group->failed > 0, error, failure);
	} else if (counter_request_make(&request, NULL, &options, failure) != error) {
		counter_fail(failure, error, "options",
			     "the list of events is empty, or an option is invalid; see "
			     "pmc_open_options(3)");
	}
}

void pmc_group_typed_explain(const struct pmc_group_typed *group,
			     const struct pmc_group_typed_field *fields, int error,
			     struct pmc_failure *failure)
{
	int kept = errno;

	error = error > 0 ? -error : error;
	if (!failure)
		return;
	if (!group || !fields)
		counter_fail(failure, error, "group", "an argument is NULL");
	else if (group->counters)
		pmc_group_explain(group->counters, error, failure);
	else if (error == -EBADF)
		counter_fail(failure, error, "group", "it is not open; open it first");
	else
		explain_open(group, fields, error, failure);
	errno = kept;
}
