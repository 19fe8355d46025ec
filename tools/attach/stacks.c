/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - copies the tables of modules and stacks of another process.
 *
 * Stacks are copied after the samples and rows that refer to them, and modules after the stacks:
 * what is referred to was complete before. What a thread is adding meanwhile is left out.
 */
#include "lib/dump/build.h"
#include "tools/attach/sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* As in agent/sample/sample_frames.c. */
#define YOUNG 64u

/* The first of `used` items that a part has room for, if it is no larger than an agent's. */
static uint32_t fit(const struct attach *target, enum sample_part part, size_t item, uint32_t used,
		    size_t most_bytes)
{
	size_t n = sample_room(&target->samples, part, item);

	n = n < most_bytes / item ? n : most_bytes / item;
	return n < used ? (uint32_t)n : used;
}

/* Copies items `from` to `to` of a part: 0 or -errno. */
static int copy(const struct attach *target, enum sample_part part, size_t item, uint32_t from,
		uint32_t to, void **items)
{
	const struct sample_tables *tables = &target->samples;

	*items = malloc((to - from) * item + 1);
	return *items ?
		       attach_read(target, (uintptr_t)tables->area + tables->at[part] + from * item,
				   *items, (to - from) * item) :
		       -ENOMEM;
}

/* Drops stacks that no agent writes. The others have words [first_word, *end). The last IDs may be
 * of stacks that are still being written; of others they stay unused. */
static void check(const struct attach *target, struct attach_stacks *stacks, uint32_t *end)
{
	const uint32_t room =
		fit(target, AREA_WORDS, sizeof(uint64_t), UINT32_MAX, SAMPLE_WORDS_BYTES);
	uint32_t left = room, first = room;

	*end = 0;
	stacks->next_stack = 0;
	for (uint32_t id = stacks->from_stack; id < stacks->end; id++) {
		struct sample_stack *stack = &stacks->stacks[id - stacks->from_stack];

		if (!stack->ready && !stacks->next_stack && id + YOUNG >= stacks->end)
			stacks->next_stack = id;
		if (!stack->ready)
			continue;
		/* No two stacks share words. */
		if (stack->depth > PMC_STACK_DEPTH_MAX || stack->depth > left ||
		    stack->first > room - stack->depth) {
			stack->ready = 0;
			stacks->damaged = true;
			continue;
		}
		left -= stack->depth;
		first = stack->first < first ? stack->first : first;
		*end = stack->first + stack->depth > *end ? stack->first + stack->depth : *end;
	}
	if (!stacks->next_stack)
		stacks->next_stack = stacks->end;
	stacks->first_word = first < *end ? first : *end;
}

static int copy_stacks(const struct attach *target, struct attach_stacks *stacks)
{
	const uint32_t used = fit(target, AREA_STACKS, sizeof(*stacks->stacks),
				  target->samples.stacks, SAMPLE_STACKS_BYTES);
	uint32_t end;
	int error;

	stacks->end = used > stacks->from_stack ? used : stacks->from_stack;
	error = copy(target, AREA_STACKS, sizeof(*stacks->stacks), stacks->from_stack, stacks->end,
		     (void **)&stacks->stacks);
	if (error)
		return error;
	check(target, stacks, &end);
	return copy(target, AREA_WORDS, sizeof(*stacks->words), stacks->first_word, end,
		    (void **)&stacks->words);
}

static int copy_modules(const struct attach *target, struct attach_stacks *stacks)
{
	const struct sample_tables *tables = &target->samples;
	int error;

	stacks->text_bytes = fit(target, AREA_TEXT, 1, tables->text, SAMPLE_TEXT_BYTES);
	stacks->n_modules = fit(target, AREA_MODULES, sizeof(*stacks->modules), tables->modules,
				SAMPLE_MODULES * sizeof(*stacks->modules));
	error = copy(target, AREA_MODULES, sizeof(*stacks->modules), 0, stacks->n_modules,
		     (void **)&stacks->modules);
	return error ? error :
		       copy(target, AREA_TEXT, 1, 0, stacks->text_bytes, (void **)&stacks->text);
}

bool attach_stacks_copy(struct attach *target, struct attach_stacks *stacks)
{
	int error = 0;

	attach_sample_tables(target);
	stacks->at_module = stacks->next_module = stacks->from_module;
	stacks->at_stack = stacks->next_stack = stacks->end = stacks->from_stack;
	stacks->damaged = target->control.samples && !target->samples.area;
	if (target->samples.area)
		error = copy_stacks(target, stacks);
	if (!error)
		attach_sample_tables(target);
	if (!error && target->samples.area)
		error = copy_modules(target, stacks);
	if (error) {
		stacks->damaged = true;
		stacks->end = stacks->from_stack;
		stacks->n_modules = 0;
	}
	return error != -ENOMEM;
}

/* Whether the module has a MODULE frame as an agent writes it. */
static bool is_sound(const struct attach_stacks *stacks, const struct sample_module *module)
{
	struct pmc_scan scan = { .len = module->text_bytes };
	struct pmc_cursor cursor;
	struct pmc_frame frame;
	const char *text;
	size_t len;

	scan.data = stacks->text + module->text;
	if (module->text_bytes > PMC_MODULE_BYTES || !pmc_scan_next(&scan, &frame) ||
	    frame.head.type != PMC_FRAME_MODULE || frame.head.hash != module->hash ||
	    frame.head.size != module->text_bytes)
		return false;
	pmc_cursor_init(&cursor, &frame);
	return pmc_cursor_str(&cursor, &text, &len) && pmc_cursor_str(&cursor, &text, &len);
}

static void put_module(struct attach_stacks *stacks, uint32_t i, struct pmc_frame_buf *buf)
{
	const struct sample_module *module = &stacks->modules[i];

	if (!module->ready || module->text > stacks->text_bytes ||
	    module->text_bytes > stacks->text_bytes - module->text)
		return;
	stacks->next_module += stacks->next_module == i;
	if (!is_sound(stacks, module)) {
		stacks->damaged = true;
		return;
	}
	memcpy(buf->data + buf->len, stacks->text + module->text, module->text_bytes);
	buf->len += module->text_bytes;
}

static const uint64_t *words_of(struct attach_stacks *stacks, const struct sample_stack *stack)
{
	const uint64_t *words = stacks->words + (stack->first - stacks->first_word);

	for (unsigned i = 0; i < stack->depth; i++) {
		const unsigned module = PMC_STACK_MODULE(words[i]);

		if (module >= stacks->n_modules && module != PMC_NO_MODULE) {
			stacks->damaged = true;
			return NULL;
		}
	}
	return words;
}

/* As many stacks as fit. */
static void put_stacks(const struct attach *target, struct attach_stacks *stacks,
		       struct pmc_frame_buf *buf)
{
	const struct pmc_stacks_fixed none = { .n_modules = stacks->n_modules };
	const size_t most = SAMPLE_FRAME_BYTES - sizeof(struct pmc_stack_def) -
			    PMC_STACK_DEPTH_MAX * sizeof(uint64_t);
	struct pmc_stacks_fixed *fixed =
		pmc_begin_stacks(buf, target->control.identity, target->control.snapshot, &none);

	for (uint32_t i = 0; i < stacks->n_modules; i++) {
		const struct sample_module *module = &stacks->modules[i];
		const uint64_t hash = module->ready ? module->hash : 0;

		pmc_frame_bytes(buf, &hash, sizeof(hash));
	}
	for (; stacks->at_stack < stacks->end && buf->len - buf->start <= most;
	     stacks->at_stack++) {
		const struct sample_stack *stack =
			&stacks->stacks[stacks->at_stack - stacks->from_stack];
		const struct pmc_stack_def def = { .id = stacks->at_stack,
						   .depth = stack->depth,
						   .flags = stack->flags };
		const uint64_t *words = stack->ready ? words_of(stacks, stack) : NULL;

		if (!words)
			continue;
		pmc_put_stack(buf, &def, words);
		fixed->n_stacks++;
	}
	if (fixed->n_stacks)
		pmc_frame_end(buf);
	else
		pmc_frame_drop(buf);
}

bool attach_stacks_next(const struct attach *target, struct attach_stacks *stacks,
			struct pmc_frame_buf *buf)
{
	if (stacks->at_module < stacks->n_modules)
		put_module(stacks, stacks->at_module++, buf);
	else if (stacks->at_stack < stacks->end)
		put_stacks(target, stacks, buf);
	else
		return false;
	return true;
}

void attach_stacks_free(struct attach_stacks *stacks)
{
	free(stacks->modules);
	free(stacks->text);
	free(stacks->stacks);
	free(stacks->words);
	*stacks = (struct attach_stacks){ .from_stack = 1 };
}
