/* SPDX-License-Identifier: MIT */
/* stacks.c - the stacks of samples, each once. */
#include "tools/unwind/private.h"

#include <string.h>

/* Beyond these, samples have no stack: some 200 MB. */
enum { STACKS_MOST = 200000 };

static const struct unwind_stack *keep(struct unwind *unwind, const uint64_t *words, unsigned depth,
				       uint16_t flags)
{
	struct pmc_arena *arena = &unwind->arena;
	const size_t bytes = depth * sizeof(*words);
	struct unwind_stack *stack;

	HASH_FIND(hh, unwind->stacks, words, bytes, stack);
	if (stack || HASH_COUNT(unwind->stacks) >= STACKS_MOST)
		return stack;
	stack = pmc_arena_alloc(arena, sizeof(*stack) + bytes);
	if (!stack)
		return NULL;
	stack->depth = (uint16_t)depth;
	stack->flags = flags;
	stack->id = PMC_STACK_OUTSIDE + HASH_COUNT(unwind->stacks);
	memcpy(stack->words, words, bytes);
	HASH_ADD(hh, unwind->stacks, words, bytes, stack);
	return stack;
}

/* A kernel thread has no user registers, an exiting thread no process. */
static bool has_user(const struct pmc_record *record)
{
	const struct pmc_record_sample *sample = &record->sample;

	if ((int32_t)record->pid <= 0)
		return false;
	if (record->present & PERF_SAMPLE_REGS_USER)
		return sample->regs_user.abi != PERF_SAMPLE_REGS_ABI_NONE;
	return record->present & PERF_SAMPLE_CALLCHAIN && sample->n_callchain;
}

unsigned unwind_frames(struct unwind *unwind, const struct pmc_record *record, uint64_t *words,
		       uint16_t *flags)
{
	const struct unwind_image *image =
		has_user(record) ? unwind_image_of(unwind, record->pid) : NULL;

	return image ? unwind_walk(unwind, image, record, words, flags) : 0;
}

const struct unwind_stack *unwind_stack_of(struct unwind *unwind, const struct pmc_record *record)
{
	uint64_t words[PMC_STACK_DEPTH_MAX];
	uint16_t flags = 0;
	const unsigned depth = unwind_frames(unwind, record, words, &flags);

	return depth ? keep(unwind, words, depth, flags) : NULL;
}
