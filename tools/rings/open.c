/* SPDX-License-Identifier: MIT */
/*
 * open.c - a ring on each CPU, and the events that write to it.
 *
 * An inherited event has a ring only if it is bound to a CPU, so a process is traced by one event
 * for each of its threads on each CPU; those of one CPU share its ring.
 */
#include "lib/counter/counter.h"
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "tools/cli/pmctl.h"
#include "tools/live/task.h"
#include "tools/trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_PAGES 512
#define LEAST_DEFAULT 16
/* Large rings are read less often, for which they must hold some 40 ms of records. */
#define LARGE_PAGES	128
#define LARGE_SETTLE_NS 10000000

#define CPUS	      "/sys/devices/system/cpu"
#define MOST_ATTEMPTS 20u /* to attach */

static int say_why(const struct trace *trace, const struct pmc_failure *why)
{
	return tool_fail(trace_failed(trace), "cannot trace %s: %s", why->what, why->advice);
}

/* ---- CPUs and threads --------------------------------------------------------------------- */

static bool in_list(const char *at, uint64_t cpu)
{
	uint64_t first, last;

	while (pmc_range_take(&at, &first, &last))
		if (cpu >= first && cpu <= last)
			return true;
	return false;
}

/* Not all that a CPU does. */
static bool follows_threads(const struct trace *trace)
{
	return (trace->pid || trace->command) && !trace->summarize;
}

static int find_cpus(struct trace *trace)
{
	char list[4096];
	const char *at = list, *wanted = trace->cpus;
	uint64_t first, last;
	size_t room = 0;

	/* Events of threads can be opened for CPUs that are offline, and go on when these are not.
	 */
	if (pmc_file_read(list, sizeof(list), CPUS "/%s",
			  follows_threads(trace) ? "present" : "online") <= 0)
		return tool_fail(trace_failed(trace),
				 "cannot read which CPUs are online: mount sysfs at /sys");
	while (pmc_range_take(&at, &first, &last))
		for (uint64_t cpu = first; cpu <= last; cpu++) {
			if (wanted && !in_list(wanted, cpu))
				continue;
			trace->rings = pmc_arena_grow(&trace->arena, trace->rings, trace->n_rings,
						      &room, sizeof(*trace->rings));
			trace->rings[trace->n_rings++] = (struct trace_ring){ .cpu = (int)cpu };
		}
	while (wanted && pmc_range_take(&wanted, &first, &last))
		for (uint64_t cpu = first; cpu <= last; cpu++)
			if (!in_list(list, cpu))
				return tool_fail(EXIT_FAIL,
						 "CPU %d is not online; see " CPUS "/online",
						 (int)cpu);
	return 0;
}

/* ---- events ------------------------------------------------------------------------------- */

static int open_ring(struct trace *trace, struct trace_ring *ring, struct pmc_counter *counter,
		     struct pmc_failure *why)
{
	int error;

	do {
		error = pmc_sampler_open(&ring->sampler, counter, trace->ring_pages, why);
		/* More than this user may lock: smaller, unless the size was asked for. */
	} while (error == -EPERM && !trace->pages && (trace->ring_pages /= 2) >= LEAST_DEFAULT);
	return error ? error : pmc_sampler_set_add(trace->set, ring->sampler);
}

static int refuse_filter(const struct trace_point *point, int error)
{
	const struct pmc_tracepoint_field *field;
	struct pmc_out names;
	char text[1024];

	pmc_out_to_mem(&names, text, sizeof(text));
	for (size_t i = 0; (field = pmc_tracepoint_at(point->tracepoint, i)); i++)
		if (!field->is_common)
			pmc_outf(&names, "%s%s", names.len ? ", " : "", field->name);
	return tool_fail(EXIT_USAGE, "invalid --filter '%s' for %s: %s; its fields are %s",
			 point->filter, point->name, strerror(-error), text);
}

/* Events of one thread (0: of all) on one CPU. */
static void set_target(const struct trace *trace, const struct trace_ring *ring, pid_t tid,
		       struct pmc_open_options *options)
{
	*options = (struct pmc_open_options)PMC_OPEN_INIT;
	options->target = tid ? PMC_TARGET_PID : PMC_TARGET_ANY;
	options->pid = tid;
	options->cpu = ring->cpu;
	options->inherit = tid != 0;
	options->enable_on_exec = tid && trace->command;
	/* The clock of dumps. */
	options->use_clockid = true;
	options->clockid = CLOCK_MONOTONIC;
	options->sample_period = 1;
	options->sample_type =
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	options->sample_id_all = true;
}

static int open_event(struct trace *trace, struct trace_ring *ring,
		      const struct pmc_counter_event *event, struct pmc_open_options *options,
		      const struct trace_point *point, struct pmc_failure *why)
{
	struct pmc_counter *counter;
	int error = unwind_open(&counter, event, options, why);

	if (error)
		return error;
	ring->counters = tool_list_grow(ring->counters, ring->n_counters, &ring->room_counters,
					sizeof(struct pmc_counter *));
	ring->counters[ring->n_counters++] = counter;
	error = point && point->filter ? pmc_counter_set_filter(counter, point->filter) : 0;
	if (error)
		return refuse_filter(point, error);
	if (!ring->sampler)
		return open_ring(trace, ring, counter, why);
	error = pmc_sampler_attach(ring->sampler, counter);
	if (error)
		pmc_sampler_explain(ring->sampler, error, why);
	return error;
}

/* first: this event of the thread records names, and for stacks mappings, too. */
static int open_one(struct trace *trace, struct trace_ring *ring, const struct trace_point *point,
		    pid_t tid, bool first, struct pmc_failure *why)
{
	struct pmc_open_options options;
	struct pmc_counter_event event;
	int error = pmc_tracepoint_event(point->tracepoint, &event);

	if (error)
		return error;
	snprintf(event.name, sizeof(event.name), "%.63s", point->name);
	set_target(trace, ring, tid, &options);
	/* Without PERF_SAMPLE_PERIOD an event that counts something (sched_stat_runtime counts ns)
	 * makes a record for each unit, until it is throttled: kernel/events/core.c,
	 * perf_swevent_event(). */
	options.sample_type |= PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW;
	if (trace->stacks && !trace->summarize)
		unwind_options_stack(&trace->unwind, &options);
	options.comm = options.task = first && trace->rows.format == TRACE_TEXT;
	if (first && trace->stacks)
		unwind_options_maps(&options);
	/* The system calls that threads wait in, and the switches without a record. */
	if (trace->summarize && point->prev_pid) {
		options.context_switch = true;
		options.sample_type |= PERF_SAMPLE_CALLCHAIN;
		options.exclude_callchain_user = true;
	}
	return open_event(trace, ring, &event, &options, point, why);
}

/* Stacks of threads that begin to wait, for --summary: only of the target, while the records of the
 * scheduler are those of the machine. */
static int open_waits(struct trace *trace, struct trace_ring *ring, pid_t tid,
		      struct pmc_failure *why)
{
	struct pmc_open_options options;
	struct pmc_counter_event event;
	int error = pmc_counter_event_parse(&event, "context-switches", NULL);

	if (error)
		return error;
	set_target(trace, ring, tid, &options);
	unwind_options_stack(&trace->unwind, &options);
	unwind_options_maps(&options);
	return open_event(trace, ring, &event, &options, NULL, why);
}

/* The kernel refuses some tracepoints to everybody (irq_work), so a glob may match them. */
static bool leave_out(struct trace *trace, struct trace_point *point, int error)
{
	if (!point->matched || (error != -EPERM && error != -EACCES))
		return false;
	if (trace->n_refused + 1 == trace->n_points)
		return false;
	trace->n_refused++;
	return point->refused = true;
}

/* All tracepoints of one thread (0: of all) on one CPU. */
static int open_points(struct trace *trace, struct trace_ring *ring, pid_t tid,
		       struct pmc_failure *why)
{
	bool first = !trace->summarize;
	int error = 0;

	for (unsigned p = 0; p < trace->n_points && !error; p++) {
		struct trace_point *point = &trace->points[p];

		if (point->refused)
			continue;
		error = open_one(trace, ring, point, tid, first, why);
		if (!error)
			first = false;
		else if (leave_out(trace, point, error))
			error = 0;
	}
	return error;
}

/* With --summary: the scheduler's on the machine, stacks of one thread (0: of all). */
static int open_on(struct trace *trace, struct trace_ring *ring, pid_t tid, struct pmc_failure *why)
{
	int error = 0;

	if (!trace->summarize || !ring->sampler)
		error = open_points(trace, ring, trace->summarize ? 0 : tid, why);
	if (!error && trace->summarize && trace->stacks)
		error = open_waits(trace, ring, tid, why);
	/* It went offline. */
	return error == -ENODEV && !counter_cpu_is_online(ring->cpu) ? 0 : error;
}

static int open_thread(struct trace *trace, pid_t tid)
{
	struct pmc_failure why = { .advice = "out of memory" };
	int error = 0;

	for (unsigned r = 0; r < trace->n_rings && !error; r++)
		error = open_on(trace, &trace->rings[r], tid, &why);
	if (error == -ESRCH && tid && trace->pid)
		return 0; /* the thread has ended */
	return error > 0 ? error : error ? say_why(trace, &why) : 0;
}

static void close_ring(struct trace *trace, struct trace_ring *ring)
{
	if (ring->sampler)
		pmc_sampler_set_remove(trace->set, ring->sampler);
	pmc_sampler_close(ring->sampler);
	ring->sampler = NULL;
	for (size_t i = 0; i < ring->n_counters; i++)
		pmc_counter_close(ring->counters[i]);
	free(ring->counters);
	ring->counters = NULL;
	ring->n_counters = ring->room_counters = 0;
}

/* All threads. One that starts meanwhile inherits the events of the thread that creates it, as far
 * as these are open yet, and how far is not visible from outside. So they are closed and opened
 * again until no thread has started meanwhile. Tracing starts after that, in all of them. */
static int open_process(struct trace *trace)
{
	struct live_tids tids = { .n = 0 }, after = { .n = 0 };
	int error = 0, code = 0;
	bool any = false, steady = false;

	for (unsigned i = 0; i < MOST_ATTEMPTS && !steady && !error && !code; i++) {
		for (unsigned r = 0; r < trace->n_rings; r++)
			close_ring(trace, &trace->rings[r]);
		error = live_tree_read(trace->pid, &tids);
		for (unsigned t = 0; t < tids.n && !error && !code; t++)
			code = open_thread(trace, tids.list[t]);
		if (!error && !code)
			error = live_tree_read(trace->pid, &after);
		steady = live_tids_have_all(&tids, &after);
	}
	live_tids_free(&tids);
	live_tids_free(&after);
	for (unsigned r = 0; r < trace->n_rings; r++)
		any |= trace->rings[r].n_counters != 0;
	if (code)
		return code;
	if (error == -ESRCH || (!error && !any))
		return tool_fail(EXIT_FAIL, "no such process: %d", trace->pid);
	if (error)
		return tool_fail(EXIT_FAIL, "cannot read /proc/%d/task: %s", trace->pid,
				 strerror(-error));
	if (!steady)
		tool_warn("threads of process %d were started during each of %u attempts to "
			  "attach: some may not be traced",
			  trace->pid, MOST_ATTEMPTS);
	return 0;
}

int trace_open(struct trace *trace)
{
	struct live_budget files; /* of which none is needed, but the limit is raised */
	int code;

	trace->ring_pages = trace->pages ? trace->pages : DEFAULT_PAGES;
	if (trace->stacks && !trace->pages && unwind_pages(&trace->unwind) > DEFAULT_PAGES)
		trace->ring_pages = unwind_pages(&trace->unwind);
	/* A ring holds few records with stacks. */
	if (pmc_sampler_set_new(&trace->set, trace->ring_pages >= LARGE_PAGES && !trace->stacks ?
						     LARGE_SETTLE_NS :
						     0))
		return tool_fail(trace_failed(trace), "out of memory");
	code = find_cpus(trace);
	if (!code && trace->command)
		code = tool_child_start(&trace->child, trace->command);
	if (code)
		return code;
	live_budget_init(&files);
	if (trace->pid && (!trace->summarize || trace->stacks))
		code = open_process(trace);
	else
		code = open_thread(trace, trace->child.pid);
	for (unsigned p = 0; !code && trace->n_refused && p < trace->n_points; p++)
		if (trace->points[p].refused)
			tool_warn("%s is not traced: the kernel refuses it", trace->points[p].name);
	return code;
}

void trace_close(struct trace *trace)
{
	for (unsigned r = 0; r < trace->n_rings; r++)
		close_ring(trace, &trace->rings[r]);
	pmc_sampler_set_free(trace->set);
}
