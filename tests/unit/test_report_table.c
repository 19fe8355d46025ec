/* SPDX-License-Identifier: MIT */
/* test_report_table.c - the table compared with golden files, and single rules. */
#include "lib/base/utf8.h"
#include "tests/unit/golden.h"
#include "tests/unit/report_process.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <linux/perf_event.h>

static const struct made_event hardware[] = {
	{ "cycles", 0, 0, 0, 0, 0, NULL, NULL, 0, 0, 0 },
	{ "instructions", 0, 1, 0, 0, 0, NULL, NULL, 0, 0, 0 },
	{ "cache-references", 0, 2, 0, 0, 0, NULL, NULL, 0, 0, 0 },
	{ "cache-misses", 0, 3, 0, 0, 0, NULL, NULL, 0, 0, 0 },
	{ "branches", 0, 4, 0, 0, 0, NULL, NULL, 0, 0, 0 },
	{ "branch-misses", 0, 5, 0, 0, 0, NULL, NULL, 0, 0, 0 },
};

static struct made_value six(uint64_t unit, uint64_t running)
{
	return (struct made_value){ 600 * MS,
				    running,
				    0,
				    6,
				    { unit, unit * 2, unit / 50, unit / 100, unit / 4,
				      unit / 500 } };
}

/* No line of the table may exceed the width that was requested. */
static void assert_fits(const char *text)
{
	const char *end;
	bool head = true;

	for (const char *line = text; *line; line = end + 1) {
		end = strchr(line, '\n');
		assert_non_null(end);
		head &= strncmp(line, " coverage", 9) != 0;
		if (head)
			assert_true(pmc_utf8_columns(line, (size_t)(end - line)) <= 100);
	}
}

static void full(void **state)
{
	struct pmc_profile profile;
	struct pmc_process_fixed process = process_like;
	struct pmc_thread_fixed fixed;
	const char *const io_only[] = { "name=io*" };
	struct made_value value;
	uint64_t set;
	char *text;

	made_begin();
	set = made_set(hardware, 6);
	process.threads_seen = process.threads_counted = 45;
	process.eventset = set;
	made_process(1, &process, "node", "/usr/bin/xz", "xz -T4 big.tar");
	value = six(58100000, 600 * MS);
	made_thread(1, thread_like(0, 20 * MS, set), "xz", &value, 1);
	for (unsigned i = 1; i <= 4; i++) {
		char name[16];

		snprintf(name, sizeof(name), "worker-%u", i);
		value = six(1710000000 - 100 * i, 600 * MS);
		made_thread(1, thread_like(i, 560 * MS - i, set), name, &value, 1);
	}
	for (unsigned i = 5; i < 45; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%s%u", i & 1 ? "pool-" : "io", i);
		value = six(1000000 + i, 600 * MS);
		fixed = thread_like(i, MS + 1000 * i, set);
		fixed.end_ns = i == 44 ? 0 : fixed.end_ns;
		made_thread(1, fixed, name, &value, 1);
	}
	made_profile(&profile, false);
	text = table_of(&profile, (struct pmc_report_options){ .keep_hint = "PMC_OUT=run.pmc" });
	assert_fits(text);
	assert_golden(text, "report-full");
	text = table_of(&profile, (struct pmc_report_options){ .wide = true, .top = 3 });
	assert_golden(text, "report-wide");
	text = table_of(&profile, (struct pmc_report_options){ .summary = true });
	assert_golden(text, "report-summary");
	text = table_of(&profile, (struct pmc_report_options){ .by = PMC_BY_NAME, .top = 5 });
	assert_fits(text);
	assert_golden(text, "report-by-name");
	text = table_of(&profile, (struct pmc_report_options){ .by = PMC_BY_POOL, .wide = true });
	assert_golden(text, "report-by-pool-wide");
	for (int width = 60; width <= 200; width += 140) {
		char name[32];

		snprintf(name, sizeof(name), "report-ascii-%d", width);
		text = table_of(&profile, (struct pmc_report_options){ .screen.width = width,
								       .screen.ascii = true });
		for (const char *c = text; *c; c++)
			assert_in_range((unsigned char)*c, '\n', '~');
		assert_golden(text, name);
	}
	text = table_of(&profile,
			(struct pmc_report_options){
				.columns = "thread,tid,vol,cpu,start_ns,end_ns", .top = 2 });
	assert_golden(text, "report-columns");
	text = table_of(&profile,
			(struct pmc_report_options){ .where = io_only, .n_where = 1, .top = 3 });
	assert_golden(text, "report-where");
	pmc_profile_free(&profile);
}

/* Multiplexed, partial, remainders, adopted threads: every mark of the table. */
static void marks(void **state)
{
	static const struct made_event events[] = {
		{ "task-clock", 1, 1, 0, 0, 0, "ns", NULL, 0, 0, 0 },
		{ "cycles", 0, 0, 1, 0, 0, NULL, NULL, PMC_SCOPE_USER, PMC_EVENT_FELL_BACK, 0 },
		{ "energy", 9, 2, 1, 0, 0, "Joules", NULL, 0, 0, 0.25 },
		{ "mem-loads", 4, 0xcd, PMC_NO_GROUP, PMC_NOT_SUPPORTED, ENOENT, NULL, NULL, 0, 0,
		  0 },
		{ "cycles:k", 0, 0, PMC_NO_GROUP, PMC_NOT_PERMITTED, EACCES, NULL, NULL,
		  PMC_SCOPE_KERNEL, 0, 0 },
	};
	static const struct made_event clock[] = {
		{ "task-clock", 1, 1, 0, 0, 0, "ns", NULL, 0, 0, 0 },
	};
	struct made_value values[2] = { { 600 * MS, 600 * MS, 0, 1, { 560 * MS } },
					{ 600 * MS, 300 * MS, 0, 2, { 1000000, 400 } } };
	struct made_value total = { 700 * MS, 700 * MS, 0, 1, { 900 * MS } };
	struct made_value exec = { 700 * MS, 700 * MS, 0, 1, { 300 * MS } };
	struct pmc_process_fixed process = process_like, child = process_like;
	struct pmc_thread_fixed adopted;
	struct pmc_profile profile;
	uint64_t set, clock_set;
	char *text;

	made_begin();
	set = made_set(events, 5);
	clock_set = made_set(clock, 1);
	process.threads_seen = 3;
	process.threads_counted = 2;
	process.cpu_ns = 1000 * MS;
	process.eventset = set;
	process.inherit_mode = PMC_INHERIT_CLOCK;
	made_process(1, &process, "node", "/bin/app", "./app --flag");
	made_thread(1, thread_like(0, 560 * MS, set), "app", values, 2);
	values[1] = (struct made_value){ 600 * MS, 600 * MS, 0, 2, { 3000000, 8 } };
	values[0].values[0] = 240 * MS;
	made_thread(1, thread_like(1, 240 * MS, set), "steady", values, 2);
	adopted = thread_like(2, 90 * MS, set);
	adopted.flags = PMC_THREAD_ADOPTED | PMC_THREAD_NO_RUSAGE;
	adopted.reason = PMC_REASON_ADOPTED;
	values[0] = values[1] = (struct made_value){ .error = PMC_REASON_ADOPTED };
	made_thread(1, adopted, "adopted", values, 2);
	made_total(1, PMC_TOTAL_THREADS, clock_set, &total, 1);
	made_total(1, PMC_TOTAL_EXEC, clock_set, &exec, 1);
	made_note(1, 3, 2, "the agent met something \x1b[31mred");
	child.flags = PMC_PROCESS_COVERED;
	child.pid = 13000;
	child.ppid = 12037;
	child.cpu_ns = 40 * MS;
	child.threads_seen = child.threads_counted = 1;
	child.start_ns += MS;
	child.eventset = 0;
	made_process(2, &child, "node", "/bin/kid", "kid");
	made_thread(2, thread_like(0, 40 * MS, 0), "kid", NULL, 0);
	made_profile(&profile, false);
	text = table_of(&profile, (struct pmc_report_options){ 0 });
	assert_fits(text);
	assert_golden(text, "report-tree");
	pmc_profile_free(&profile);
}

static void no_pmu(void **state)
{
	struct made_event events[6];
	struct pmc_process_fixed process = process_like;
	struct pmc_profile profile;
	uint64_t set;
	char *text;

	made_begin();
	for (unsigned i = 0; i < 6; i++) {
		events[i] = hardware[i];
		events[i].group = PMC_NO_GROUP;
		events[i].state = PMC_NOT_SUPPORTED;
		events[i].error = ENOENT;
	}
	set = made_set(events, 6);
	process.eventset = set;
	process.threads_seen = process.threads_counted = 1;
	made_process(1, &process, "node", "/usr/bin/xz", "xz -T4 big.tar");
	made_thread(1, thread_like(0, 2305 * MS, set), "xz", NULL, 0);
	made_profile(&profile, false);
	text = table_of(&profile, (struct pmc_report_options){ 0 });
	assert_golden(text, "report-no-pmu");
	assert_null(strstr(text, "IPC"));
	pmc_profile_free(&profile);
}

static void one_screen(void **state)
{
	struct pmc_process_fixed process = process_like;
	struct pmc_profile profile;
	unsigned lines = 0;
	char *text;

	made_begin();
	made_process(1, &process, "node", "/bin/app", "app");
	for (unsigned i = 1; i < 9000; i++) {
		char name[16];

		/* half of them have names that no pattern groups */
		snprintf(name, sizeof(name), i & 1 ? "t%c%c%c" : "pool-%u",
			 i & 1 ? 'a' + i % 26 : i, 'a' + i / 26 % 26, 'a' + i / 676 % 26);
		made_thread(1, thread_like(i, i, 0), name, NULL, 0);
	}
	made_profile(&profile, false);
	text = table_of(&profile, (struct pmc_report_options){ 0 });
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	assert_in_range(lines, 25, 45);
	assert_non_null(strstr(text, "pool-*"));
	assert_non_null(strstr(text, " more)"));
	assert_fits(text);
	text = table_of(&profile, (struct pmc_report_options){ .by = PMC_BY_THREAD, .top = 8990 });
	assert_non_null(strstr(text, "pool-20 "));
	text = table_of(&profile, (struct pmc_report_options){ .by = PMC_BY_THREAD, .top = 8997 });
	assert_non_null(strstr(text, "(2 more)"));
	text = table_of(&profile, (struct pmc_report_options){ .by = PMC_BY_THREAD, .top = 8999 });
	assert_null(strstr(text, " more)"));
	pmc_profile_free(&profile);
}

/* A mark is explained only if the table shows it. */
static void marks_out_of_sight(void **state)
{
	struct made_value values[2] = { { 600 * MS, 600 * MS, 0, 2, { 1000, 2000 } },
					{ 600 * MS, 600 * MS, 0, 8, { 1, 2, 3, 4, 5, 6, 7, 8 } } };
	struct pmc_process_fixed process = process_like;
	struct made_event events[10] = { 0 };
	struct pmc_profile profile;
	char names[10][32], *text;
	uint64_t set;

	made_begin();
	for (unsigned i = 0; i < 10; i++) {
		snprintf(names[i], sizeof(names[i]), "a-rather-long-name-of-event-%u", i);
		events[i].name = names[i];
		events[i].type = PERF_TYPE_RAW;
		events[i].config = i;
		events[i].group = i >= 2;
	}
	set = made_set(events, 10);
	process.cpu_ns = 150 * MS;
	process.eventset = set;
	process.threads_seen = process.threads_counted = 2;
	made_process(1, &process, "node", "/bin/app", "app");
	made_thread(1, thread_like(0, 100 * MS, set), "app", values, 2);
	values[1] = (struct made_value){ .enabled = 600 * MS, .n = 8 };
	made_thread(1, thread_like(1, 50 * MS, set), "app", values, 2);
	made_profile(&profile, false);
	text = table_of(&profile, (struct pmc_report_options){ 0 });
	assert_non_null(strstr(text, "not shown: a-rather-long-name-of-event-2"));
	assert_null(strstr(text, " +: "));
	text = table_of(&profile, (struct pmc_report_options){ .wide = true });
	assert_non_null(strstr(text, " +: "));
	pmc_profile_free(&profile);
}

static void hostile(void **state)
{
	static const char *const names[] = { "\x1b]0;pwned\x07",
					     "\xff\xfe\xc2\x9b"
					     "31m",
					     "a\nb\rc",
					     "\xe2\x80\xae"
					     "gnp.exe",
					     "日本語スレ",
					     "",
					     "0123456789abcdef" };
	const struct made_event event = { "cyc\x1b[31mles\n",
					  0,
					  0,
					  0,
					  0,
					  0,
					  "\x1b"
					  "u",
					  "\x1b"
					  "c",
					  0,
					  0,
					  0 };
	struct pmc_process_fixed process = process_like;
	struct made_value value = { 1, 1, 0, 1, { 5 } };
	struct pmc_profile profile;
	uint64_t set, site;

	made_begin();
	set = made_set(&event, 1);
	site = made_site("/lib/\x1b[2J.so", "sym\x1b[2Jbol", 5);
	process.eventset = set;
	made_process(1, &process, "no\x1b[2Jde", "/bin/\x1b[2Japp", "app \x1b[2J \xff");
	process.pid++;
	made_process(2, &process,
		     "no\x9b"
		     "de",
		     "\x1b[2J", "");
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct pmc_thread_fixed fixed = thread_like(i, i, set);

		fixed.start_site = site;
		made_thread(1 + i % 2, fixed, names[i], &value, 1);
	}
	made_note(1, 1, 1, "note \x1b[2J\n");
	made_profile(&profile, true);
	for (int by = PMC_BY_NONE; by <= PMC_BY_REGION; by++) {
		for (int format = PMC_FORMAT_TABLE; format <= PMC_FORMAT_CSV; format++) {
			for (int timeline = 0; timeline < 2; timeline++) {
				char *text = table_of(
					&profile,
					(struct pmc_report_options){
						.by = (enum pmc_fold_by)by,
						.format = (enum pmc_report_format)format,
						.wide = timeline,
						.timeline = timeline && by == PMC_BY_NONE });

				for (const char *p = text; *p; p++) {
					uint32_t code;
					size_t n = pmc_utf8_decode(p, strlen(p), &code);

					assert_true(n > 0);
					assert_true(code == '\n' || pmc_utf8_width(code) >= 0 ||
						    (format == PMC_FORMAT_JSON && code >= 0xa0));
					p += n - 1;
				}
			}
		}
	}
	pmc_profile_free(&profile);
}

/* A report on two jobs names both, and has no elapsed time. */
static char *by_process(struct pmc_profile *profile, struct pmc_report_options options)
{
	options.by = PMC_BY_PROCESS;
	return table_of(profile, options);
}

static void no_such_column(struct pmc_profile *profile, enum pmc_fold_by by, const char *columns,
			   const char *expected)
{
	const struct pmc_report_options options = { .by = by, .columns = columns };
	const char *problem;
	int result;

	made_report(profile, &options, &result, &problem);
	assert_int_equal(result, -EINVAL);
	assert_string_equal(problem, expected);
}

/* Rows of one program are told apart by the arguments in which they differ. */
static void processes_of_one_program(void **state)
{
	static const char *const args[] = { "-quiet -I include src/a.cpp -O2",
					    "-quiet -I include src/b.cpp -O2", "-quiet" };
	struct pmc_process_fixed process = process_like;
	struct pmc_profile profile;
	char *text;

	made_begin();
	for (unsigned i = 0; i < 3; i++) {
		char cmdline[80];

		/* A path with a space, relative to a directory. */
		snprintf(cmdline, sizeof(cmdline), "%s %s",
			 i < 2 ? "/usr/lib/cc1plus" : "bin/my as", args[i]);
		process.pid = 100 + i;
		process.cpu_ns = (20 - i) * MS;
		process.end_ns = process.time_ns = (1500 + 250 * i) * MS;
		made_process(i + 1, &process, "", i < 2 ? "/usr/lib/cc1plus" : "/usr/bin/my as",
			     cmdline);
		made_thread(i + 1, thread_like(0, (20 - i) * MS, 0), "x", NULL, 0);
	}
	made_profile(&profile, false);
	text = by_process(&profile, (struct pmc_report_options){ .screen.width = 100 });
	has(text, "  process         n  elapsed s  cpu ms ");
	has(text, "\n  100 cc1plus     1      0.500 ");
	has(text, "  … a.cpp -O2\n");
	has(text, "  … b.cpp -O2\n");
	has(text, "  -quiet\n");
	assert_fits(text);
	text = by_process(&profile, (struct pmc_report_options){ .screen.width = 60 });
	has(text, "not shown: invol, page-faults (--wide)");
	text = by_process(&profile, (struct pmc_report_options){ .columns = "process,cmdline,args",
								 .screen.width = 120 });
	has(text, "  101 cc1plus     /usr/lib/cc1plus -quiet -I include src/b.cpp -O2 ");
	text = by_process(&profile, (struct pmc_report_options){ .columns = "key,elapsed,arguments",
								 .format = PMC_FORMAT_CSV });
	assert_string_equal(text, "key,elapsed_ns,args\n"
				  "100 cc1plus,500000000,'-quiet -I include src/a.cpp -O2\n"
				  "101 cc1plus,750000000,'-quiet -I include src/b.cpp -O2\n"
				  "102 my as,1000000000,'-quiet\n");
	text = table_of(&profile,
			(struct pmc_report_options){ .columns = "pid,command",
						     .where = (const char *[]){ "cmdline=*b.cpp*" },
						     .n_where = 1,
						     .format = PMC_FORMAT_CSV });
	assert_string_equal(text, "pid,cmdline\n"
				  "101,/usr/lib/cc1plus -quiet -I include src/b.cpp -O2\n");
	for (unsigned i = 0; i < 2; i++) {
		const char *where[] = { i ? "key=102*" : "process=*as" };

		text = by_process(&profile, (struct pmc_report_options){ .where = where,
									 .n_where = 1,
									 .columns = "process,n" });
		has(text, "102 my as ");
		has_not(text, "cc1plus  ");
	}
	no_such_column(&profile, PMC_BY_POOL, "n,tid",
		       "rows of this --by have no column 'tid', those of threads do");
	no_such_column(&profile, PMC_BY_NONE, "n",
		       "single threads have no column 'n', groups (--by) do");
	pmc_profile_free(&profile);
}

static void several_runs(void **state)
{
	struct pmc_process_fixed process = process_like;
	struct pmc_profile profile;
	char *text;

	made_begin();
	made_process(1, &process, "node", "/bin/first", "/opt/bin/first -a");
	made_thread(1, thread_like(0, 100 * MS, 0), "first", NULL, 0);
	process.job[0] = 1;
	made_process(2, &process, "node", "/bin/second", "second -b");
	made_thread(2, thread_like(0, 50 * MS, 0), "second", NULL, 0);
	made_profile(&profile, false);
	text = table_of(&profile, (struct pmc_report_options){ 0 });
	assert_non_null(strstr(text, "2 runs"));
	assert_non_null(strstr(text, "first -a"));
	assert_null(strstr(text, "/opt/bin"));
	assert_non_null(strstr(text, "second -b"));
	assert_null(strstr(text, " wall"));
	pmc_profile_free(&profile);
}

static void empty(void **state)
{
	struct pmc_profile profile;

	made_begin();
	made_profile(&profile, false);
	for (int format = PMC_FORMAT_TABLE; format <= PMC_FORMAT_CSV; format++)
		table_of(&profile,
			 (struct pmc_report_options){ .format = (enum pmc_report_format)format });
	/* rows of a process whose PROCESS frame is missing */
	made_begin();
	made_thread(1, thread_like(1, 5 * MS, 77), "orphan", NULL, 0);
	pmc_profile_free(&profile);
	made_profile(&profile, false);
	for (int by = PMC_BY_NONE; by <= PMC_BY_REGION; by++) {
		char *text = table_of(&profile,
				      (struct pmc_report_options){ .by = (enum pmc_fold_by)by });

		assert_non_null(strstr(text, "5.000"));
	}
	pmc_profile_free(&profile);
}

/* PR_SET_NAME takes an empty name. CSV and JSON have it as it is. */
static void unnamed(void **state)
{
	static const enum pmc_fold_by by[] = { PMC_BY_NONE, PMC_BY_THREAD, PMC_BY_NAME,
					       PMC_BY_POOL };
	struct pmc_profile profile;
	char *text;

	made_begin();
	made_thread(1, thread_like(1, 5 * MS, 77), "", NULL, 0);
	made_profile(&profile, false);
	for (unsigned i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
		text = table_of(&profile, (struct pmc_report_options){ .by = by[i] });
		assert_non_null(strstr(text, "\n  (unnamed) "));
	}
	text = table_of(&profile, (struct pmc_report_options){ .format = PMC_FORMAT_CSV,
							       .columns = "name,cpu_ns" });
	assert_string_equal(text, "name,cpu_ns\n,5000000\n");
	pmc_profile_free(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full),
		cmocka_unit_test(unnamed),
		cmocka_unit_test(marks),
		cmocka_unit_test(no_pmu),
		cmocka_unit_test(one_screen),
		cmocka_unit_test(marks_out_of_sight),
		cmocka_unit_test(hostile),
		cmocka_unit_test(several_runs),
		cmocka_unit_test(processes_of_one_program),
		cmocka_unit_test(empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
