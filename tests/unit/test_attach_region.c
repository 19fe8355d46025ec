/* SPDX-License-Identifier: MIT */
/* test_attach_region.c - marked regions of another process: frames are true, lies are refused. */
#include "tests/unit/region_made.h"

#include <errno.h>

static void frames_are_true(void **state)
{
	const struct seen *two = &seen[1];

	(void)state;
	record_at(areas[0], 2)->again = 1;
	record_at(areas[0], 2)->open = 10;
	record_at(areas[0], 2)->words[REGION_ENDS] = 2 * 8;
	record_at(areas[0], 2)->words[WORDS + REGION_ENDS] = 2 * 1;
	look();
	assert_int_equal(n_seen, 6);
	assert_false(regions.damaged);
	assert_int_equal(regions.changing, 0);
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
		static const unsigned from[4] = { 2000, 200, 1, 11 };

		assert_int_equal(two->readings[part].error, 0);
		assert_int_equal(two->readings[part].enabled_ns, from[part]);
		assert_int_equal(two->readings[part].running_ns, from[part] + 1);
		assert_int_equal(two->readings[part].n, 2);
		assert_int_equal(two->values[part][0], from[part] + 2);
		assert_int_equal(two->values[part][1], from[part] + 3);
	}
	/* The other thread has CPU time alone. */
	assert_int_equal(seen[3].fixed.seq, 4);
	assert_int_equal(seen[3].fixed.cpu_ns, 1000);
	assert_int_equal(seen[3].fixed.n_groups, 1);
	assert_int_equal(seen[3].readings[0].error, EBADF);
	assert_int_equal(seen[3].readings[0].n, 0);
}

static void odd_records(void **state)
{
	struct region_record *record = record_at(areas[0], 1);

	(void)state;
	/* A clock that user space reads may be behind the kernel's. */
	record->words[REGION_CPU] = 0ull - 5;
	record_at(areas[0], REGION_OTHER)->open = 1;
	areas[0]->errors[0] = ENODATA;
	areas[0]->mode = REGION_USER;
	registry_slot(&target.registry, 1)->reason = PMC_REASON_FD_BUDGET;
	/* Yes, in other words than a bool has. */
	memset(&areas[2]->uncalibrated, 249, 1);
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
	/* What is there only while the cost of marking is measured. */
	((char *)areas[2] + layout.names)[record_at(areas[2], 1)->name] = '\001';
	look();
	assert_int_equal(n_seen, 6);
	areas[2]->uncalibrated = false;
	look();
	assert_int_equal(n_seen, 7);
	/* No thread marks any. */
	control.regions = 0;
	assert_int_equal(attach_look(&target), 0);
	look();
	assert_int_equal(n_seen, 0);
	assert_false(regions.damaged);
}

/* A thread that was stopped while it changed a record is waited for a little, and left out. */
static void one_that_never_settles(void **state)
{
	(void)state;
	areas[0]->sequence = 1;
	look();
	assert_int_equal(n_seen, 3);
	assert_int_equal(seen[0].fixed.seq, 4);
	assert_int_equal(regions.changing, 1);
	assert_false(regions.damaged);
	/* However many there are, patience is one. */
	assert_in_range(regions.naps, 19000, 19999);
}

/* ---- lies ---------------------------------------------------------------------------------*/
static void areas_of_nobody_are_left_out(void **state)
{
	struct slot *first = areas[0]->slot;

	(void)state;
#define LEFT_OUT(change, undo)                                                                     \
	do {                                                                                       \
		change;                                                                            \
		look();                                                                            \
		if (n_seen != 3 || seen[0].fixed.seq != 4 || regions.damaged || regions.changing)  \
			fail_msg("%s: %u frames", #change, n_seen);                                \
		undo;                                                                              \
	} while (0)
	LEFT_OUT(areas[0]->owner = 0, areas[0]->owner = 4);
	LEFT_OUT(areas[0]->owner = 17, areas[0]->owner = 4);
	LEFT_OUT(areas[0]->owner = UINT64_MAX, areas[0]->owner = 4);
	LEFT_OUT(areas[0]->slot = NULL, areas[0]->slot = first);
	LEFT_OUT(areas[0]->slot = registry_slot(&registry, 1), areas[0]->slot = first);
	LEFT_OUT(areas[0]->slot = registry_slot(&registry, 2), areas[0]->slot = first);
	LEFT_OUT(areas[0]->slot = (void *)((char *)first + 8), areas[0]->slot = first);
	LEFT_OUT(areas[0]->slot = (void *)((char *)first - registry.slot_bytes),
		 areas[0]->slot = first);
	LEFT_OUT(registry_slot(&target.registry, 0)->word = SLOT_FREE,
		 registry_slot(&target.registry, 0)->word = SLOT_LIVE);
	/* One area twice; two areas of one thread. */
	areas[1] = areas[0];
	look();
	assert_int_equal(n_seen, 6);
	areas[1] = NULL;
	areas[2]->owner = 4;
	areas[2]->slot = first;
	look();
	assert_int_equal(n_seen, 3);
	assert_int_equal(seen[0].fixed.seq, 3);
}

#define DAMAGED(change, frames)                                                                    \
	do {                                                                                       \
		struct region_layout layout_was = layout;                                          \
		struct pmc_control control_was = control;                                          \
		uint8_t *copy = malloc(layout.bytes);                                              \
		assert_non_null(copy);                                                             \
		memcpy(copy, areas[0], layout_was.bytes);                                          \
		change;                                                                            \
		assert_int_equal(attach_look(&target), 0);                                         \
		look();                                                                            \
		if (n_seen != (frames) || !regions.damaged)                                        \
			fail_msg("%s: %u frames, damaged %d", #change, n_seen, regions.damaged);   \
		layout = layout_was;                                                               \
		control = control_was;                                                             \
		memcpy(areas[0], copy, layout.bytes);                                              \
		free(copy);                                                                        \
	} while (0)

static void lies_are_refused(void **state)
{
	(void)state;
	DAMAGED(control.region_layout = 8, 0);
	DAMAGED(control.region_areas = 8, 0);
	DAMAGED(control.region_high = 8, 0);
	DAMAGED(layout.words = REGION_WORDS + 1, 0);
	DAMAGED(layout.words = UINT32_MAX, 0);
	DAMAGED(layout.max_records = REGION_RECORDS + 1, 0);
	DAMAGED(layout.max_records = NAMES - 1, 0);
	DAMAGED(layout.words = 4, 3);
	DAMAGED(layout.records = SIZE_MAX / 2, 0);
	DAMAGED(layout.record_bytes = SIZE_MAX / 2, 0);
	DAMAGED(layout.names = SIZE_MAX / 2, 0);
	DAMAGED(areas[0]->groups = 2, 3);
	DAMAGED(areas[0]->groups = UINT32_MAX, 3);
	DAMAGED(areas[0]->words = 2, 3);
	DAMAGED(areas[0]->words = UINT32_MAX - 1, 3);
	DAMAGED(areas[0]->mode = REGION_MODES, 3);
	DAMAGED(areas[0]->mode = REGION_CLOCK, 3);
	DAMAGED(areas[0]->n_records = NAMES + 1, 3);
	DAMAGED(areas[0]->n_records = UINT32_MAX, 3);
	DAMAGED(areas[0]->names_used = UINT32_MAX, 3);
	/* What was read before is kept. */
	DAMAGED(record_at(areas[0], 2)->name_len = REGION_NAME, 4);
	DAMAGED(record_at(areas[0], 2)->name_len = UINT32_MAX, 4);
	DAMAGED(record_at(areas[0], 2)->name = REGION_NAMES_BYTES - 2, 4);
	DAMAGED(record_at(areas[0], 2)->name = UINT32_MAX, 4);
	DAMAGED(areas[1] = (void *)8, 6);
	areas[1] = NULL;
	/* More areas than there may be are there only for a moment. */
	high = UINT32_MAX;
	assert_int_equal(attach_regions_open(&target, &regions), 0);
	assert_true(regions.n_areas == REGION_AREAS || regions.damaged);
	attach_regions_close(&regions);
	high = AREAS;
	look();
	assert_int_equal(n_seen, 6);
	assert_false(regions.damaged);
}

static void parts_are_read_in_order(void **state)
{
	char from[3][8] = { "first", "second", "third" }, to[3][8] = { "", "", "" };
	struct attach_part parts[ATTACH_PARTS + 1] = {
		{ (uint64_t)(uintptr_t)from[0], to[0], 8 },
		{ 8, NULL, 0 },
		{ (uint64_t)(uintptr_t)from[1], to[1], 3 },
		{ (uint64_t)(uintptr_t)from[2], to[2], 8 },
	};

	(void)state;
	assert_int_equal(attach_read_parts(getpid(), parts, 4), 0);
	assert_string_equal(to[0], "first");
	assert_string_equal(to[1], "sec");
	assert_string_equal(to[2], "third");
	parts[2].address = 8;
	assert_int_equal(attach_read_parts(getpid(), parts, 4), -EFAULT);
	parts[0].address = 8;
	assert_int_equal(attach_read_parts(getpid(), parts, 4), -EFAULT);
	assert_int_equal(attach_read_parts(getpid(), parts, ATTACH_PARTS + 1), -EINVAL);
	assert_int_equal(attach_read_parts(999999999, parts, 1), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_read_in_order),
		cmocka_unit_test_setup_teardown(frames_are_true, set_up, tear_down),
		cmocka_unit_test_setup_teardown(odd_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_that_never_settles, set_up, tear_down),
		cmocka_unit_test_setup_teardown(areas_of_nobody_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lies_are_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
