/* SPDX-License-Identifier: MIT */
/* test_output.c - which files may be written as a text or a dump, and that all others stay as they
 * are; which paths name one file. */
#include "lib/dump/output.h"
#include "include/pmc/dump.h"
#include "tools/cli/pmctl.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char frame[] = { PMC_FRAME_MAGIC_0, PMC_FRAME_MAGIC_1, PMC_FRAME_MAGIC_2,
			      PMC_FRAME_MAGIC_3, 1 };
static const char text[] = "text";
static char dir[] = "/tmp/test_output.XXXXXX";

static void put(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static void check_bytes(const char *path, const void *bytes, ssize_t len)
{
	char got[64];
	int fd = open(path, O_RDONLY);

	assert_int_equal(read(fd, got, sizeof(got)), len);
	assert_memory_equal(got, bytes, (size_t)len);
	close(fd);
}

/* What opening gives, 0 for a descriptor. */
static int text_of(const char *path)
{
	int fd = pmc_text_open(path);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static int dump_of(const char *path, bool create)
{
	struct stat st;
	int fd = pmc_dump_open(path, create, &st);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static int setup(void **state)
{
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	umask(022);
	return 0;
}

static int teardown(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	return chdir("/") || system(command);
}

static void contents(void **state)
{
	put("empty", "", 0);
	put("dump", frame, sizeof(frame));
	put("text", text, sizeof(text));
	put("x", frame, 1);
	assert_int_equal(text_of("empty"), 0);
	assert_int_equal(text_of("text"), 0);
	assert_int_equal(text_of("x"), 0);
	assert_int_equal(text_of("dump"), -EEXIST);
	assert_int_equal(dump_of("empty", false), 0);
	assert_int_equal(dump_of("dump", false), 0);
	assert_int_equal(dump_of("text", true), -ENOTSUP);
	assert_int_equal(dump_of("x", true), -ENOTSUP);
	check_bytes("dump", frame, sizeof(frame));
	check_bytes("text", text, sizeof(text));
}

static void new_files(void **state)
{
	struct stat st;

	assert_int_equal(dump_of("new.pmc", false), -ENOENT);
	assert_int_equal(dump_of("new.pmc", true), 0);
	assert_int_equal(stat("new.pmc", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(text_of("new.txt"), 0);
	assert_int_equal(stat("new.txt", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	assert_int_equal(text_of("none/x"), -ENOENT);
	assert_int_equal(dump_of("none/x", true), -ENOENT);
}

static void names(void **state)
{
	put("target", text, sizeof(text));
	put("target.pmc", frame, sizeof(frame));
	assert_int_equal(symlink("target", "link"), 0);
	assert_int_equal(symlink("target.pmc", "link.pmc"), 0);
	assert_int_equal(symlink("/dev/null", "to-null"), 0);
	assert_int_equal(symlink("nothing", "dangling"), 0);
	assert_int_equal(text_of("link"), -ELOOP);
	assert_int_equal(dump_of("link.pmc", true), -ELOOP);
	assert_int_equal(text_of("to-null"), -ELOOP);
	assert_int_equal(text_of("dangling"), -ELOOP);
	assert_int_equal(dump_of("dangling", true), -ELOOP);
	assert_int_equal(access("nothing", F_OK), -1);
	assert_int_equal(link("target", "second"), 0);
	assert_int_equal(link("target.pmc", "second.pmc"), 0);
	assert_int_equal(text_of("second"), -EMLINK);
	assert_int_equal(dump_of("target.pmc", true), -EMLINK);
}

static void no_files(void **state)
{
	char name[32];
	int ends[2], reader;

	assert_int_equal(text_of("."), -EISDIR);
	assert_int_equal(dump_of(".", true), -EISDIR);
	assert_int_equal(text_of("/dev/null"), 0);
	assert_int_equal(dump_of("/dev/null", true), -EINVAL);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(text_of("pipe"), -ENXIO);
	assert_int_equal(dump_of("pipe", true), -EINVAL);
	reader = open("pipe", O_RDONLY | O_NONBLOCK);
	assert_int_equal(text_of("pipe"), 0);
	close(reader);
	/* As of a process substitution. */
	assert_int_equal(pipe(ends), 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[1]);
	assert_int_equal(text_of(name), 0);
	close(ends[0]);
	close(ends[1]);
	put("behind", text, sizeof(text));
	ends[0] = open("behind", O_RDWR);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
	assert_int_equal(text_of(name), -ELOOP);
	close(ends[0]);
}

static void other_users(void **state)
{
	if (geteuid() != 0)
		skip();
	put("other", text, sizeof(text));
	put("other.pmc", frame, sizeof(frame));
	assert_int_equal(chown("other", 65534, 65534), 0);
	assert_int_equal(chown("other.pmc", 65534, 65534), 0);
	assert_int_equal(text_of("other"), -EUSERS);
	assert_int_equal(dump_of("other.pmc", true), -EUSERS);
}

static void emptying(void **state)
{
	int fd;

	put("text", text, sizeof(text));
	fd = pmc_text_open("text");
	check_bytes("text", text, sizeof(text));
	assert_int_equal(pmc_text_empty(fd), 0);
	check_bytes("text", "", 0);
	/* It became a dump meanwhile. */
	put("text", frame, sizeof(frame));
	assert_int_equal(pmc_text_empty(fd), -EEXIST);
	check_bytes("text", frame, sizeof(frame));
	close(fd);
}

/* A child of which standard output is a file. */
static void standard_streams(void **state)
{
	int status, fd;
	pid_t pid;

	put("out", text, sizeof(text));
	put("out.pmc", frame, sizeof(frame));
	pid = fork();
	if (pid == 0) {
		fd = open("out", O_WRONLY | O_APPEND);
		dup2(fd, STDOUT_FILENO);
		close(fd);
		if (pmc_text_open("out") != -EBUSY)
			_exit(1);
		fd = tool_open_text("/dev/stdout");
		if (fd <= STDERR_FILENO || pmc_text_empty(fd) != 0 || write(fd, "!", 1) != 1)
			_exit(2);
		dup2(open("out.pmc", O_WRONLY), STDERR_FILENO);
		if (tool_open_dump("out.pmc", false, &(struct stat){ 0 }) != -EBUSY)
			_exit(3);
		/* The number of a closed stream is no stream. */
		close(STDIN_FILENO);
		fd = pmc_text_create("fresh");
		_exit(fd == STDIN_FILENO && pmc_text_create("fresh") == -EBUSY ? 0 : 4);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	check_bytes("out", "text\0!", 6);
}

static void same_files(void **state)
{
	char path[64];

	put("a", "", 0);
	put("b", "", 0);
	snprintf(path, sizeof(path), "%s/a", dir);
	assert_true(tool_same_file("a", "./a"));
	assert_true(tool_same_file(path, "a"));
	assert_false(tool_same_file("a", "b"));
	assert_false(tool_same_file("a", "not-there"));
	snprintf(path, sizeof(path), "%s/not-there", dir);
	assert_true(tool_same_file("not-there", path));
	assert_true(tool_same_file("not-there", "./not-there"));
	assert_false(tool_same_file("not-there", "nor-there"));
	assert_false(tool_same_file("none/a", "none/a2"));
	assert_false(tool_same_file("-", "-"));
	assert_false(tool_same_file("/dev/null", "/dev/null"));
}

static void reasons(void **state)
{
	static const int errors[] = {
		ENOTSUP, EEXIST, EINVAL, EUSERS, EMLINK, ELOOP,	 EBUSY,
		EISDIR,	 ENXIO,	 ENOENT, EACCES, EROFS,	 ENOSPC, ENAMETOOLONG
	};

	for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		has(pmc_output_why(-errors[i]), "; ");
	assert_null(pmc_output_why(-EIO));
	assert_non_null(tool_output_why(-EIO));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contents),
		cmocka_unit_test(new_files),
		cmocka_unit_test(names),
		cmocka_unit_test(no_files),
		cmocka_unit_test(other_users),
		cmocka_unit_test(emptying),
		cmocka_unit_test(standard_streams),
		cmocka_unit_test(same_files),
		cmocka_unit_test(reasons),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
