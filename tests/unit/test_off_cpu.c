/* SPDX-License-Identifier: MIT */
/* test_off_cpu.c - mappings of a process, and waits by switch records. */
#include "tools/offcpu/private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGES 64

/* Against an array with an entry for each page. */
static void maps_replace_what_was_there(void **state)
{
	static struct off_module modules[8];
	struct page {
		struct off_module *module;
		uint64_t file_offset;
		bool mapped;
	} pages[PAGES];
	struct off_maps maps, copy;

	(void)state;
	srand(1);
	for (unsigned round = 0; round < 200; round++) {
		memset(pages, 0, sizeof(pages));
		maps = copy = (struct off_maps){ .list = NULL };
		for (unsigned i = 0; i < 40; i++) {
			const unsigned start = (unsigned)rand() % PAGES;
			const unsigned n = (unsigned)rand() % (PAGES - start + 1);
			struct off_map map = { .start = start * 4096ul,
					       .end = (start + n) * 4096ul,
					       .file_offset = (uint64_t)rand() * 4096,
					       .module = &modules[rand() % 8] };

			assert_true(off_maps_add(&maps, &map));
			for (unsigned p = start; p < start + n; p++)
				pages[p] = (struct page){ map.module,
							  map.file_offset + (p - start) * 4096ul,
							  true };
		}
		assert_true(off_maps_copy(&copy, &maps));
		for (unsigned p = 0; p < PAGES; p++) {
			const uint64_t address = p * 4096ul + 4095;
			const struct off_map *map = off_maps_find(&copy, address);

			assert_int_equal(map != NULL, pages[p].mapped);
			if (!map)
				continue;
			assert_ptr_equal(map->module, pages[p].module);
			assert_int_equal(map->file_offset + (address - map->start),
					 pages[p].file_offset + 4095);
		}
		off_maps_free(&maps);
		off_maps_free(&copy);
	}
}

/* ---- switches ----------------------------------------------------------------------------- */

static void take(struct off_cpu *off, uint32_t type, uint64_t time, uint32_t tid, bool out)
{
	struct pmc_record record = { .type = type, .time = time, .pid = 1, .tid = tid };

	if (type == PERF_RECORD_LOST)
		record.lost.lost = 7;
	else
		record.context_switch.out = out;
	off_take(off, &record);
}

static void is_thread(const struct off_cpu *off, uint32_t tid, uint64_t waits, uint64_t ns,
		      uint64_t lost)
{
	const struct off_thread *thread = off->last;

	while (thread && thread->tid != tid)
		thread = thread->next;
	assert_non_null(thread);
	assert_int_equal(thread->n_waits, waits);
	assert_int_equal(thread->wait_ns, ns);
	assert_int_equal(thread->lost, lost);
}

static void a_loss_ends_waits_without_time(void **state)
{
	struct off_cpu off = { .n_rings = 0 };

	(void)state;
	/* Thread 1 waits once before and once after the loss, 2 and 3 during it. */
	take(&off, PERF_RECORD_SWITCH, 10, 1, true);
	take(&off, PERF_RECORD_SWITCH, 20, 2, true);
	take(&off, PERF_RECORD_SWITCH, 30, 1, false);
	take(&off, PERF_RECORD_SWITCH, 40, 3, true);
	take(&off, PERF_RECORD_LOST, 1000, 2, false);
	take(&off, PERF_RECORD_SWITCH, 1010, 1, true);
	take(&off, PERF_RECORD_SWITCH, 1020, 2, false);
	take(&off, PERF_RECORD_SWITCH, 1040, 1, false);
	/* The next wait of 2 is whole. */
	take(&off, PERF_RECORD_SWITCH, 1050, 2, true);
	off.stop_ns = 1100;
	off_settle(&off);
	is_thread(&off, 1, 2, 20 + 30, 0);
	is_thread(&off, 2, 1, 50, 1);
	is_thread(&off, 3, 0, 0, 1);
	assert_int_equal(off.lost, 7);
	off_forget_images(&off);
	pmc_arena_free(&off.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_replace_what_was_there),
		cmocka_unit_test(a_loss_ends_waits_without_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
