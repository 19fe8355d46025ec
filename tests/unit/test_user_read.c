/* SPDX-License-Identifier: MIT */
/* test_user_read.c - conditions under which user space must not read a counter;
 * tests/vm/user_read.t has the reads. */
#include "lib/count/user_read.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct perf_event_mmap_page *page_of(uint32_t index)
{
	static struct perf_event_mmap_page page;

	memset(&page, 0, sizeof(page));
	page.index = index;
	page.cap_user_rdpmc = 1;
	page.cap_user_time = 1;
	page.pmc_width = 48;
	page.time_mult = 1;
	return &page;
}

static void refusals(void **state)
{
	struct perf_event_mmap_page *page = page_of(0);
	uint64_t value = 7, enabled = 7, running = 7;
	pmc_user_page *pages[1] = { page };

	/* Index 0: the event is not on a counter. The read instruction would fault here. */
	assert_false(pmc_user_read_group(pages, 1, &enabled, &running, &value));
	page = page_of(1);
	page->cap_user_rdpmc = 0;
	assert_false(pmc_user_read_group(pages, 1, &enabled, &running, &value));
	page = page_of(1);
	page->cap_user_time = 0;
	assert_false(pmc_user_read_group(pages, 1, &enabled, &running, &value));
	page = page_of(1);
	page->pmc_width = 0;
	assert_false(pmc_user_read_group(pages, 1, &enabled, &running, &value));
	page = page_of(1);
	page->pmc_width = 65;
	assert_false(pmc_user_read_group(pages, 1, &enabled, &running, &value));
	assert_int_equal(value, 7);
}

static void maps(void **state)
{
	struct pmc_attr attr = { .base = { .type = PERF_TYPE_SOFTWARE,
					   .config = PERF_COUNT_SW_PAGE_FAULTS,
					   .exclude_kernel = 1 } };
	uint64_t value, enabled, running;
	pmc_user_page *page = (void *)&attr;
	int fd;

	assert_int_equal(pmc_user_map(-1, &page), -EBADF);
	assert_null(page);
	pmc_user_unmap(NULL);
	fd = open("/dev/null", O_RDWR);
	assert_true(fd >= 0);
	assert_true(pmc_user_map(fd, &page) < 0);
	assert_null(page);
	close(fd);
	assert_false(pmc_user_request(&attr));
	fd = pmc_perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		skip();
	assert_int_equal(pmc_user_map(fd, &page), 0);
	assert_non_null(page);
	assert_false(pmc_user_read_group(&page, 1, &enabled, &running, &value));
	pmc_user_unmap(page);
	close(fd);
}

static void limit(void **state)
{
	struct pmc_attr attr = { .base = { .type = PERF_TYPE_SOFTWARE,
					   .config = PERF_COUNT_SW_PAGE_FAULTS,
					   .exclude_kernel = 1 } };
	enum { MOST = 200000 };
	pmc_user_page **pages = calloc(MOST, sizeof(pages[0]));
	int fd = pmc_perf_open(&attr, 0, -1, -1, 0), n = 0;

	assert_non_null(pages);
	if (fd < 0) {
		free(pages);
		skip();
	}
	/* The kernel does not limit root, so the library's own limit applies. */
	while (n < MOST && pmc_user_map(fd, &pages[n]) == 0)
		n++;
	assert_true(n > 0 && n < MOST);
	assert_int_equal(pmc_user_map(fd, &pages[n]), -EPERM);
	for (int i = 0; i < n; i++)
		pmc_user_unmap(pages[i]);
	/* Unmapped pages are available again. */
	assert_int_equal(pmc_user_map(fd, &pages[0]), 0);
	pmc_user_unmap(pages[0]);
	free(pages);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals),
		cmocka_unit_test(maps),
		cmocka_unit_test(limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
