/* SPDX-License-Identifier: MIT */
/* test_report_cmd.c - pmctl report: arguments, valid and invalid inputs, exit codes, symbols. */
#include "tests/unit/report_profile.h"
#include "tests/unit/unpack.h"
#include "tools/cli/pmctl.h"
#include "tools/report/report.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <jansson.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/pmc-report-XXXXXX";
static char dump[64], empty[64], foreign[64], damaged[64], missing[64], output[64], torn[64];
static char said[1 << 16], printed[4 << 20];
static bool json_errors; /* as pmctl sets it for --format json */

static void put_file(char path[64], const char *name, const void *data, size_t len)
{
	int fd;

	snprintf(path, 64, "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0 && write(fd, data, len) == (ssize_t)len && close(fd) == 0);
}

static int setup(void **state)
{
	struct pmc_process_fixed process = {
		.pid = 5, .start_ns = 1, .time_ns = 9, .rank = -1, .cpu_ns = 1000
	};
	struct pmc_thread_fixed fixed = { .tid = 5, .cpu_ns = 900, .flags = PMC_THREAD_MAIN };
	uint8_t *bytes;

	if (!mkdtemp(dir))
		return -1;
	made_begin();
	made_process(1, &process, "h", "/bin/x", "x");
	made_thread(1, fixed, "solo", NULL, 0);
	put_file(dump, "good.pmc", made.data, made.len);
	put_file(torn, "torn.pmc", made.data, made.len - 8);
	bytes = (uint8_t *)made_buffer;
	bytes[60] ^= 1;
	put_file(damaged, "damaged.pmc", made.data, made.len);
	put_file(empty, "empty.pmc", "", 0);
	put_file(foreign, "foreign.txt", "hello, world, this is no dump at all\n", 37);
	snprintf(missing, sizeof(missing), "%s/missing.pmc", dir);
	snprintf(output, sizeof(output), "%s/out", dir);
	return 0;
}

static int teardown(void **state)
{
	const char *const files[] = { dump, torn, damaged, empty, foreign, output };

	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(files[i]);
	return rmdir(dir);
}

static int redirect(int fd, const char *name, int flags)
{
	char path[64];
	int kept = dup(fd), to;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	to = open(name[0] == '/' ? name : path, flags | O_CREAT, 0600);
	assert_true(to >= 0);
	dup2(to, fd);
	close(to);
	return kept;
}

static void restore(int fd, int kept, const char *name, char *text, size_t cap)
{
	char path[64];
	ssize_t n;
	int from;

	dup2(kept, fd);
	close(kept);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	from = open(path, O_RDONLY);
	n = from < 0 ? 0 : read(from, text, cap - 1);
	text[n > 0 ? n : 0] = '\0';
	close(from);
	unlink(path);
}

/* Runs the command; NULL ends the arguments. */
static int run(const char *first, ...)
{
	char *argv[16] = { (char *)"report" };
	int argc = 1, code, out, err;
	va_list args;

	va_start(args, first);
	for (const char *a = first; a; a = va_arg(args, const char *))
		argv[argc++] = (char *)a;
	va_end(args);
	tool_json_errors = json_errors;
	tool_command_name = "report";
	fflush(NULL);
	out = redirect(1, "stdout", O_RDWR | O_TRUNC);
	err = redirect(2, "stderr", O_RDWR | O_TRUNC);
	code = cmd_report(argc, argv);
	fflush(NULL);
	restore(2, err, "stderr", said, sizeof(said));
	restore(1, out, "stdout", printed, sizeof(printed));
	return code;
}

static void one_line_with(const char *part)
{
	const char *newline = strchr(said, '\n');

	if (!newline || newline[1] || !strstr(said, part))
		fail_msg("expected one line with \"%s\", got: %s", part, said);
}

static void good(void **state)
{
	assert_int_equal(run(dump, NULL), 0);
	assert_string_equal(said, "");
	assert_non_null(strstr(printed, "solo"));
	/* the same dump twice counts once */
	assert_int_equal(run("--format", "json", dump, dump, NULL), 0);
	json_t *root = json_loads(printed, 0, NULL);

	assert_non_null(root);
	assert_int_equal(json_array_size(json_object_get(root, "threads")), 1);
	json_decref(root);
	assert_int_equal(run("--format=csv", "-o", output, dump, NULL), 0);
	assert_string_equal(printed, "");
	assert_int_equal(run("--by=name", "--top", "0", "--wide", "--sort", "cpu", "--where",
			     "pid=5", dump, NULL),
			 0);
	assert_int_equal(run("--timeline", dump, NULL), 0);
	assert_int_equal(run("--timeline", "--by", "name", dump, NULL), 0);
	assert_int_equal(run("--by", "function", dump, NULL), 0);
}

static void usage(void **state)
{
	assert_int_equal(run(NULL), 2);
	one_line_with("no dump");
	assert_int_equal(run("--formt", "json", dump, NULL), 2);
	one_line_with("--format");
	assert_int_equal(run("--format", "jsn", dump, NULL), 2);
	one_line_with("did you mean 'json'");
	assert_int_equal(run("--by", "nam", dump, NULL), 2);
	one_line_with("did you mean 'name'");
	assert_int_equal(run("--by", "regions", dump, NULL), 2);
	assert_int_equal(run("--top", "-3", dump, NULL), 2);
	one_line_with("--top");
	assert_int_equal(run("--top", "99999999999", dump, NULL), 2);
	assert_int_equal(run(dump, "--sort", NULL), 2);
	one_line_with("needs a value");
	assert_int_equal(run("--sort", "cpu_s", dump, NULL), 2);
	one_line_with("'cpu_ns'");
	assert_int_equal(run("--where", "hots=x", dump, NULL), 2);
	one_line_with("host");
	assert_int_equal(run("--timeline", "--sort", "name", dump, NULL), 2);
	one_line_with("--timeline");
	assert_int_equal(run("--timeline", "--where", "name=nosuch", dump, NULL), 1);
	one_line_with("nosuch");
	assert_int_equal(run("--timeline", "--by", "function", dump, NULL), 2);
	one_line_with("--timeline");
	assert_int_equal(run("--timeline", "--by", "name", "--format", "csv", dump, NULL), 2);
	one_line_with("--timeline");
	assert_int_equal(run("--bottom-up", dump, NULL), 2);
	one_line_with("--bottom-up");
	assert_int_equal(run("--by", "path", "--sort", "self", dump, NULL), 2);
	one_line_with("--sort");
	assert_int_equal(run("--symfs", "/", dump, NULL), 2);
	one_line_with("--symfs");
	assert_int_equal(run("-o", dump, dump, NULL), 2);
	one_line_with("overwrite");
	assert_int_equal(run("-o", torn, dump, NULL), 1);
	one_line_with("it is a dump; ");
}

static void inputs(void **state)
{
	assert_int_equal(run(missing, NULL), 1);
	one_line_with("No such file");
	assert_int_equal(run(empty, NULL), 1);
	one_line_with("is empty");
	assert_int_equal(run(foreign, NULL), 1);
	one_line_with("is not a dump");
	assert_int_equal(run(damaged, NULL), 0);
	one_line_with("warning: ");
	assert_non_null(strstr(said, "1 damaged frame "));
	assert_non_null(strstr(said, "was in it\n"));
	assert_int_equal(run(torn, NULL), 0);
	one_line_with("damaged");
	/* Of several, the bad ones are named in one warning. */
	assert_int_equal(run(missing, dump, empty, NULL), 0);
	assert_string_not_equal(printed, "");
	one_line_with("missing.pmc (No such file or directory)");
	one_line_with("empty.pmc (empty)");
	assert_int_equal(run(missing, empty, NULL), 1);
	assert_string_equal(printed, "");
	one_line_with("no dump among 2 inputs");
	json_errors = true;
	assert_int_equal(run("--format", "json", foreign, NULL), 1);
	json_errors = false;
	json_t *root = json_loads(said, 0, NULL);

	assert_non_null(json_object_get(root, "error"));
	json_decref(root);
}

static void full_disk(void **state)
{
	int kept;
	char *argv[] = { (char *)"report", dump };

	fflush(NULL);
	kept = redirect(1, "/dev/full", O_WRONLY);
	assert_int_equal(run("-o", "/dev/full", dump, NULL), 1);
	int err = redirect(2, "stderr", O_RDWR | O_TRUNC);

	assert_int_equal(cmd_report(2, argv), 1);
	restore(2, err, "stderr", said, sizeof(said));
	dup2(kept, 1);
	close(kept);
	one_line_with("No space left");
}

int symbols_target(int value);
__attribute__((noinline, used)) int symbols_target(int value)
{
	return value + 1;
}

static void symbols(void **state)
{
	char self[256] = "", host[256] = "";
	const char *const others[] = { self, missing, foreign, "/dev/zero" };
	struct pmc_process_fixed process = { .pid = 5, .rank = -1 };
	struct pmc_thread_fixed fixed = { .seq = 1, .tid = 5 };
	struct pmc_profile profile;
	Dl_info info;
	uint64_t offset;

	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	assert_true(dladdr((void *)symbols_target, &info) != 0);
	offset = (uint64_t)((char *)symbols_target - (char *)info.dli_fbase);
	gethostname(host, sizeof(host) - 1);
	made_begin();
	fixed.start_site = made_site(self, "", offset);
	made_process(1, &process, host, "/bin/x", "x");
	made_process(2, &process, "another-host", "/bin/x", "x");
	made_thread(1, fixed, "a", NULL, 0);
	fixed.seq = 2;
	made_thread(1, fixed, "b", NULL, 0);
	for (unsigned i = 0; i < 4; i++) {
		fixed.seq = 3 + i;
		fixed.start_site = made_site(others[i], "", offset + !i);
		made_thread(1, fixed, "other", NULL, 0);
	}
	fixed.start_site = made_site(self, "", offset);
	made_thread(2, fixed, "c", NULL, 0);
	made_profile(&profile, false);
	symbols_resolve(&profile);
	for (uint64_t i = 0; i < profile.n_threads; i++)
		assert_string_equal(unpack_row(&profile, profile.threads[i])->symbol,
				    strcmp(profile.threads[i]->process->host, host) ||
						    profile.threads[i]->seq > 2 ?
					    "" :
					    "symbols_target");
	pmc_profile_free(&profile);
}

static long faults_of_children(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return usage.ru_minflt;
}

/* One to seven processes print the same bytes, with names of hostile bytes. */
static void jobs(void **state)
{
	static const char *const views[][2] = {
		{ "csv", "--columns=name,seq,cpu_ns" },
		{ "csv", "--by=thread" },
		{ "json", "--columns=name,seq" },
		{ "jsonl", "--columns=name,tid" },
		{ "json", "--timeline" },
		{ "csv", "--by=pool" },
	};
	static char one[sizeof(printed)];
	struct pmc_process_fixed process = { .pid = 5, .start_ns = 1, .time_ns = 9, .rank = -1 };
	struct pmc_thread_fixed fixed = { .tid = 5 };
	char many[64];

	made_begin();
	made_process(1, &process, "h", "/bin/x", "x");
	for (unsigned i = 0; i < 6000; i++) {
		fixed.seq = i;
		fixed.cpu_ns = i * 7919 % 6000;
		made_thread(1, fixed, i % 3 ? "a,\"\n\xff" : "b\x01", NULL, 0);
	}
	put_file(many, "many.pmc", made.data, made.len);
	for (unsigned i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		const char *format = views[i][0], *view = views[i][1];
		long faults = faults_of_children();

		assert_int_equal(run("--jobs=1", "--format", format, view, many, NULL), 0);
		assert_int_equal(faults_of_children(), faults);
		assert_true(strlen(printed) > 10 && strlen(printed) + 1 < sizeof(printed));
		memcpy(one, printed, sizeof(one));
		for (unsigned n = 2; n < 8; n += n == 2 ? 1 : 4) {
			char count[16];

			snprintf(count, sizeof(count), "--jobs=%u", n);
			assert_int_equal(run(count, "--format", format, view, many, NULL), 0);
			assert_string_equal(printed, one);
		}
		if (strcmp(view, "--by=pool"))
			assert_true(faults_of_children() > faults);
	}
	unlink(many);
	assert_int_equal(run("--jobs=0", dump, NULL), 2);
	one_line_with("'0'");
	assert_int_equal(run("--jobs", "-1", dump, NULL), 2);
	one_line_with("'-1'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),	     cmocka_unit_test(usage),	cmocka_unit_test(inputs),
		cmocka_unit_test(full_disk), cmocka_unit_test(symbols), cmocka_unit_test(jobs),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
