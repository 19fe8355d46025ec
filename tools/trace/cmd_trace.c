/* SPDX-License-Identifier: MIT */
/* cmd_trace.c - pmctl trace: prints tracepoints of a machine, a process or a command. */
#include "tools/cli/pmctl.h"
#include "tools/live/task.h"
#include "tools/symbol/symbol.h"
#include "tools/trace/trace.h"

static int run_trace(struct trace *trace)
{
	int code, closed;

	/* The command's own output is on the standard output. */
	if (trace->rows.format == TRACE_TEXT && trace->command && !trace->rows.output)
		trace->rows.output = "/dev/stderr";
	code = tool_rows_open(&trace->rows) ? trace_failed(trace) : 0;
	if (!code && trace->summarize)
		code = trace_summary_start(trace);
	if (code)
		return code;
	code = trace_follow(trace);
	if (!code && trace->summary)
		code = trace_summary_end(trace);
	closed = tool_rows_close(&trace->rows);
	if (code)
		return code;
	if (!closed)
		trace_write_totals(trace);
	if (trace->command) {
		tool_child_ended(&trace->child, true);
		if (!closed)
			return tool_end_as(trace->child.status);
	}
	return closed;
}

int cmd_trace(int argc, char **argv)
{
	struct trace trace = { .child = { .socket = -1 } };
	int code = trace_flags(&trace, argc, argv);

	if (!code && trace.stacks && symbols_new(&trace.symbols, NULL))
		code = tool_fail(trace_failed(&trace), "out of memory");
	if (!code && trace.pid)
		code = live_refuse_ended(trace.pid);
	if (!code)
		code = trace_find_points(&trace);
	if (!code)
		code = trace_open(&trace);
	if (!code)
		code = run_trace(&trace);
	tool_child_drop(&trace.child);
	trace_close(&trace);
	unwind_free(&trace.unwind);
	symbols_free(trace.symbols);
	trace_free_points(&trace);
	pmc_arena_free(&trace.arena);
	return code;
}
