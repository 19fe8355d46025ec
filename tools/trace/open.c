/* SPDX-License-Identifier: MIT */
/* open.c - the events of the tracepoints, and what becomes of their records. */
#include "tools/cli/pmctl.h"
#include "tools/trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_PAGES 512
/* Large rings are read less often, for which they must hold some 40 ms of records. */
#define LARGE_PAGES	128
#define LARGE_SETTLE_NS 10000000

/* ---- events ------------------------------------------------------------------------------- */

static int refuse_filter(const struct trace_point *point, int error)
{
	const struct pmc_tracepoint_field *field;
	struct pmc_out names = PMC_OUT_MEM(1024);

	for (size_t i = 0; (field = pmc_tracepoint_at(point->tracepoint, i)); i++)
		if (!field->is_common)
			pmc_outf(&names, "%s%s", names.len ? ", " : "", field->name);
	return tool_fail(EXIT_USAGE, "invalid --filter '%s' for %s: %s; its fields are %s",
			 point->filter, point->name, strerror(-error), names.buf);
}

/* first: this event of the thread records names, and for stacks mappings, too. */
static int open_one(struct trace *trace, struct ring *ring, const struct trace_point *point,
		    pid_t tid, bool first, struct pmc_failure *why)
{
	struct pmc_open_options options;
	struct pmc_counter_event event;
	struct pmc_counter *counter;
	int error = pmc_tracepoint_event(point->tracepoint, &event);

	if (error)
		return error;
	snprintf(event.name, sizeof(event.name), "%.63s", point->name);
	rings_options(&trace->rings, ring, tid, &options);
	/* Without PERF_SAMPLE_PERIOD an event that counts something (sched_stat_runtime counts ns)
	 * makes a record for each unit, until it is throttled: kernel/events/core.c,
	 * perf_swevent_event(). */
	options.sample_type |= PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW;
	if (trace->stacks && !trace->summarize)
		unwind_options_stack(&trace->unwind, &options);
	options.comm = options.task = first && trace->rows.format == TRACE_TEXT;
	/* Of who ends waits. */
	if (trace->stacks && trace->by == TRACE_BY_WAKER &&
	    !strcmp(point->name, "sched:sched_waking"))
		unwind_options_stack(&trace->unwind, &options);
	if (first && trace->stacks)
		unwind_options_maps(&options);
	/* The system calls that threads wait in, and the switches without a record. */
	if (trace->summarize && point->prev_pid) {
		options.context_switch = true;
		options.sample_type |= PERF_SAMPLE_CALLCHAIN;
		options.exclude_callchain_user = true;
	}
	error = unwind_open(&counter, &event, &options, why);
	if (error)
		return error;
	error = rings_add(&trace->rings, ring, counter, why);
	if (!error && point->filter)
		error = pmc_counter_set_filter(counter, point->filter);
	else
		return error;
	return error ? refuse_filter(point, error) : 0;
}

/* Stacks of threads that begin to wait, for --summary: only of the target, while the records of the
 * scheduler are those of the machine. */
static int open_waits(struct trace *trace, struct ring *ring, pid_t tid, struct pmc_failure *why)
{
	struct pmc_open_options options;
	struct pmc_counter_event event;
	struct pmc_counter *counter;
	int error = pmc_counter_event_parse(&event, "context-switches", NULL);

	if (error)
		return error;
	rings_options(&trace->rings, ring, tid, &options);
	unwind_options_stack(&trace->unwind, &options);
	unwind_options_maps(&options);
	error = unwind_open(&counter, &event, &options, why);
	return error ? error : rings_add(&trace->rings, ring, counter, why);
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
static int open_points(struct trace *trace, struct ring *ring, pid_t tid, struct pmc_failure *why)
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
static int open_on(void *arg, struct ring *ring, pid_t tid, struct pmc_failure *why)
{
	struct trace *trace = arg;
	int error = 0;

	if (!trace->summarize || !ring->sampler)
		error = open_points(trace, ring, trace->summarize ? 0 : tid, why);
	if (!error && trace->summarize && trace->stacks)
		error = open_waits(trace, ring, tid, why);
	return error;
}

/* ---- records ------------------------------------------------------------------------------ */

static void take(void *arg, struct ring *ring, const struct pmc_record *record)
{
	struct trace *trace = arg;

	(void)ring;
	if (record->type == PERF_RECORD_SAMPLE) {
		if (trace->summary)
			trace_summary_take(trace, record);
		else
			trace_write(trace, record);
	} else if (record->type == PERF_RECORD_SWITCH_CPU_WIDE) {
		trace_summary_switch(trace, record);
	} else {
		trace_name_take(trace, record);
		if (trace->stacks)
			unwind_take(&trace->unwind, record);
	}
}

static void lose(void *arg, struct ring *ring, uint64_t lost)
{
	static bool said;
	struct trace *trace = arg;

	trace_write_loss(trace, ring, lost);
	if (!said)
		tool_warn("records are being lost: use larger rings (-m %u)%s, or --filter",
			  4 * trace->rings.pages, trace->rows.output ? "" : ", -o FILE");
	said = true;
}

static bool flush(void *arg)
{
	struct trace *trace = arg;

	pmc_out_flush(&trace->rows.out);
	return !trace->rows.out.error;
}

int trace_open(struct trace *trace)
{
	static const struct rings_use use = {
		.verb = "trace", .open = open_on, .take = take, .lose = lose, .flush = flush
	};
	struct rings *rings = &trace->rings;
	int code;

	rings->use = &use;
	rings->owner = trace;
	rings->machine = trace->summarize;
	if (trace->pid) {
		trace->target = (struct live_tids){ .list = &trace->pid, .n = 1 };
		rings->processes = &trace->target;
	}
	rings->pages = rings->asked_pages ? rings->asked_pages : DEFAULT_PAGES;
	if (trace->stacks && !rings->asked_pages && unwind_pages(&trace->unwind) > DEFAULT_PAGES)
		rings->pages = unwind_pages(&trace->unwind);
	/* A ring holds few records with stacks. */
	rings->settle_ns = rings->pages >= LARGE_PAGES && !trace->stacks ? LARGE_SETTLE_NS : 0;
	code = rings_open(rings);
	for (unsigned p = 0; !code && trace->n_refused && p < trace->n_points; p++)
		if (trace->points[p].refused)
			tool_warn("%s is not traced: the kernel refuses it", trace->points[p].name);
	return code;
}
