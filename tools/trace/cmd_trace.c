/* SPDX-License-Identifier: MIT */
/* cmd_trace.c - pmctl trace: prints tracepoints of a machine, a process or a command. */
#include "lib/base/number.h"
#include "tools/cli/pmctl.h"
#include "tools/live/task.h"
#include "tools/trace/trace.h"

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
	FLAG_PROCESS(pid, "threads of a process and what they start"),
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
		  "output; csv, markdown, prometheus, html: of --summary",
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
		trace->lists[trace->n_lists++].names =
			"sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,"
			"sched:sched_process_fork,sched:sched_waking";
	if (!trace->n_lists)
		return tool_fail(EXIT_USAGE,
				 "no tracepoint; give -e NAME, as -e sched:sched_switch "
				 "(pmctl list '*sched*' shows names), or --summary for times "
				 "of threads");
	targets = trace->all + !!trace->rings.cpus + !!trace->pid + !!trace->rings.command;
	if (targets > 1)
		return tool_fail(EXIT_USAGE, "more than one target; give one of -a, -C CPUS, "
					     "-p PID and -- CMD");
	return trace->summarize ? trace_summary_check(trace) : 0;
}

/* ---- the run -------------------------------------------------------------------------------- */

static int run_trace(struct trace *trace)
{
	int code, closed;

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
		tool_child_wait(&trace->rings.child);
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
	if (!code && trace.pid)
		code = live_refuse_ended(trace.pid);
	if (!code)
		code = trace_find_points(&trace);
	if (!code)
		code = trace_open(&trace);
	if (!code)
		code = run_trace(&trace);
	rings_close(&trace.rings);
	unwind_free(&trace.unwind);
	trace_free_points(&trace);
	pmc_arena_free(&trace.arena);
	return code;
}
