/* SPDX-License-Identifier: MIT */
/* test_attach_region_live.c - reading regions of a thread that goes on marking meanwhile. */
#include "tests/unit/region_made.h"

#include <sched.h>

static void change(struct region_area *area, int by)
{
	atomic_store_explicit(&area->sequence, area->sequence + (unsigned)by, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
}

/* A random time between two changes: else a reader may meet each change at the same point. */
static void pause_between(uint32_t *random)
{
	*random = *random * 1664525 + 1013904223;
	for (volatile uint32_t spin = *random >> 17; spin; spin--)
		;
}

/* While the sequence number is even, every word of a record equals its number of calls. */
static void *marks(void *arg)
{
	struct region_area *area = arg;
	uint32_t random = 1;

	for (uint64_t calls = 1; running; calls++) {
		for (uint32_t i = FIRST; i < FIRST + NAMES; i++) {
			struct region_record *record = record_at(area, i);

			change(area, 1);
			record->calls = calls;
			for (unsigned w = 0; w < 2 * WORDS; w++) {
				record->words[w] = calls;
				/* Long enough for a reader to meet the record half-written. */
				for (volatile int spin = 0; spin < 20; spin++)
					;
			}
			record->outermost = calls;
			change(area, 1);
			pause_between(&random);
		}
	}
	return NULL;
}

static void copies_are_of_one_time(void **state)
{
	unsigned n = 0;

	begin(marks, areas[0]);
	while (areas[0]->sequence < 100)
		sched_yield();
	for (unsigned i = 0; i < 1000; i++) {
		look();
		assert_false(missing.regions);
		for (unsigned k = 0; k < n_seen; k++) {
			uint64_t calls = seen[k].fixed.calls;

			if (seen[k].fixed.seq != 3)
				continue;
			n++;
			assert_int_equal(seen[k].fixed.outermost, calls);
			assert_int_equal(seen[k].readings[0].enabled_ns, calls);
			assert_int_equal(seen[k].values[0][1], calls);
			assert_int_equal(seen[k].readings[1].enabled_ns, calls);
			assert_int_equal(seen[k].values[1][1], calls);
		}
	}
	finish();
	assert_true(n > 0);
}

/* Two threads use the area in turn; each sets as many calls as its sequence number. */
static void *hands_on(void *arg)
{
	struct region_area *area = arg;
	uint32_t random = 1;

	for (unsigned round = 0; running; round++) {
		uint64_t seq = registry_slot(&registry, round % 2)->seq;

		change(area, 1);
		area->n_records = FIRST;
		atomic_store(&area->owner, seq + 1);
		change(area, 1);
		for (uint32_t i = FIRST; i < FIRST + NAMES; i++) {
			change(area, 1);
			record_at(area, i)->calls = seq;
			area->n_records = i + 1;
			change(area, 1);
			pause_between(&random);
		}
	}
	return NULL;
}

static void an_area_changes_hands(void **state)
{
	unsigned n[2] = { 0, 0 };

	registry_slot(&registry, 1)->regions = registry_slot(&registry, 0)->regions;
	areas[0]->owner = 0;
	assert_int_equal(attach_look(&target), 0);
	begin(hands_on, areas[0]);
	for (unsigned i = 0; i < 20000 && (i < 1000 || !n[0] || !n[1]); i++) {
		look();
		assert_false(missing.regions);
		for (unsigned k = 0; k < n_seen; k++) {
			assert_in_range(seen[k].fixed.seq, 3, 4);
			assert_int_equal(seen[k].fixed.calls, seen[k].fixed.seq);
			n[seen[k].fixed.seq - 3]++;
		}
	}
	finish();
	assert_true(n[0] > 0 && n[1] > 0);
}

/* Sizes that change between valid and invalid while they are read. */
static void *lies(void *arg)
{
	volatile struct region_area *area = arg;
	struct region_record *record = record_at(arg, FIRST);

	while (running) {
		area->words = UINT32_MAX / 16;
		area->words = WORDS - 1;
		area->groups = 1u << 20;
		area->groups = 1;
		record->name_len = 1u << 30;
		record->name_len = 3;
	}
	return NULL;
}

static void lies_in_between(void **state)
{
	begin(lies, areas[0]);
	for (unsigned i = 0; i < 20000; i++) {
		look();
		assert_true(n_seen <= 6);
		for (unsigned k = 0; k < n_seen; k++)
			assert_int_equal(seen[k].fixed.n_groups, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(copies_are_of_one_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_area_changes_hands, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lies_in_between, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
