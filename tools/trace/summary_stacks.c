/* SPDX-License-Identifier: MIT */
/* summary_stacks.c - where threads wait: user call stacks, with --stacks. */
#include "lib/base/hash.h"
#include "lib/base/json.h"
#include "lib/base/utf8.h"
#include "tools/rows/fold.h"
#include "tools/trace/summary.h"

#include <stdlib.h>
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

/* Waits in stacks of the same functions: call sites within a function are one. */
struct place {
	uint64_t hash, count, ns;
	const struct unwind_stack *stack; /* one of them; NULL: none is known */
};

static int by_hash(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->hash > y->hash) - (x->hash < y->hash);
}

/* Those without a stack come last. */
static int most_time(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (!x->stack != !y->stack)
		return !x->stack - !y->stack;
	return (x->ns < y->ns) - (x->ns > y->ns);
}

static uint64_t hash_names(struct trace *trace, const struct trace_thread *thread,
			   const struct unwind_stack *stack)
{
	struct trace_frame_names names;
	uint64_t hash = 0;

	name_frames(trace, thread, stack, &names);
	for (unsigned i = 0; i < names.n; i++)
		hash = (hash ^ pmc_hash(names.list[i], strlen(names.list[i]))) * 31;
	return hash;
}

/* The thread's places, that of most time first: to be freed; NULL: no memory. */
static struct place *places_of(struct trace *trace, const struct trace_thread *thread, size_t *n)
{
	struct place *list;
	size_t all = 0, merged = 0;

	for (const struct trace_part *p = thread->stacks; p; p = p->next)
		all++;
	list = calloc(all + 1, sizeof(*list));
	*n = 0;
	if (!list)
		return NULL;
	all = 0;
	for (const struct trace_part *p = thread->stacks; p; p = p->next)
		list[all++] = (struct place){ hash_names(trace, thread, p->key.of), p->n, p->ns,
					      p->key.of };
	qsort(list, all, sizeof(*list), by_hash);
	for (size_t i = 0; i < all; i++) {
		if (merged && list[merged - 1].hash == list[i].hash) {
			list[merged - 1].count += list[i].count;
			list[merged - 1].ns += list[i].ns;
		} else {
			list[merged++] = list[i];
		}
	}
	qsort(list, merged, sizeof(*list), most_time);
	*n = merged;
	return list;
}

/* The innermost functions, as many as fit: "  98 % in read < get < main". */
void trace_stacks_line(struct trace *trace, const struct trace_thread *thread, int width)
{
	struct trace_frame_names names;
	size_t n;
	struct place *places = places_of(trace, thread, &n);
	struct pmc_out line, *out = &trace->out;
	char text[1024];
	int room = width - 10, widest = width - 17 < NAME_COLUMNS ? width - 17 : NAME_COLUMNS;

	if (!places || !n || !places->stack || !places->ns) {
		free(places);
		return;
	}
	name_caller(trace, thread, places->stack, &names);
	pmc_outf(out, "  %3u %% in", trace_percent(places->ns, thread->blocked_ns));
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
	free(places);
}

void trace_stacks_json(struct trace *trace, const struct trace_thread *thread,
		       struct pmc_json *json)
{
	struct trace_frame_names names;
	struct place *places;
	size_t n;

	if (!trace->stacks)
		return;
	places = places_of(trace, thread, &n);
	pmc_json_array(json, "blocked_in");
	for (size_t i = 0; i < n; i++) {
		name_frames(trace, thread, places[i].stack, &names);
		pmc_json_object(json, NULL);
		pmc_json_u64(json, "ns", places[i].ns);
		pmc_json_u64(json, "count", places[i].count);
		pmc_json_array(json, "stack");
		trace_stack_json(json, &names);
		pmc_json_array_end(json);
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
	free(places);
}
