/* SPDX-License-Identifier: MIT */
/* test_unwind.c - mappings of a process, and its stacks. */
#include "tools/unwind/private.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define PAGES 64

/* Against an array with an entry for each page. */
static void maps_replace_what_was_there(void **state)
{
	static struct unwind_module modules[8];
	struct page {
		struct unwind_module *module;
		uint64_t file_offset;
		bool mapped;
	} pages[PAGES];
	struct unwind_maps maps, copy;

	srand(1);
	for (unsigned round = 0; round < 200; round++) {
		memset(pages, 0, sizeof(pages));
		maps = copy = (struct unwind_maps){ .list = NULL };
		for (unsigned i = 0; i < 40; i++) {
			const unsigned start = (unsigned)rand() % PAGES;
			const unsigned n = (unsigned)rand() % (PAGES - start + 1);
			struct unwind_map map = { .start = start * 4096ul,
						  .end = (start + n) * 4096ul,
						  .file_offset = (uint64_t)rand() * 4096,
						  .module = &modules[rand() % 8] };

			unwind_maps_add(&maps, &map);
			for (unsigned p = start; p < start + n; p++)
				pages[p] = (struct page){ map.module,
							  map.file_offset + (p - start) * 4096ul,
							  true };
		}
		unwind_maps_copy(&copy, &maps);
		for (unsigned p = 0; p < PAGES; p++) {
			const uint64_t address = p * 4096ul + 4095;
			const struct unwind_map *map = unwind_maps_find(&copy, address);

			assert_int_equal(map != NULL, pages[p].mapped);
			if (!map)
				continue;
			assert_ptr_equal(map->module, pages[p].module);
			assert_int_equal(map->file_offset + (address - map->start),
					 pages[p].file_offset + 4095);
		}
		unwind_maps_free(&maps);
		unwind_maps_free(&copy);
	}
}

enum { PID = INT32_MAX }; /* above PID_MAX_LIMIT: /proc has none */

static struct pmc_record sample_of(uint32_t pid, const uint64_t *chain, uint64_t n)
{
	return (struct pmc_record){ .type = PERF_RECORD_SAMPLE,
				    .present = PERF_SAMPLE_CALLCHAIN,
				    .pid = pid,
				    .sample = { .callchain = chain, .n_callchain = n } };
}

static unsigned frames_of(struct unwind *unwind, uint32_t pid, const uint64_t *chain, uint64_t n,
			  uint16_t *flags)
{
	static uint64_t words[PMC_STACK_DEPTH_MAX];
	const struct pmc_record record = sample_of(pid, chain, n);

	*flags = 0;
	return unwind_frames(unwind, &record, words, flags);
}

/* Frame pointers lead to any word where code keeps none. */
static void callers_are_code(void **state)
{
	const uint64_t chain[] = { PERF_CONTEXT_USER, 0x10010, 0x10020, 0x1fff, 0x10030 };
	struct unwind unwind;
	const struct pmc_record mapping = {
		.type = PERF_RECORD_MMAP2,
		.mmap = { .pid = PID, .addr = 0x10000, .len = 0x1000, .filename = "//anon" },
	};
	uint16_t flags;

	unwind_init(&unwind, true);
	unwind_take(&unwind, &mapping);
	assert_int_equal(frames_of(&unwind, PID, chain, 3, &flags), 2);
	assert_int_equal(flags & PMC_STACK_BROKEN, 0);
	assert_int_equal(frames_of(&unwind, PID, chain, 5, &flags), 2);
	assert_int_equal(flags & PMC_STACK_BROKEN, PMC_STACK_BROKEN);
	/* The program counter itself is not in doubt. */
	assert_int_equal(frames_of(&unwind, PID, chain + 3, 1, &flags), 1);
	/* Of a process that is gone no mappings are known. */
	assert_int_equal(frames_of(&unwind, PID - 1, chain, 5, &flags), 4);
	assert_int_equal(flags & PMC_STACK_BROKEN, 0);
	unwind_free(&unwind);
}

/* The kernel looks for no more callers, kernel.perf_event_max_stack. */
static void stacks_of_the_most_functions_are_truncated(void **state)
{
	const uint64_t chain[] = { PERF_CONTEXT_USER, 0x10010, 0x10020, 0x10030 };
	struct unwind unwind;
	uint16_t flags;

	unwind_init(&unwind, true);
	assert_true(unwind.chain_most > 3);
	assert_int_equal(frames_of(&unwind, PID, chain, 4, &flags), 3);
	assert_int_equal(flags & PMC_STACK_TRUNCATED, 0);
	unwind.chain_most = 3;
	assert_int_equal(frames_of(&unwind, PID, chain, 4, &flags), 3);
	assert_int_equal(flags & PMC_STACK_TRUNCATED, PMC_STACK_TRUNCATED);
	unwind_free(&unwind);
}

static const struct unwind_stack *stack_of(struct unwind *unwind, uint64_t pc, uint64_t caller)
{
	const uint64_t chain[] = { PERF_CONTEXT_USER, pc, caller };
	const struct pmc_record record = sample_of(PID, chain, 3);

	return unwind_stack_of(unwind, &record, false);
}

/* A recording with more stacks than memory for them keeps where samples were taken. */
static void stacks_beyond_the_limit_keep_their_function(void **state)
{
	struct unwind unwind;
	const struct unwind_stack *stack;

	unwind_init(&unwind, true);
	assert_int_equal(stack_of(&unwind, 0x10010, 0x10020)->depth, 2);
	assert_int_equal(unwind.shortened, 0);

	unwind.kept_most = unwind.kept_bytes;
	assert_int_equal(stack_of(&unwind, 0x10010, 0x10020)->depth, 2);
	stack = stack_of(&unwind, 0x10010, 0x10030);
	assert_int_equal(stack->depth, 1);
	assert_int_equal(PMC_STACK_ADDRESS(stack->words[0]), 0x10010);
	assert_int_equal(stack->flags & PMC_STACK_TRUNCATED, PMC_STACK_TRUNCATED);
	assert_ptr_equal(stack_of(&unwind, 0x10010, 0x10040), stack);
	assert_int_equal(unwind.shortened, 2);

	unwind.kept_most = 1;
	assert_null(stack_of(&unwind, 0x10011, 0x10020));
	assert_int_equal(unwind.shortened, 3);
	unwind_free(&unwind);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_replace_what_was_there),
		cmocka_unit_test(callers_are_code),
		cmocka_unit_test(stacks_of_the_most_functions_are_truncated),
		cmocka_unit_test(stacks_beyond_the_limit_keep_their_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
