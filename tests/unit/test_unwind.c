/* SPDX-License-Identifier: MIT */
/* test_unwind.c - mappings of a process. */
#include "tools/unwind/private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

	(void)state;
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

			assert_true(unwind_maps_add(&maps, &map));
			for (unsigned p = start; p < start + n; p++)
				pages[p] = (struct page){ map.module,
							  map.file_offset + (p - start) * 4096ul,
							  true };
		}
		assert_true(unwind_maps_copy(&copy, &maps));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_replace_what_was_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
