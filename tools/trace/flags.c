/* SPDX-License-Identifier: MIT */
/* flags.c - flags of `pmctl trace`. */
#include "agent/core/base/number.h"
#include "tools/cli/pmctl.h"
#include "tools/trace/trace.h"

#include <string.h>

#define MOST_PAGES (1u << 18)

static int set_format(struct trace *trace, const struct tool_args *args)
{
	static const struct tool_word formats[] = {
		{ "text", TRACE_TEXT, NULL },
		{ "fields", TRACE_FIELDS, NULL },
		{ "json", TRACE_JSON, NULL },
		{ NULL, 0, NULL },
	};
	int word = 0, code = tool_args_word(args, formats, &word);

	trace->format = (enum trace_format)word;
	return code;
}

/* "0-3,8" */
static bool is_cpu_list(const char *at)
{
	uint64_t first, last;

	for (;; at++) {
		if (!pmc_number_take(&at, NULL, 10, &first) || first > INT32_MAX)
			return false;
		last = first;
		if (*at == '-' && (at++, !pmc_number_take(&at, NULL, 10, &last)))
			return false;
		if (last < first || last > INT32_MAX || (*at && *at != ','))
			return false;
		if (!*at)
			return true;
	}
}

/* Of the -e before it, as with perf. */
static int set_filter(struct trace *trace, const char *filter)
{
	struct trace_names *list = trace->lists + trace->n_lists;

	if (list-- == trace->lists)
		return tool_fail(EXIT_USAGE, "--filter is for the -e before it; give -e NAME first "
					     "(--summary has no filters)");
	if (list->filter)
		return tool_fail(EXIT_USAGE, "two filters for -e %.60s; join them with &&",
				 list->names);
	list->filter = filter;
	return 0;
}

static int set_flag(void *to, const struct tool_args *args)
{
	struct trace *trace = to;
	uint64_t number;

	if (!args->flag)
		return tool_fail_operand(args);
	if (tool_args_is(args, "--events")) {
		trace->lists[trace->n_lists++].names = args->value;
	} else if (tool_args_is(args, "--all")) {
		trace->all = true;
	} else if (tool_args_is(args, "--cpus")) {
		trace->cpus = args->value;
		if (!is_cpu_list(args->value))
			return tool_fail_value(args, "CPUs such as 0-3,8");
	} else if (tool_args_is(args, "--pid")) {
		if (!pmc_number(args->value, INT32_MAX, &number) || !number)
			return tool_fail_value(args, "a process ID");
		trace->pid = (pid_t)number;
	} else if (tool_args_is(args, "--filter")) {
		return set_filter(trace, args->value);
	} else if (tool_args_is(args, "--duration")) {
		return tool_args_time(args, 0, &trace->duration_ns);
	} else if (tool_args_is(args, "--pages")) {
		if (!pmc_number(args->value, MOST_PAGES, &number) || !number ||
		    (number & (number - 1)))
			return tool_fail_value(args, "a power of 2 from 1 to 262144");
		trace->pages = (unsigned)number;
	} else if (tool_args_is(args, "--summary")) {
		trace->summarize = true;
	} else if (tool_args_is(args, "--stacks")) {
		trace->stacks = true;
	} else if (tool_args_is(args, "--unwind")) {
		trace->unwind.frame_pointers = !strcmp(args->value, "fp");
		trace->stacks = true;
		if (!trace->unwind.frame_pointers && strcmp(args->value, "dwarf") != 0)
			return tool_fail_value(args, "dwarf or fp");
	} else if (tool_args_is(args, "--by")) {
		trace->by = !strcmp(args->value, "pool") ? TRACE_BY_POOL : TRACE_BY_THREAD;
		if (trace->by == TRACE_BY_THREAD && strcmp(args->value, "thread") != 0)
			return tool_fail_value(args, "thread or pool");
	} else if (tool_args_is(args, "--format")) {
		return set_format(trace, args);
	} else {
		trace->output = args->value;
	}
	return 0;
}

int trace_failed(const struct trace *trace)
{
	return trace->command ? EXIT_OURS : EXIT_FAIL;
}

int trace_flags(struct trace *trace, int argc, char **argv)
{
	int code, targets;

	/* No more than arguments, and one for --summary. */
	trace->lists = pmc_arena_alloc(&trace->arena, ((size_t)argc + 1) * sizeof(*trace->lists));
	if (!trace->lists)
		return tool_fail(EXIT_FAIL, "out of memory");
	code = tool_args_parse(argc, argv, set_flag, trace, &trace->command);
	if (code)
		return code;
	if (trace->summarize && trace->n_lists)
		return tool_fail(EXIT_USAGE, "--summary chooses its own tracepoints; leave out -e");
	if (trace->by && !trace->summarize)
		return tool_fail(EXIT_USAGE, "--by is for --summary");
	if (trace->summarize && trace->cpus)
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
	targets = trace->all + !!trace->cpus + !!trace->pid + !!trace->command;
	if (targets > 1)
		return tool_fail(EXIT_USAGE, "more than one target; give one of -a, -C CPUS, "
					     "-p PID and -- CMD");
	return 0;
}
