/* SPDX-License-Identifier: MIT */
/* test_attach_region.c - marked regions of another process: valid areas give frames, forged ones
 * none. */
#include "tests/unit/region_made.h"

#include <errno.h>

static void frames_are_true(void **state)
{
	const struct seen *two = &seen[1];

	record_at(areas[0], FIRST + 1)->outermost = 1;
	record_at(areas[0], FIRST + 1)->open = 10;
	record_at(areas[0], FIRST + 1)->words[REGION_ENDS] = 8;
	record_at(areas[0], FIRST + 1)->words[WORDS + REGION_ENDS] = 9;
	look();
	assert_int_equal(n_seen, 6);
	assert_false(missing.regions);
	assert_int_equal(missing.changing, 0);
	assert_string_equal(seen[0].name, "one");
	assert_string_equal(two->name, "two");
	assert_string_equal(seen[2].name, "three");
	assert_int_equal(two->fixed.seq, 3);
	assert_int_equal(two->fixed.calls, 2);
	assert_int_equal(two->fixed.outermost, 1);
	assert_int_equal(two->fixed.nested, 8);
	assert_int_equal(two->fixed.direct, 9);
	assert_int_equal(two->fixed.open, 10);
	assert_int_equal(two->fixed.eventset, 77);
	assert_int_equal(two->fixed.flags, PMC_REGION_CPU | PMC_REGION_COST);
	assert_int_equal(two->fixed.cpu_ns, 2000);
	assert_int_equal(two->fixed.self_cpu_ns, 200);
	assert_int_equal(two->fixed.inside_cpu_ns, 1);
	assert_int_equal(two->fixed.around_cpu_ns, 11);
	for (unsigned part = 0; part < 4; part++) {
		static const unsigned from[4] = { 2000, 200, REGION_CPU, 10 + REGION_CPU };

		assert_int_equal(two->readings[part].error, 0);
		assert_int_equal(two->readings[part].enabled_ns, from[part]);
		assert_int_equal(two->readings[part].running_ns, from[part] + 1);
		assert_int_equal(two->readings[part].n, 2);
		assert_int_equal(two->values[part][0], from[part] + 2);
		assert_int_equal(two->values[part][1], from[part] + 3);
	}
	/* The other thread has CPU time but no counts. */
	assert_int_equal(seen[3].fixed.seq, 4);
	assert_int_equal(seen[3].fixed.cpu_ns, 1000);
	assert_int_equal(seen[3].fixed.n_groups, 1);
	assert_int_equal(seen[3].readings[0].error, EBADF);
	assert_int_equal(seen[3].readings[0].n, 0);
}

static void odd_records(void **state)
{
	struct region_record *record = record_at(areas[0], FIRST);

	/* A clock read in user space may be behind the kernel's: the difference is negative. */
	record->words[REGION_CPU] = 0ull - 5;
	record_at(areas[0], REGION_OTHER)->open = 1;
	areas[0]->errors[0] = ENODATA;
	areas[0]->mode = REGION_USER;
	registry_slot(&target.registry, 1)->reason = PMC_REASON_FD_BUDGET;
	areas[1]->cost = REGION_COST_NONE;
	look();
	assert_int_equal(n_seen, 7);
	assert_string_equal(seen[0].name, "(other regions)");
	assert_int_equal(seen[0].fixed.open, 1);
	assert_int_equal(seen[1].fixed.cpu_ns, 0);
	assert_int_equal(seen[1].fixed.flags, PMC_REGION_COST | PMC_REGION_USER_READS);
	assert_int_equal(seen[1].readings[0].error, ENODATA);
	assert_int_equal(seen[1].readings[0].n, 0);
	assert_int_equal(seen[4].readings[0].error, PMC_REASON_FD_BUDGET);
	assert_int_equal(seen[4].fixed.flags, PMC_REGION_CPU);
	/* No thread has marked a region. */
	registry_slot(&registry, 0)->regions = registry_slot(&registry, 1)->regions = 0;
	assert_int_equal(attach_look(&target), 0);
	look();
	assert_int_equal(n_seen, 0);
	assert_false(missing.regions);
}

static void thread_stopped_in_a_change(void **state)
{
	areas[0]->sequence = 1;
	look();
	assert_int_equal(n_seen, 3);
	assert_int_equal(seen[0].fixed.seq, 4);
	assert_int_equal(missing.changing, 1);
	assert_false(missing.regions);
	assert_in_range(missing.tries, 199000, 199900);
}

static void areas_of_other_threads(void **state)
{
	static const uint64_t owners[] = { 0, 5, 17, UINT64_MAX };

	for (unsigned i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		areas[0]->owner = owners[i];
		look();
		assert_int_equal(n_seen, 3);
		assert_int_equal(seen[0].fixed.seq, 4);
		assert_false(missing.regions);
		assert_int_equal(missing.changing, 0);
	}
	areas[0]->owner = 4;
	/* Two slots with the same area: it belongs to the slot that its owner field names. */
	registry_slot(&target.registry, 1)->regions = registry_slot(&target.registry, 0)->regions;
	look();
	assert_int_equal(n_seen, 3);
	assert_int_equal(seen[0].fixed.seq, 3);
	assert_false(missing.regions);
}

/* ---- forged areas -------------------------------------------------------------------------- */
#define DAMAGED(change, frames)                                                                    \
	do {                                                                                       \
		uint8_t *copy = malloc(area_bytes());                                              \
		assert_non_null(copy);                                                             \
		memcpy(copy, areas[0], area_bytes());                                              \
		change;                                                                            \
		assert_int_equal(attach_look(&target), 0);                                         \
		look();                                                                            \
		if (n_seen != (frames) || !missing.regions)                                        \
			fail_msg("%s: %u frames, damaged %d", #change, n_seen, missing.regions);   \
		memcpy(areas[0], copy, area_bytes());                                              \
		free(copy);                                                                        \
	} while (0)

static void lies_are_refused(void **state)
{
	struct slot *slot = registry_slot(&registry, 0);
	uint64_t address = slot->regions;

	DAMAGED(slot->regions = 8, 3);
	DAMAGED(slot->regions = UINT64_MAX - 7, 3);
	slot->regions = address;
	DAMAGED(areas[0]->capacity = WORDS - 2, 3);
	DAMAGED(areas[0]->capacity = REGION_WORDS + 1, 3);
	DAMAGED(areas[0]->capacity = UINT32_MAX, 3);
	DAMAGED(areas[0]->groups = 2, 3);
	DAMAGED(areas[0]->groups = UINT32_MAX, 3);
	DAMAGED(areas[0]->words = 2, 3);
	DAMAGED(areas[0]->words = UINT32_MAX - 1, 3);
	DAMAGED(areas[0]->mode = REGION_MODES, 3);
	DAMAGED(areas[0]->mode = REGION_CLOCK, 3);
	DAMAGED(areas[0]->n_records = REGION_RECORDS + 1, 3);
	DAMAGED(areas[0]->n_records = UINT32_MAX, 3);
	/* Records before the damaged one are kept. */
	DAMAGED(record_at(areas[0], FIRST + 1)->name_len = REGION_NAME, 4);
	DAMAGED(record_at(areas[0], FIRST + 1)->name_len = UINT32_MAX, 4);
	assert_int_equal(attach_look(&target), 0);
	look();
	assert_int_equal(n_seen, 6);
	assert_false(missing.regions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(frames_are_true, set_up, tear_down),
		cmocka_unit_test_setup_teardown(odd_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(thread_stopped_in_a_change, set_up, tear_down),
		cmocka_unit_test_setup_teardown(areas_of_other_threads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lies_are_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
