/* SPDX-License-Identifier: MIT */
/* summary_stacks.c - where threads wait: user call stacks, with --stacks. */
#include "lib/base/hash.h"
#include "lib/base/json.h"
#include "lib/base/utf8.h"
#include "tools/rows/fold.h"
#include "tools/trace/summary.h"

#include <string.h>

#define NAME_COLUMNS 60

static void name_frames(struct trace *trace, const struct trace_thread *thread,
			const struct unwind_stack *stack, struct trace_frame_names *names)
{
	names->n = 0;
	if (stack)
		trace_stack_names(trace, stack->words, stack->depth, stack->flags,
				  (pid_t)thread->pid, names);
}

static bool in_libc(const struct trace *trace, uint64_t word)
{
	const struct unwind_module *module = unwind_module_at(&trace->unwind, word);
	const char *name = module ? pmc_base_name(module->path) : "";

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
	trace_stack_names(trace, stack->words + first, 1, 0, (pid_t)thread->pid, names);
	inlined = in_libc(trace, stack->words[first]) && names->n ? names->n - 1 : 0;
	trace_stack_names(trace, stack->words + first, stack->depth - first, stack->flags,
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
	HASH_FIND(hh, trace->summary->places, &hash, sizeof(hash), place);
	if (place)
		return place->stack;
	place = pmc_arena_alloc(arena, sizeof(*place));
	if (!place)
		return stack;
	*place = (struct place){ .hash = hash, .stack = stack };
	HASH_ADD(hh, trace->summary->places, hash, sizeof(hash), place);
	return stack;
}

void trace_stacks_join(struct trace *trace, struct trace_thread *thread)
{
	for (struct trace_part *p = thread->stacks; p; p = p->next) {
		const struct unwind_stack *place = place_of(trace, thread, p->key.of);

		if (place == p->key.of)
			continue;
		trace_part_add(trace->summary, thread, &thread->stacks, place, p->n, p->ns);
		p->n = p->ns = 0;
	}
	trace_parts_sort(&thread->stacks);
}

/* The innermost functions, as many as fit: "  98 % in read < get < main". */
void trace_stacks_line(struct trace *trace, const struct trace_thread *thread, int width)
{
	struct trace_frame_names names;
	const struct trace_part *part = thread->stacks;
	struct pmc_out line, *out = &trace->rows.out;
	char text[1024];
	int room = width - 10, widest = width - 17 < NAME_COLUMNS ? width - 17 : NAME_COLUMNS;

	while (part && !part->key.of)
		part = part->next;
	if (!part || !part->ns)
		return;
	name_caller(trace, thread, part->key.of, &names);
	pmc_outf(out, "  %3u %% in", trace_percent(part->ns, thread->blocked_ns));
	for (unsigned i = 0; i < names.n; i++) {
		pmc_out_to_mem(&line, text, sizeof(text));
		room -= pmc_utf8_safe(&line, names.list[i], strlen(names.list[i]),
				      widest > 1 ? widest : 1) +
			(i ? 3 : 1);
		if (i && room < (i + 1 < names.n ? 6 : 0)) {
			pmc_out_str(out, " < ...");
			break;
		}
		pmc_outf(out, "%s%.*s", i ? " < " : " ", (int)line.len, text);
	}
	pmc_out_char(out, '\n');
}

void trace_stacks_json(struct trace *trace, const struct trace_thread *thread,
		       struct pmc_json *json)
{
	struct trace_frame_names names;

	if (!trace->stacks)
		return;
	pmc_json_array(json, "blocked_in");
	for (const struct trace_part *p = thread->stacks; p; p = p->next) {
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
