/* SPDX-License-Identifier: MIT */
/* test_unwind.c - frames by frame pointers in the mappings of a process. */
#include "tools/unwind/private.h"
#include "tests/unit/unit.h"

static void maps_replace_what_was_there(void **state)
{
	struct unwind_map maps[] = { { .start = 0, .end = 10 },
				     { .start = 20, .end = 30 },
				     { .start = 5, .end = 25 } };
	const struct unwind_image image = { .maps = maps, .n_maps = 3 };

	assert_ptr_equal(unwind_map_at(&image, 4), &maps[0]);
	assert_ptr_equal(unwind_map_at(&image, 5), &maps[2]);
	assert_ptr_equal(unwind_map_at(&image, 25), &maps[1]);
	assert_null(unwind_map_at(&image, 30));
}

enum { PID = INT32_MAX }; /* above PID_MAX_LIMIT: /proc has none */

static unsigned frames_of(struct unwind *unwind, uint32_t pid, const uint64_t *chain, uint64_t n,
			  uint16_t *flags)
{
	static uint64_t words[PMC_STACK_DEPTH_MAX];
	const struct pmc_record record = { .type = PERF_RECORD_SAMPLE,
					   .present = PERF_SAMPLE_CALLCHAIN,
					   .pid = pid,
					   .sample = { .callchain = chain, .n_callchain = n } };

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_replace_what_was_there),
		cmocka_unit_test(callers_are_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
