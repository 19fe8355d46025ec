/* SPDX-License-Identifier: MIT */
/* stacks.c - --stacks: functions of the user call stacks of records. */
#include "tools/trace/trace.h"
#include "lib/base/json.h"
#include "tools/rows/fold.h"
#include "tools/symbol/symbol.h"

#include <stdio.h>
#include <string.h>

static struct symbol_module *module_of(struct trace *trace, const struct unwind_module *module,
				       pid_t pid)
{
	if (!module)
		return symbols_perf_map(trace->symbols, pid);
	return symbols_module(trace->symbols, module->path, module->id, module->id_bytes);
}

/* Of stripped files the start of the function stands for all of it. */
static const char *place_name(struct trace *trace, const struct unwind_module *module,
			      const struct symbol_place *place, uint64_t address)
{
	char text[512];

	if (module && place->start)
		address = place->start;
	snprintf(text, sizeof(text), "%.440s%s0x%llx", module ? pmc_base_name(module->path) : "",
		 module ? "+" : "", (unsigned long long)address);
	return symbols_text(trace->symbols, text);
}

static void add(struct trace_frame_names *names, const char *name)
{
	if (name && names->n < TRACE_NAMES)
		names->list[names->n++] = name;
}

static void add_frame(struct trace *trace, uint64_t word, pid_t pid,
		      struct trace_frame_names *names)
{
	const uint64_t address = PMC_STACK_ADDRESS(word);
	struct unwind_module *module = unwind_module_at(&trace->unwind, word);
	struct symbol_module *symbols = module_of(trace, module, pid);
	const struct symbol_place *place;

	if (!symbols)
		return;
	place = symbols_at(trace->symbols, symbols, address);
	for (unsigned i = 0; i < place->n; i++)
		add(names, place->frames[i].function ? place->frames[i].function :
						       place_name(trace, module, place, address));
}

void trace_stack_names(struct trace *trace, const uint64_t *words, unsigned depth, uint16_t flags,
		       pid_t pid, struct trace_frame_names *names)
{
	names->n = 0;
	for (unsigned i = 0; i < depth; i++)
		add_frame(trace, words[i], pid, names);
	if (flags & (PMC_STACK_TRUNCATED | PMC_STACK_BROKEN))
		add(names, "(truncated stack)");
}

void trace_stack_of(struct trace *trace, const struct pmc_record *record,
		    struct trace_frame_names *names)
{
	uint64_t words[PMC_STACK_DEPTH_MAX];
	uint16_t flags = 0;
	const unsigned depth = unwind_frames(&trace->unwind, record, words, &flags);

	trace_stack_names(trace, words, depth, flags, (pid_t)record->pid, names);
}

void trace_stack_json(struct pmc_json *json, const struct trace_frame_names *names)
{
	for (unsigned i = 0; i < names->n; i++)
		pmc_json_str(json, NULL, names->list[i]);
}
