/* SPDX-License-Identifier: MIT */
/* test_merge_cmd.c - pmctl merge: inputs and outputs that it refuses; no file is harmed. */
#include "tests/unit/random_dump.h"
#include "tests/unit/tool_run.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static char dir[64];
static struct tool_run run;

static void put(const char *name, const void *bytes, size_t len)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static struct dump get(const char *name)
{
	struct dump dump = { malloc(1 << 20), 0 };
	FILE *file = fopen(name, "r");

	assert_non_null(file);
	assert_non_null(dump.data);
	dump.len = fread(dump.data, 1, 1 << 20, file);
	fclose(file);
	return dump;
}

static void check_file(const char *name, const void *bytes, size_t len)
{
	struct dump dump = get(name);

	assert_int_equal(dump.len, len);
	assert_memory_equal(dump.data, bytes, len);
	dump_free(&dump);
}

static void check_lines(const char *text, unsigned lines)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == '\n';
	assert_int_equal(n, lines);
}

static int setup(void **state)
{
	struct dump a = random_dump(30), b = random_dump(30);

	strcpy(dir, "/tmp/pmc-merge-cmd.XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	put("a.pmc", a.data, a.len);
	put("b.pmc", b.data, b.len);
	put("foreign", "this is a letter\n", 17);
	put("empty", "", 0);
	/* One damaged frame and no good one. */
	put("torn", a.data, 40);
	assert_int_equal(mkdir("folder", 0700), 0);
	dump_free(&a);
	dump_free(&b);
	return 0;
}

/* rmdir fails if the merge has left a file that is not listed here. */
static int teardown(void **state)
{
	static const char *const names[] = { "a.pmc",  "b.pmc", "foreign", "empty", "torn",
					     "folder", "out",	"ab",	   "link",  "pipe" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		remove(names[i]);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(dir), 0);
	return 0;
}

static void usage(void **state)
{
	PMCTL(&run, "merge");
	assert_int_equal(run.code, EXIT_USAGE);
	PMCTL(&run, "merge", "a.pmc");
	assert_int_equal(run.code, EXIT_USAGE);
	PMCTL(&run, "merge", "-o", "out");
	assert_int_equal(run.code, EXIT_USAGE);
	PMCTL(&run, "merge", "a.pmc", "-o");
	assert_int_equal(run.code, EXIT_USAGE);
	PMCTL(&run, "merge", "a.pmc", "-o", "out", "-o", "ab");
	assert_int_equal(run.code, EXIT_USAGE);
	PMCTL(&run, "merge", "--compcat", "a.pmc", "-o", "out");
	assert_int_equal(run.code, EXIT_USAGE);
	assert_non_null(strstr(run.err, "--compact"));
	assert_int_not_equal(access("out", F_OK), 0);
}

static void bad_inputs(void **state)
{
	static const struct {
		const char *file, *says;
	} table[] = {
		{ "missing", "missing: No such file" },
		{ "empty", "is empty" },
		{ "foreign", "foreign is not a dump" },
		{ "folder", "folder has no dump in it" },
		{ "torn", "cannot read torn: it is damaged" },
	};

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		PMCTL(&run, "merge", table[i].file, "-o", "out");
		assert_int_equal(run.code, EXIT_FAIL);
		if (!strstr(run.err, table[i].says))
			fail_msg("%s", run.err);
		assert_int_not_equal(access("out", F_OK), 0);
	}
	/* The bad ones are named in one line; a good one among them is merged. */
	PMCTL(&run, "merge", "missing", "a.pmc", "foreign", "folder", "torn", "-o", "out");
	assert_int_equal(run.code, EXIT_OK);
	check_lines(run.err, 1);
	assert_non_null(strstr(run.err,
			       "missing (No such file or directory), foreign (no valid "
			       "frame), folder (no dump in it), torn (damaged or cut off)"));
	assert_int_equal(access("out", F_OK), 0);
	remove("out");
	PMCTL(&run, "merge", "empty", "torn", "-o", "out");
	assert_int_equal(run.code, EXIT_FAIL);
	check_lines(run.err, 1);
	assert_non_null(strstr(run.err, "; pmctl dump "));
	assert_int_not_equal(access("out", F_OK), 0);
	/* A directory stands for the dumps in it. */
	assert_int_equal(rename("a.pmc", "folder/a.pmc"), 0);
	PMCTL(&run, "merge", "folder", "-o", "out");
	assert_int_equal(run.code, EXIT_OK);
	assert_string_equal(run.err, "");
	/* Nothing in it is left out in silence, but the output. */
	put("folder/b.pmc", "this is a letter\n", 17);
	put("folder/c", "this is a letter\n", 17);
	put("folder/d", "", 0);
	PMCTL(&run, "merge", "folder", "-o", "folder/out");
	assert_int_equal(run.code, EXIT_OK);
	check_lines(run.err, 1);
	assert_non_null(strstr(run.err, "left out: folder/b.pmc (no valid frame), folder/c (no "
					"valid frame), folder/d (empty); empty:"));
	for (char name[] = "folder/d"; name[7] <= 'k'; name[7]++)
		put(name, "", 0);
	PMCTL(&run, "merge", "folder", "-o", "folder/out");
	check_lines(run.err, 1);
	assert_non_null(strstr(run.err, "folder/g (empty) and 4 more; empty:"));
	assert_int_equal(rename("folder/a.pmc", "a.pmc") | remove("folder/out"), 0);
	PMCTL(&run, "merge", "folder", "-o", "out");
	check_lines(run.err, 1);
	assert_non_null(
		strstr(run.err, "folder has no dump in it: folder/b.pmc (no valid frame), "));
	for (char name[] = "folder/d"; name[7] <= 'k'; name[7]++)
		assert_int_equal(remove(name), 0);
	assert_int_equal(remove("folder/b.pmc") | remove("folder/c"), 0);
	assert_int_equal(mkdir("folder/in", 0700), 0);
	PMCTL(&run, "merge", "folder", "-o", "out");
	assert_int_equal(rmdir("folder/in"), 0);
	assert_non_null(
		strstr(run.err, "folder has no dump in it; sub-directories are not searched"));
}

static void outputs_that_are_refused(void **state)
{
	PMCTL(&run, "merge", "a.pmc", "-o", "foreign");
	assert_int_equal(run.code, EXIT_FAIL);
	check_lines(run.err, 1);
	check_file("foreign", "this is a letter\n", 17);
	PMCTL(&run, "merge", "a.pmc", "-o", "folder");
	assert_int_equal(run.code, EXIT_FAIL);
	PMCTL(&run, "merge", "a.pmc", "-o", "nowhere/out");
	assert_int_equal(run.code, EXIT_FAIL);

	struct dump b = get("b.pmc");

	assert_int_equal(symlink("b.pmc", "link"), 0);
	PMCTL(&run, "merge", "a.pmc", "-o", "link");
	assert_int_equal(run.code, EXIT_FAIL);
	check_file("b.pmc", b.data, b.len);
	dump_free(&b);
}

static void outputs_that_are_replaced(void **state)
{
	struct stat st;

	umask(0);
	PMCTL(&run, "merge", "a.pmc", "b.pmc", "-o", "ab");
	assert_int_equal(run.code, EXIT_OK);
	assert_string_equal(run.err, "");
	assert_int_equal(stat("ab", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	struct dump ab = get("ab");

	/* An empty file, a dump, one of the inputs. */
	put("out", "", 0);
	PMCTL(&run, "merge", "b.pmc", "a.pmc", "-o", "out");
	assert_int_equal(run.code, EXIT_OK);
	check_file("out", ab.data, ab.len);
	PMCTL(&run, "merge", "a.pmc", "b.pmc", "-o", "b.pmc");
	assert_int_equal(run.code, EXIT_OK);
	check_file("b.pmc", ab.data, ab.len);
	PMCTL(&run, "merge", "--compact", "--", "ab", "-o", "x");
	assert_int_equal(run.code, EXIT_USAGE); /* after -- each argument is a file */
	dump_free(&ab);
}

static void failed_writes_leave_the_old_file(void **state)
{
	struct rlimit limit = { 512, RLIM_INFINITY };
	struct dump b = get("b.pmc");

	PMCTL(&run, "merge", "a.pmc", "-o", "/dev/full");
	assert_int_equal(run.code, EXIT_FAIL);
	check_lines(run.err, 1);
	fflush(NULL);
	pid_t pid = fork();

	if (pid == 0) {
		char *argv[] = { (char *)"pmctl", (char *)"merge", (char *)"a.pmc",
				 (char *)"b.pmc", (char *)"-o",	   (char *)"b.pmc" };

		setrlimit(RLIMIT_FSIZE, &limit);
		close(STDERR_FILENO);
		_exit(tool_main(6, argv));
	}
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_FAIL);
	check_file("b.pmc", b.data, b.len);
	dump_free(&b);
}

static void a_closed_pipe_is_an_error(void **state)
{
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		char *argv[] = { (char *)"pmctl", (char *)"merge", (char *)"a.pmc", (char *)"-o",
				 (char *)"-" };

		dup2(ends[1], STDOUT_FILENO);
		close(STDERR_FILENO);
		_exit(tool_main(5, argv));
	}
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_FAIL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(usage, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_inputs, setup, teardown),
		cmocka_unit_test_setup_teardown(outputs_that_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(outputs_that_are_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(failed_writes_leave_the_old_file, setup, teardown),
		cmocka_unit_test_setup_teardown(a_closed_pipe_is_an_error, setup, teardown),
	};

	seed_from_environment();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
