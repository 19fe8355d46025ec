/* SPDX-License-Identifier: MIT */
/* test_merge_spill.c - merges in parts, of files and pipes, and their errors. */
#include "tests/unit/merge_try.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static void parts_change_nothing(void **state)
{
	for (unsigned round = 0; round < 6; round++) {
		const bool compacting = round % 2;
		struct merge_options tiny = { .compact = compacting, .index_bytes = 500 };
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

/* Writes the bytes to a pipe from a child process. */
static int piped(const struct dump *dump)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		_exit(write(ends[1], dump->data, dump->len) != (ssize_t)dump->len);
	}
	close(ends[1]);
	return ends[0];
}

/* Files and pipes give the same result, in one part and in many. */
static void files_as_pipes(void **state)
{
	struct merge_options small = { .index_bytes = 40000 };
	struct dump big = random_dump(6000), first = { NULL, 0 }, second = { NULL, 0 };
	size_t half = big.len / 2;

	assert_true(half > 300000);
	dump_append(&first, big.data, half);
	dump_append(&second, big.data + half, big.len - half);
	for (unsigned i = 0; i < 2; i++) {
		const struct dump parts[] = { first, second, first };
		struct dump mapped = merged(i ? &small : &plain, parts, 3, NULL);
		struct dump want = reference(&plain, parts, 3), read_in;
		struct merge_input seen;
		struct merge *merge;
		int out = memfd_create("out", MFD_CLOEXEC);

		check_same(&mapped, &want);
		merge = merge_new(i ? &small : &plain);
		for (unsigned part = 0; part < 2; part++) {
			int fd = piped(&parts[part]);

			assert_int_equal(merge_add_fd(merge, fd, &seen), 0);
			assert_int_equal(seen.bytes, parts[part].len);
			close(fd);
			wait(NULL);
		}
		assert_int_equal(merge_write(merge, out), 0);
		merge_free(merge);
		read_in = read_back(out);
		check_same(&read_in, &want);
		dump_free(&read_in);
		dump_free(&mapped);
		dump_free(&want);
	}
	dump_free(&big);
	dump_free(&first);
	dump_free(&second);
}

/* Reading starts at the position of the file. */
static void from_the_position(void **state)
{
	struct dump dump = random_dump(100), whole = merged(&plain, &dump, 1, NULL), out;
	int fd = memory_file(&dump), to = memfd_create("out", MFD_CLOEXEC);
	struct merge_input seen;
	struct merge *merge;
	uint8_t one;

	assert_int_equal(read(fd, &one, 1), 1);
	merge = merge_new(&plain);
	assert_int_equal(merge_add_fd(merge, fd, &seen), 0);
	assert_int_equal(seen.bytes, dump.len - 1);
	assert_int_equal(seen.damaged, 1);
	assert_int_equal(merge_write(merge, to), 0);
	merge_free(merge);
	out = read_back(to);
	assert_true(out.len <= whole.len && out.len + 2048 > whole.len);
	close(fd);
	dump_free(&out);
	dump_free(&whole);
	dump_free(&dump);
}

/* Exit code 1; no temporary file remains. */
static void a_truncated_input_is_an_error(void **state)
{
	struct dump big = random_dump(6000);
	char dir[] = "/tmp/pmc-merge-spill.XXXXXX", path[64];
	struct merge_output output;
	struct merge_input seen;
	struct merge *merge;
	int fd = memory_file(&big), status;
	pid_t pid;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/out", dir);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(STDERR_FILENO);
		/* The test runner installs its own handlers. */
		signal(SIGBUS, SIG_DFL);
		merge = merge_new(&plain);
		if (merge_output_open(&output, path) || merge_add_fd(merge, fd, &seen) ||
		    ftruncate(fd, 4096))
			_exit(9);
		_exit(merge_write(merge, output.fd) ? 8 : 7);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_int_equal(rmdir(dir), 0);
	close(fd);
	dump_free(&big);
}

static void errors_are_told(void **state)
{
	struct dump dump = random_dump(100);
	struct merge_input seen;
	struct merge *merge;
	int fd, full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_true(full >= 0);
	merge = merge_new(&plain);
	fd = memory_file(&dump);
	assert_int_equal(merge_add_fd(merge, fd, &seen), 0);
	assert_int_equal(merge_write(merge, full), -ENOSPC);
	assert_null(merge_spill_trouble(merge));
	merge_free(merge);

	close(fd);
	setenv("TMPDIR", "/nonexistent", 1);
	fd = piped(&dump);
	merge = merge_new(&plain);
	assert_int_equal(merge_add_fd(merge, fd, &seen), -ENOENT);
	assert_string_equal(merge_spill_trouble(merge), "/nonexistent");
	merge_free(merge);
	unsetenv("TMPDIR");

	close(fd);
	fd = open("/", O_RDONLY | O_CLOEXEC);
	merge = merge_new(&plain);
	assert_int_equal(merge_add_fd(merge, fd, &seen), -EISDIR);
	merge_free(merge);
	close(fd);
	close(full);
	dump_free(&dump);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_change_nothing),
		cmocka_unit_test(files_as_pipes),
		cmocka_unit_test(from_the_position),
		cmocka_unit_test(a_truncated_input_is_an_error),
		cmocka_unit_test(errors_are_told),
	};

	seed_from_environment();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
