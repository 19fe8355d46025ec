/* SPDX-License-Identifier: MIT */
/* stacks.c - --stacks: functions of the user call stacks of records, and of waits. */
#include "tools/trace/trace.h"
#include "lib/base/json.h"
#include "lib/base/utf8.h"
#include "tools/rows/fold.h"
#include "tools/symbol/symbol.h"

#include <stdio.h>
#include <string.h>

/* Of stripped files the start of the function stands for all of it. */
static const char *place_name(struct trace *trace, const struct unwind_module *module,
			      const struct symbol_place *place, uint64_t address)
{
	char text[512];

	if (module && place->start)
		address = place->start;
	snprintf(text, sizeof(text), "%.440s%s0x%llx",
		 module ? pmc_base_name(symbols_path(module->file)) : "", module ? "+" : "",
		 (unsigned long long)address);
	return symbols_text(trace->unwind.symbols, text);
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
	struct symbol_module *symbols =
		module ? module->file : symbols_perf_map(trace->unwind.symbols, pid);
	const struct symbol_place *place;

	if (!symbols)
		return;
	place = symbols_at(trace->unwind.symbols, symbols, address);
	for (unsigned i = 0; i < place->n; i++)
		add(names, place->frames[i].function ? place->frames[i].function :
						       place_name(trace, module, place, address));
}

/* Of a stack that the unwinder found. */
static void name_stack(struct trace *trace, const uint64_t *words, unsigned depth, uint16_t flags,
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

	name_stack(trace, words, depth, flags, (pid_t)record->pid, names);
}

void trace_stack_json(struct pmc_json *json, const struct trace_frame_names *names)
{
	for (unsigned i = 0; i < names->n; i++)
		pmc_json_str(json, NULL, names->list[i]);
}

/* ---- waits --------------------------------------------------------------------------------- */

#define NAME_COLUMNS 60

static void name_frames(struct trace *trace, const struct trace_thread *thread,
			const struct unwind_stack *stack, struct trace_frame_names *names)
{
	names->n = 0;
	if (stack)
		name_stack(trace, stack->words, stack->depth, stack->flags, (pid_t)thread->pid,
			   names);
}

static bool in_libc(const struct trace *trace, uint64_t word)
{
	const struct unwind_module *module = unwind_module_at(&trace->unwind, word);
	const char *name = module ? pmc_base_name(symbols_path(module->file)) : "";

	return !strncmp(name, "libc.so.", 8) || !strncmp(name, "libpthread", 10) ||
	       !strncmp(name, "ld-musl-", 8);
}

/* Of the C library only the function that was called. */
static void name_caller(struct trace *trace, const struct trace_thread *thread,
			const struct unwind_stack *stack, struct trace_frame_names *names)
{
	unsigned first = 0, inlined;

	while (first + 1u < stack->depth && in_libc(trace, stack->words[first]) &&
	       in_libc(trace, stack->words[first + 1]))
		first++;
	name_stack(trace, stack->words + first, 1, 0, (pid_t)thread->pid, names);
	inlined = in_libc(trace, stack->words[first]) && names->n ? names->n - 1 : 0;
	name_stack(trace, stack->words + first, stack->depth - first, stack->flags,
		   (pid_t)thread->pid, names);
	names->n -= inlined;
	memmove(names->list, names->list + inlined, names->n * sizeof(*names->list));
}

/* A stack of certain functions. */
struct place {
	uint64_t hash; /* of their names and the process */
	const struct unwind_stack *stack;
	UT_hash_handle hh;
};

/* One stack for all of the same functions: call sites within a function are one. */
static const struct unwind_stack *place_of(struct trace *trace, const struct trace_thread *thread,
					   const struct unwind_stack *stack)
{
	struct pmc_arena *arena = &trace->arena;
	struct trace_frame_names names;
	struct place *place;
	uint64_t hash = thread->pid;

	if (!stack)
		return NULL;
	name_frames(trace, thread, stack, &names);
	for (unsigned i = 0; i < names.n; i++)
		hash = (hash ^ pmc_hash(names.list[i], strlen(names.list[i]))) * 31;
	HASH_ENTRY(trace->summary->places, hash, &hash, place);
	place->stack = place->stack ? place->stack : stack;
	return place->stack;
}

/* Stacks of the same functions become one, those of most time come first. */
static void join(struct trace *trace, struct trace_thread *thread)
{
	for (struct unwind_wait *wait = thread->stacks; wait; wait = wait->next) {
		const struct unwind_stack *place = place_of(trace, thread, wait->key.of);

		if (place == wait->key.of)
			continue;
		if (wait->n)
			unwind_wait_add(&trace->unwind, &thread->stacks, place, 0, wait->n,
					wait->ns);
		wait->n = wait->ns = 0;
	}
	trace_waits_sort(&thread->stacks);
}

/* The innermost functions: "read < get < main". */
static void put_names(struct pmc_out *out, const struct trace_frame_names *names, unsigned most)
{
	for (unsigned i = 0; i < names->n && i < most; i++) {
		pmc_out_str(out, i ? " < " : "");
		pmc_utf8_safe(out, names->list[i], strlen(names->list[i]), NAME_COLUMNS);
	}
}

void trace_stacks_line(struct trace *trace, struct trace_thread *thread, int width)
{
	struct trace_frame_names names;
	const struct unwind_wait *part;
	struct pmc_out line = PMC_OUT_MEM(4096);

	join(trace, thread);
	for (part = thread->stacks; part && !part->key.of;)
		part = part->next;
	if (!part || !part->ns)
		return;
	name_caller(trace, thread, part->key.of, &names);
	pmc_outf(&line, "  %3u %% in ", trace_percent(part->ns, thread->blocked_ns));
	put_names(&line, &names, TRACE_NAMES);
	pmc_utf8_fit(&trace->rows.out, line.buf, line.len, width, PMC_CUT_END,
		     trace->rows.screen.ascii);
	pmc_out_char(&trace->rows.out, '\n');
}

const char *trace_stack_text(struct trace *trace, const struct trace_thread *thread,
			     const struct unwind_stack *stack)
{
	struct trace_frame_names names;
	struct pmc_out out = PMC_OUT_MEM(4096);

	name_caller(trace, thread, stack, &names);
	put_names(&out, &names, 3);
	return symbols_text(trace->unwind.symbols, out.buf);
}

void trace_stacks_json(struct trace *trace, struct trace_thread *thread, struct pmc_json *json)
{
	struct trace_frame_names names;

	join(trace, thread);
	pmc_json_array(json, "blocked_in");
	for (const struct unwind_wait *p = thread->stacks; p; p = p->next) {
		if (!p->n)
			continue;
		name_frames(trace, thread, p->key.of, &names);
		pmc_json_object(json, NULL);
		pmc_json_u64(json, "ns", p->ns);
		pmc_json_u64(json, "count", p->n);
		pmc_json_array(json, "stack");
		trace_stack_json(json, &names);
		pmc_json_array_end(json);
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
}
