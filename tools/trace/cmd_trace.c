/* SPDX-License-Identifier: MIT */
/* cmd_trace.c - pmctl trace: prints tracepoints of a machine, a process or a command. */
#include "lib/base/number.h"
#include "tools/cli/pmctl.h"
#include "tools/live/task.h"
#include "tools/trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_PAGES 512
/* Large rings are read less often, for which they must hold some 40 ms of records. */
#define LARGE_PAGES	128
#define LARGE_SETTLE_NS 10000000

/* ---- flags ---------------------------------------------------------------------------------- */

#define FLAG_OPTIONS struct trace
#define POWER	     "a power of 2 from 1 to 262144"

static int set_cpus(void *to, const struct tool_args *args)
{
	const char *at = args->value;
	uint64_t first, last;
	bool right = *at;

	((struct trace *)to)->rings.cpus = args->value;
	while (right && *at)
		right = *at != ',' && pmc_range_take(&at, &first, &last) && first <= last &&
			last <= INT32_MAX && (*at || at[-1] != ',');
	return right ? 0 : tool_fail_value(args, "CPUs such as 0-3,8");
}

static int add_events(void *to, const struct tool_args *args)
{
	struct trace *trace = to;

	trace->lists[trace->n_lists++].names = args->value;
	return 0;
}

/* Of the -e before it, as with perf. */
static int set_filter(void *to, const struct tool_args *args)
{
	struct trace *trace = to;
	struct trace_names *list = trace->lists + trace->n_lists;

	if (list-- == trace->lists)
		return tool_fail(EXIT_USAGE, "--filter is for the -e before it; give -e NAME first "
					     "(--summary has no filters)");
	if (list->filter)
		return tool_fail(EXIT_USAGE, "two filters for -e %.60s; join them with &&",
				 list->names);
	list->filter = args->value;
	return 0;
}

static const char *const keys[] = {
	[TRACE_BY_THREAD] = "thread", [TRACE_BY_POOL] = "pool", [TRACE_BY_WAKER] = "pool,waker"
};
static const char *const unwinders[] = { [TRACE_BY_DWARF] = "dwarf", [TRACE_BY_FP] = "fp" };
static const char *const formats[] = {
	[TRACE_TEXT] = "text",	   [TRACE_JSON] = "json",
	[TRACE_CSV] = "csv",	   [TRACE_MARKDOWN] = "markdown",
	[TRACE_HTML] = "html",	   [TRACE_FIELDS] = "fields",
	[TRACE_RECORD] = "record", [TRACE_PROMETHEUS] = "prometheus"
};
static const char *const format_aliases[] = {
	[TRACE_TEXT] = "table", [TRACE_JSON] = "jsonl", [TRACE_PROMETHEUS] = NULL
};
const struct tool_flag cmd_trace_flags[] = {
	FLAG_CALL('e', "--events", "NAMES", add_events,
		  "tracepoints: sched:sched_switch, sched:*, sys_enter_open*"),
	FLAG_MACHINE(all, "everything on all CPUs (the default)"),
	FLAG_CALL('C', "--cpus", "CPUS", set_cpus, "everything on these CPUs, as 0-3,8"),
	FLAG_PROCESSES(pids, "threads of processes and what they start"),
	FLAG_NAMED(name, "the same of programs by name"),
	FLAG_CALL(0, "--filter", "FILTER", set_filter, "condition on fields of the -e before it"),
	FLAG_DURATION(rings.duration_ns, "end of the trace (default: SIGINT, or CMD's end)"),
	FLAG_NUMBER('m', "--pages", "PAGES", rings.asked_pages, 1, 1u << 18,
		    "size of the ring of each CPU (default: 512)", .accepted = POWER),
	FLAG_OUTPUT(rows.output, "output file (default: stdout; text with CMD: stderr)"),
	FLAG_WIDTH(rows.width),
	FLAG_BOOL(0, "--summary", summarize, "table of threads: on CPU, waiting for one, blocked"),
	FLAG_BOOL('g', "--stacks", stacks, "call stack of each record; of waits in --summary"),
	FLAG_WORD(0, "--unwind", "HOW", stacks_by, unwinders,
		  "--stacks by unwind tables or frame pointers"),
	FLAG_BOOL(0, "--histogram", histogram, "lengths of waits in --summary"),
	FLAG_BY(by, keys),
	FLAG_SORT(0, rows.choice.sort, "column to sort rows by (default: time on CPU)"),
	FLAG_TOP(rows.choice.top, "number of rows; 0: all (default: 40 in tables)"),
	FLAG_ROWS_CHOICE(rows, trace_columns),
	FLAG_WORD(0, "--format", "FORMAT", rows.format, formats,
		  "output (csv, markdown, prometheus, html with --summary)",
		  .aliases = format_aliases),
	OPERAND_NO_NUMBER,
	OPERAND_COMMAND(rings.command),
	FLAG_END,
};

static int parse(struct trace *trace, int argc, char **argv)
{
	int code, targets;

	/* No more than arguments, and one for --summary. */
	trace->lists = pmc_arena_alloc(&trace->arena, ((size_t)argc + 1) * sizeof(*trace->lists));
	trace->rows.choice.top = UINT_MAX;
	code = tool_args_parse(argc, argv, trace);
	if (code)
		return code;
	if (trace->rings.asked_pages & (trace->rings.asked_pages - 1))
		return tool_fail(EXIT_USAGE, "invalid --pages '%u'; give " POWER,
				 trace->rings.asked_pages);
	trace->stacks |= trace->stacks_by != TRACE_NO_STACKS;
	if (trace->summarize && trace->n_lists)
		return tool_fail(EXIT_USAGE, "--summary chooses its own tracepoints; leave out -e");
	if (!trace->summarize &&
	    (trace->by || trace->histogram || trace->rows.format == TRACE_CSV ||
	     trace->rows.format == TRACE_MARKDOWN || trace->rows.format == TRACE_HTML ||
	     trace->rows.format == TRACE_PROMETHEUS || trace->rows.choice.sort ||
	     trace->rows.choice.columns || trace->rows.choice.n_where ||
	     trace->rows.choice.top != UINT_MAX))
		return tool_fail(EXIT_USAGE, "--histogram, --by, --sort, --top, --where, "
					     "--columns and the formats csv, markdown, "
					     "prometheus and html are for --summary");
	if (trace->histogram && trace->by == TRACE_BY_WAKER)
		return tool_fail(EXIT_USAGE, "--by pool,waker has no histograms; use --by pool");
	if (trace->rows.format == TRACE_PROMETHEUS && trace->by == TRACE_BY_WAKER)
		return tool_fail(EXIT_USAGE,
				 "--format prometheus has no wakers; use --by pool or thread");
	if (trace->rows.format == TRACE_HTML && trace->by != TRACE_BY_WAKER)
		return tool_fail(EXIT_USAGE, "--format html shows wakers; add --by pool,waker");
	if (trace->summarize && trace->rings.cpus)
		return tool_fail(EXIT_USAGE,
				 "--summary follows threads over all CPUs; leave out -C");
	if (trace->summarize)
		trace->lists[trace->n_lists++].names = TRACE_SUMMARY_POINTS;
	if (!trace->n_lists)
		return tool_fail(EXIT_USAGE,
				 "no tracepoint; give -e NAME, as -e sched:sched_switch "
				 "(pmctl list '*sched*' shows names), or --summary for times "
				 "of threads");
	targets = trace->all + !!trace->rings.cpus + (trace->pids || trace->name) +
		  !!trace->rings.command;
	if (targets > 1)
		return tool_fail(EXIT_USAGE, "more than one target; give one of -a, -C CPUS, "
					     "-p PID or --name GLOB, and -- CMD");
	return trace->summarize ? trace_summary_check(trace) : 0;
}

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
	error = rings_add(&trace->rings, ring, &event, &options, why);
	if (error || !point->filter)
		return error;
	error = pmc_counter_set_filter(ring->counters[ring->n_counters - 1], point->filter);
	return error ? refuse_filter(point, error) : 0;
}

/* Stacks of threads that begin to wait, for --summary: only of the target, while the records of the
 * scheduler are those of the machine. */
static int open_waits(struct trace *trace, struct ring *ring, pid_t tid, struct pmc_failure *why)
{
	struct pmc_open_options options;
	struct pmc_counter_event event;
	const int error = pmc_counter_event_parse(&event, "context-switches", NULL);

	if (error)
		return error;
	rings_options(&trace->rings, ring, tid, &options);
	unwind_options_stack(&trace->unwind, &options);
	unwind_options_maps(&options);
	return rings_add(&trace->rings, ring, &event, &options, why);
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

static void take(void *arg, const struct pmc_record *record)
{
	struct trace *trace = arg;

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

static int open_events(struct trace *trace)
{
	static const struct rings_use use = {
		.verb = "trace", .open = open_on, .take = take, .lose = lose, .flush = flush
	};
	struct rings *rings = &trace->rings;
	int code;

	rings->use = &use;
	rings->owner = trace;
	rings->machine = trace->summarize;
	if (trace->target.n)
		rings->processes = &trace->target;
	rings->pages = rings->asked_pages ? rings->asked_pages : DEFAULT_PAGES;
	if (trace->stacks && !rings->asked_pages && unwind_pages(&trace->unwind) > DEFAULT_PAGES)
		rings->pages = unwind_pages(&trace->unwind);
	/* A ring holds few records with stacks. */
	rings->settle_ns = rings->pages >= LARGE_PAGES && !trace->stacks ? LARGE_SETTLE_NS : 0;
	code = rings_open(rings, true);
	for (unsigned p = 0; !code && trace->n_refused && p < trace->n_points; p++)
		if (trace->points[p].refused)
			tool_warn("%s is not traced: the kernel refuses it", trace->points[p].name);
	return code;
}

/* ---- the run -------------------------------------------------------------------------------- */

static int run_trace(struct trace *trace)
{
	int code = 0, closed;

	if (trace->rings.command && trace->rows.output)
		code = tool_check_command(trace->rings.command[0]);
	if (code)
		return code;
	/* The command's own output is on the standard output. */
	if ((trace->rows.format == TRACE_TEXT || trace->rows.format == TRACE_RECORD) &&
	    trace->rings.command && !trace->rows.output)
		trace->rows.output = "/dev/stderr";
	code = tool_rows_open(&trace->rows) ? rings_failed(&trace->rings) : 0;
	if (!code && trace->summarize)
		code = trace_summary_start(trace);
	if (code)
		return code;
	code = rings_follow(&trace->rings);
	if (!code && trace->summary)
		code = trace_summary_end(trace);
	closed = tool_rows_close(&trace->rows);
	if (code)
		return code;
	if (!closed)
		trace_write_totals(trace);
	if (trace->rings.command) {
		live_wait_child(&trace->rings.child);
		if (!closed)
			return tool_end_as(trace->rings.child.status);
	}
	return closed;
}

int cmd_trace(int argc, char **argv)
{
	struct trace trace = { .rings.child.socket = -1, .rows.streams = true };
	int code = parse(&trace, argc, argv);

	unwind_init(&trace.unwind, trace.stacks_by == TRACE_BY_FP);
	if (!code && (trace.pids || trace.name))
		code = live_find(trace.pids, trace.name, &trace.target);
	if (!code && trace.summarize && live_other_numbers())
		code = tool_fail(rings_failed(&trace.rings), "cannot summarize waits: %s",
				 live_other_numbers());
	if (!code)
		code = trace_find_points(&trace);
	if (!code)
		code = open_events(&trace);
	if (!code)
		code = run_trace(&trace);
	rings_close(&trace.rings);
	live_tids_free(&trace.target);
	unwind_free(&trace.unwind);
	trace_free_points(&trace);
	pmc_arena_free(&trace.arena);
	return code;
}
