/* SPDX-License-Identifier: MIT */
/*
 * open.c - a ring on each CPU, and the events that write to it.
 *
 * An inherited event has a ring only if it is bound to a CPU, so a process is traced by one event
 * for each of its threads on each CPU; those of one CPU share its ring.
 */
#include "agent/core/api/counter/counter.h"
#include "agent/core/base/file.h"
#include "agent/core/base/number.h"
#include "tools/cli/pmctl.h"
#include "tools/trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define DEFAULT_PAGES 512
#define LEAST_DEFAULT 16
/* Large rings are read less often, for which they must hold some 40 ms of records. */
#define LARGE_PAGES	128
#define LARGE_SETTLE_NS 10000000

static int say_why(const struct trace *trace, const struct pmc_failure *why)
{
	return tool_fail(trace_failed(trace), "cannot trace %s: %s", why->what, why->advice);
}

/* ---- CPUs and threads --------------------------------------------------------------------- */

static bool in_list(const char *at, int cpu)
{
	uint64_t first, last;

	for (; pmc_number_take(&at, NULL, 10, &first); at += *at == ',') {
		last = first;
		if (*at == '-')
			at++, pmc_number_take(&at, NULL, 10, &last);
		if ((uint64_t)cpu >= first && (uint64_t)cpu <= last)
			return true;
	}
	return false;
}

static int find_cpus(struct trace *trace)
{
	unsigned n = 0, wanted = 0;
	const char *at = trace->cpus;
	uint64_t first, last;

	for (int cpu = counter_cpu_next(-1); cpu >= 0; cpu = counter_cpu_next(cpu))
		n++;
	trace->rings = pmc_arena_alloc(&trace->arena, (n + 1) * sizeof(*trace->rings));
	if (!trace->rings)
		return tool_fail(trace_failed(trace), "out of memory");
	for (int cpu = counter_cpu_next(-1); cpu >= 0; cpu = counter_cpu_next(cpu))
		if (trace->n_rings < n && (!at || in_list(at, cpu)))
			trace->rings[trace->n_rings++].cpu = cpu;
	for (; at && pmc_number_take(&at, NULL, 10, &first); at += *at == ',') {
		last = first;
		if (*at == '-')
			at++, pmc_number_take(&at, NULL, 10, &last);
		for (uint64_t cpu = first; cpu <= last && wanted <= trace->n_rings; cpu++) {
			wanted++;
			if (!counter_cpu_is_online((int)cpu))
				return tool_fail(EXIT_FAIL,
						 "CPU %d is not online; see "
						 "/sys/devices/system/cpu/online",
						 (int)cpu);
		}
	}
	return trace->n_rings ? 0 :
				tool_fail(trace_failed(trace), "cannot read which CPUs are "
							       "online: mount sysfs at /sys");
}

struct threads {
	pid_t *tids;
	unsigned n, room;
	bool failed;
};

static void add_thread(const char *name, void *arg)
{
	struct threads *threads = arg;
	uint64_t tid;

	if (!pmc_number(name, INT32_MAX, &tid))
		return;
	if (threads->n == threads->room) {
		unsigned room = threads->room ? 2 * threads->room : 64;
		pid_t *more = realloc(threads->tids, room * sizeof(*more));

		threads->failed |= !more;
		if (!more)
			return;
		threads->tids = more;
		threads->room = room;
	}
	threads->tids[threads->n++] = (pid_t)tid;
}

/* ---- events ------------------------------------------------------------------------------- */

static int keep(struct trace *trace, struct pmc_counter *counter)
{
	if (trace->n_counters == trace->room_counters) {
		size_t room = trace->room_counters ? 2 * trace->room_counters : 64;
		struct pmc_counter **more = realloc(trace->counters, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		trace->counters = more;
		trace->room_counters = room;
	}
	trace->counters[trace->n_counters++] = counter;
	return 0;
}

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

/* One tracepoint of one thread (0: of all) on one CPU. */
static int open_one(struct trace *trace, struct trace_ring *ring, const struct trace_point *point,
		    pid_t tid, struct pmc_failure *why)
{
	struct pmc_open_options options = PMC_OPEN_INIT;
	struct pmc_counter_event event;
	struct pmc_counter *counter;
	int error = pmc_tracepoint_event(point->tracepoint, &event);

	if (error)
		return error;
	snprintf(event.name, sizeof(event.name), "%.63s", point->name);
	options.target = tid ? PMC_TARGET_PID : PMC_TARGET_ANY;
	options.pid = tid;
	options.cpu = ring->cpu;
	options.inherit = tid != 0;
	options.enable_on_exec = tid && trace->command;
	/* The clock of dumps. */
	options.use_clockid = true;
	options.clockid = CLOCK_MONOTONIC;
	options.sample_period = 1;
	options.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			      PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
	options.sample_id_all = true;
	options.read_format = PMC_READ_FORMAT_LOST;
	error = pmc_counter_open(&counter, &event, &options, why);
	if (error == -EINVAL) { /* Linux before 6.0 */
		options.read_format = 0;
		error = pmc_counter_open(&counter, &event, &options, why);
	}
	if (error)
		return error;
	error = keep(trace, counter);
	if (error) {
		pmc_counter_close(counter);
		return error;
	}
	error = point->filter ? pmc_counter_set_filter(counter, point->filter) : 0;
	if (error) {
		tool_fail(EXIT_USAGE,
			  "invalid --filter '%s' for %s: %s; use its fields, as "
			  "'prev_pid != 0' (pmctl trace --format fields shows them)",
			  point->filter, point->name, strerror(-error));
		return EXIT_USAGE;
	}
	if (!ring->sampler)
		return open_ring(trace, ring, counter, why);
	error = pmc_sampler_attach(ring->sampler, counter);
	if (error)
		pmc_sampler_explain(ring->sampler, error, why);
	return error;
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

static int open_thread(struct trace *trace, pid_t tid)
{
	struct pmc_failure why = { .advice = "out of memory" };
	int error = 0;

	for (unsigned r = 0; r < trace->n_rings; r++) {
		for (unsigned p = 0; p < trace->n_points && !error; p++) {
			struct trace_point *point = &trace->points[p];

			if (!point->refused)
				error = open_one(trace, &trace->rings[r], point, tid, &why);
			if (error && leave_out(trace, point, error))
				error = 0;
		}
		/* It went offline. */
		if (error == -ENODEV && !counter_cpu_is_online(trace->rings[r].cpu))
			error = 0;
	}
	if (error == -ESRCH && tid && trace->pid)
		return 0; /* the thread has ended */
	return error > 0 ? error : error ? say_why(trace, &why) : 0;
}

/* All threads. One that starts meanwhile is traced if the thread that creates it was, by
 * inheritance; whether it was is not visible from outside. */
static int open_process(struct trace *trace)
{
	struct threads before = { 0 }, after = { 0 };
	int code = 0;

	if (pmc_dir_visit(add_thread, &before, "/proc/%d/task", trace->pid))
		return tool_fail(EXIT_FAIL, "no process %d; see ps", trace->pid);
	for (unsigned i = 0; i < before.n && !code; i++)
		code = open_thread(trace, before.tids[i]);
	pmc_dir_visit(add_thread, &after, "/proc/%d/task", trace->pid);
	if (!code && !trace->n_counters)
		code = tool_fail(EXIT_FAIL, "process %d has ended", trace->pid);
	else if (!code && (after.failed || before.failed))
		code = tool_fail(EXIT_FAIL, "out of memory");
	for (unsigned i = 0; i < after.n && !code; i++) {
		unsigned known = 0;

		while (known < before.n && before.tids[known] != after.tids[i])
			known++;
		if (known < before.n)
			continue;
		tool_warn("threads of process %d started while it was attached to; those created "
			  "by a thread that was not attached yet are not traced",
			  trace->pid);
		break;
	}
	free(before.tids);
	free(after.tids);
	return code;
}

static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int trace_open(struct trace *trace)
{
	int code;

	trace->ring_pages = trace->pages ? trace->pages : DEFAULT_PAGES;
	if (pmc_sampler_set_new(&trace->set,
				trace->ring_pages >= LARGE_PAGES ? LARGE_SETTLE_NS : 0))
		return tool_fail(trace_failed(trace), "out of memory");
	code = find_cpus(trace);
	if (!code && trace->command)
		code = tool_child_start(&trace->child, trace->command);
	if (code)
		return code;
	raise_limit();
	if (trace->pid && !trace->summarize)
		code = open_process(trace);
	else
		code = open_thread(trace, trace->summarize ? 0 : trace->child.pid);
	for (unsigned p = 0; !code && trace->n_refused && p < trace->n_points; p++)
		if (trace->points[p].refused)
			tool_warn("%s is not traced: the kernel refuses it", trace->points[p].name);
	return code;
}

void trace_close(struct trace *trace)
{
	for (unsigned r = 0; r < trace->n_rings; r++)
		pmc_sampler_close(trace->rings[r].sampler);
	pmc_sampler_set_free(trace->set);
	for (size_t i = 0; i < trace->n_counters; i++)
		pmc_counter_close(trace->counters[i]);
	free(trace->counters);
}
