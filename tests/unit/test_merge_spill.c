/* SPDX-License-Identifier: MIT */
/* test_merge_spill.c - a merge in little memory, of mapped files, and where it must fail. */
#include "tests/unit/merge_try.h"

#include <errno.h>
#include <fcntl.h>

static void spilling_changes_nothing(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 6; round++) {
		const bool compacting = round % 2;
		/* 40 runs and more: beyond what is merged at a time. */
		struct merge_options tiny = { .compact = compacting, .budget_bytes = 500 };
		struct merge_options large = { .compact = compacting };
		struct dump dumps[3] = { random_dump(100), random_dump(100), random_dump(1) };
		struct dump a = merged(&large, dumps, 3, NULL), b = merged(&tiny, dumps, 3, NULL);

		check_same(&a, &b);
		for (unsigned i = 0; i < 3; i++)
			dump_free(&dumps[i]);
		dump_free(&a);
		dump_free(&b);
	}
}

/* Big files are mapped, pipes are read: one result, also when the index alone is spilled. */
static void mapped_as_read(void **state)
{
	(void)state;
	struct merge_options small = { .budget_bytes = 40000 };
	struct dump big = random_dump(6000), first = { NULL, 0 }, second = { NULL, 0 };
	size_t half = big.len / 2;

	assert_true(half > 300000);
	dump_append(&first, big.data, half);
	dump_append(&second, big.data + half, big.len - half);
	for (unsigned i = 0; i < 2; i++) {
		const struct dump parts[] = { first, second, first };
		struct dump mapped = merged(i ? &small : &plain, parts, 3, NULL);
		struct dump want = reference(&plain, parts, 3), split;
		struct merge_input seen;
		struct merge *merge;
		int out = memfd_create("out", MFD_CLOEXEC);

		check_same(&mapped, &want);
		/* Not from its beginning: that is read. */
		assert_int_equal(merge_new(&merge, i ? &small : &plain), 0);
		for (unsigned part = 0; part < 2; part++) {
			int fd = memory_file(&parts[part]);
			uint8_t one;

			assert_int_equal(read(fd, &one, 1), 1);
			assert_int_equal(merge_add_fd(merge, fd, &seen), 0);
			assert_true(seen.damaged >= 1);
			close(fd);
		}
		assert_int_equal(merge_write(merge, out), 0);
		merge_free(merge);
		split = read_back(out);
		assert_true(split.len <= want.len && split.len + 2048 > want.len);
		dump_free(&split);
		dump_free(&mapped);
		dump_free(&want);
	}
	dump_free(&big);
	dump_free(&first);
	dump_free(&second);
}

static void a_file_cut_short_is_an_error(void **state)
{
	(void)state;
	struct dump big = random_dump(6000);
	int fd = memory_file(&big), out = memfd_create("out", MFD_CLOEXEC);
	struct merge_input seen;
	struct merge *merge;

	assert_int_equal(merge_new(&merge, &plain), 0);
	assert_int_equal(merge_add_fd(merge, fd, &seen), 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(merge_write(merge, out), -EIO);
	merge_free(merge);
	close(fd);
	close(out);
	dump_free(&big);
}

static void errors_are_told(void **state)
{
	(void)state;
	struct merge_options tiny = { .budget_bytes = 500 };
	struct merge_options small = { .budget_bytes = 40000 };
	struct dump dump = random_dump(100), big = random_dump(6000);
	struct merge_input seen;
	struct merge *merge;
	int fd, full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_true(full >= 0);
	assert_int_equal(merge_new(&merge, &plain), 0);
	fd = memory_file(&dump);
	assert_int_equal(merge_add_fd(merge, fd, &seen), 0);
	assert_int_equal(merge_write(merge, full), -ENOSPC);
	assert_null(merge_spill_trouble(merge));
	merge_free(merge);

	setenv("TMPDIR", "/nonexistent", 1);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(merge_new(&merge, &tiny), 0);
	assert_int_equal(merge_add_fd(merge, fd, &seen), -ENOENT);
	assert_string_equal(merge_spill_trouble(merge), "/nonexistent");
	merge_free(merge);
	close(fd);
	/* A mapped file: its index alone is over the budget. */
	fd = memory_file(&big);
	assert_int_equal(merge_new(&merge, &small), 0);
	assert_int_equal(merge_add_fd(merge, fd, &seen), -ENOENT);
	merge_free(merge);
	unsetenv("TMPDIR");

	close(fd);
	fd = open("/", O_RDONLY | O_CLOEXEC);
	assert_int_equal(merge_new(&merge, &plain), 0);
	assert_int_equal(merge_add_fd(merge, fd, &seen), -EISDIR);
	merge_free(merge);
	close(fd);
	close(full);
	dump_free(&dump);
	dump_free(&big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spilling_changes_nothing),
		cmocka_unit_test(mapped_as_read),
		cmocka_unit_test(a_file_cut_short_is_an_error),
		cmocka_unit_test(errors_are_told),
	};

	seed_from_environment();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
