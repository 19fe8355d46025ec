/* SPDX-License-Identifier: MIT */
/* test_report_rules.c - order, rounding and columns of a table. */
#include "tests/unit/report_process.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <linux/perf_event.h>

static void almost_all(void **state)
{
	static const char *const none[] = { "name=nobody" };
	struct pmc_process_fixed process = process_like;
	struct pmc_profile profile;
	char *text, *a, *b;
	int result;

	made_begin();
	process.how_ended = PMC_RUNNING;
	process.end_ns = 0;
	made_process(1, &process, "node", "/bin/app", "app");
	made_thread(1, thread_like(0, 1 * MS, 0), "little", NULL, 0);
	made_thread(1, thread_like(1, process.cpu_ns - 2 * MS, 0), "most", NULL, 0);
	made_profile(&profile, false);
	text = table_of(&profile, (struct pmc_report_options){ .sort = "%" });
	a = strstr(text, "most");
	b = strstr(text, "little");
	assert_true(a && b && a < b);
	assert_non_null(strstr(text, "99.9"));
	assert_non_null(strstr(text, "coverage 99.9 % of CPU"));
	text = table_of(&profile,
			(struct pmc_report_options){ .columns = "cpu ms,page-faults k,busy" });
	assert_non_null(strstr(text, "cpu s  page-faults  busy %"));
	/* all null: as without --sort */
	text = table_of(&profile, (struct pmc_report_options){ .sort = "ran" });
	assert_true(strstr(text, "most") < strstr(text, "little"));
	made_report(&profile, &(struct pmc_report_options){ .where = none, .n_where = 1 }, &result,
		    NULL);
	assert_int_equal(result, -ENOENT);
	pmc_profile_free(&profile);
	/* the row is newer than the process's last frame */
	made_begin();
	process.time_ns = 1500 * MS;
	made_process(1, &process, "node", "/bin/app", "app");
	made_thread(1, thread_like(1, 1 * MS, 0), "later", NULL, 0);
	made_profile(&profile, false);
	text = table_of(&profile, (struct pmc_report_options){ 0 });
	assert_non_null(
		strstr(text, "coverage unknown: the end of process 12037 is not in the dump"));
	assert_null(strstr(text, "last snapshot"));
	assert_non_null(strstr(text, "at least 1 thread in 1 process"));
	/* So is the time that the process is known to have lived. */
	text = table_of(&profile, (struct pmc_report_options){ .columns = "pid,elapsed",
							       .format = PMC_FORMAT_CSV });
	assert_string_equal(text, "pid,elapsed_ns\n12037,600000000\n");
	pmc_profile_free(&profile);
}

/* Snapshots of a process that is not known to have ended are no complete run; a recording of one is
 * complete. */
static void an_end_that_is_not_there(void **state)
{
	const struct pmc_process_fixed ended = process_like;
	struct pmc_process_fixed process = process_like;
	struct pmc_profile profile;
	char *text;

	process.threads_seen = 1;
	process.cpu_ns = 400 * MS;
	process.end_ns = 0;
	process.how_ended = PMC_RUNNING;
	for (unsigned i = 0; i < 4; i++) {
		made_begin();
		process.flags = i == 2 ? PMC_PROCESS_NO_STATUS : 0;
		made_process(1, i == 3 ? &ended : &process, "node", "/bin/app", "app");
		made_thread(1, thread_like(0, 400 * MS, 0), "app", NULL, 0);
		if (i == 1) {
			process.pid++;
			made_process(2, &process, "node", "/bin/app", "app");
			made_thread(2, thread_like(0, 400 * MS, 0), "app", NULL, 0);
		}
		made_profile(&profile, false);
		text = table_of(&profile, (struct pmc_report_options){ 0 });
		assert_int_equal(!strstr(text,
					 "the end of process 12037 is not in the dump: values "
					 "up to its last snapshot, 0.62 s after its start"),
				 i > 0);
		assert_int_equal(!strstr(text, "the end of 2 processes is not in the dump: values "
					       "up to their last snapshots"),
				 i != 1);
		assert_int_equal(!strstr(text, "last snapshot"), i > 1);
		pmc_profile_free(&profile);
	}
}

/* CPU time after the last snapshot of a killed process. */
static void cpu_time_of_a_killed_process(void **state)
{
	struct pmc_process_fixed process = process_like;
	struct pmc_profile profile;
	char *text;

	process.flags |= PMC_PROCESS_NO_SWITCHES;
	process.how_ended = PMC_ENDED_SIGNAL;
	process.how_code = 9;
	process.threads_seen = 1;
	made_begin();
	made_process(1, &process, "node", "/bin/app", "app");
	made_thread(1, thread_like(0, 2000 * MS, 0), "app", NULL, 0);
	made_profile(&profile, false);
	text = table_of(&profile, (struct pmc_report_options){ 0 });
	assert_non_null(
		strstr(text, "0.31 s CPU is in no thread's row: threads that ran when their"));
	assert_null(strstr(text, "raw clone"));
	pmc_profile_free(&profile);
}

/* Where a row is lost, so may be those of threads that no frame mentions. */
static void lost_rows(void **state)
{
	struct pmc_process_fixed process = process_like;
	struct pmc_profile profile;
	char *text;

	process.cpu_ns = 1 * MS;
	for (unsigned seen = 1; seen < 3; seen++) {
		made_begin();
		process.threads_seen = seen;
		made_process(1, &process, "node", "/bin/app", "app");
		made_thread(1, thread_like(0, 1 * MS, 0), "app", NULL, 0);
		made_profile(&profile, false);
		text = table_of(&profile, (struct pmc_report_options){ 0 });
		assert_non_null(strstr(text, seen > 1 ? " at least 2 threads in 1 process" :
							" 1 thread in 1 process"));
		assert_non_null(strstr(text, seen > 1 ? "1 of at least 2 threads counted" :
							"1 of 1 thread counted"));
		pmc_profile_free(&profile);
	}
}

/* A process was killed: the newest row of thread 1 lacks faults and switches, which an older one
 * has, that of thread 2 too, but only from before a reset. */
static void usage_of_an_older_row(void **state)
{
	struct pmc_process_fixed process = process_like;
	struct pmc_thread_fixed thread;
	struct pmc_profile profile;
	char *text;

	process.flags |= PMC_PROCESS_NO_SWITCHES;
	process.threads_seen = 2;
	made_begin();
	made_process(1, &process, "node", "/bin/app", "app");
	for (unsigned i = 1; i < 3; i++) {
		thread = thread_like(i, 300 * MS, 0);
		made_thread(1, thread, "app", NULL, 0);
		for (unsigned newer = 1; newer < 40; newer++) {
			thread.flags = PMC_THREAD_NO_RUSAGE;
			thread.time_ns += MS;
			thread.reset_ns = i > 1 ? 1100 * MS : 0;
			thread.minor_faults = thread.major_faults = thread.voluntary_switches =
				thread.involuntary_switches = 0;
			made_thread(1, thread, "app", NULL, 0);
		}
	}
	made_profile(&profile, false);
	text = table_of(&profile, (struct pmc_report_options){ .columns = "tid,vol,page-faults" });
	assert_non_null(strstr(text, "12038   10+          302+"));
	assert_non_null(strstr(text, "12039    -             -"));
	assert_non_null(strstr(text, "+: at least this much; some rows could not be counted"));
	text = table_of(&profile, (struct pmc_report_options){ .format = PMC_FORMAT_JSON });
	assert_non_null(strstr(text, "\"voluntary_switches\":10,"));
	assert_non_null(strstr(text, "\"partial\":[\"minor_faults\""));
	pmc_profile_free(&profile);
}

/* CPU time without a row: a raw clone's, or that of a child that was killed and waited for. */
static void cpu_time_without_a_row(void **state)
{
	static const struct {
		uint64_t own, children;
		const char *counted;
	} cases[] = {
		{ 400, 0, " · 1 of 1 thread counted" },
		{ 404, 3, " · 1 of 1 thread counted" },
		{ 600, 0, " · 1 thread counted, perhaps not all" },
		{ 400, 200, " · 1 thread counted, perhaps not all" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pmc_process_fixed process = process_like;
		struct pmc_profile profile;
		char *text;

		process.cpu_ns = cases[i].own * MS;
		process.children_cpu_ns = cases[i].children * MS;
		process.threads_seen = 1;
		made_begin();
		made_process(1, &process, "node", "/bin/app", "app");
		made_thread(1, thread_like(0, 400 * MS, 0), "app", NULL, 0);
		made_profile(&profile, false);
		text = table_of(&profile, (struct pmc_report_options){ 0 });
		assert_non_null(strstr(text, cases[i].counted));
		assert_int_equal(!strstr(text, " at least 1 thread in 1 process"), i < 2);
		pmc_profile_free(&profile);
	}
}

/* CPU time outside the rows says little about system calls, and more about instructions. */
static void totals_of_events(void **state)
{
	static const struct made_event events[] = {
		{ .name = "instructions", .config = PERF_COUNT_HW_INSTRUCTIONS },
		{ .name = "sys:write", .type = PERF_TYPE_TRACEPOINT, .config = 77 },
	};
	static const struct {
		uint64_t outside_us;
		bool counted;
		const char *total;
	} cases[] = {
		{ 0, false, " 500        300\n" },
		{ 60, false, " 500        300+\n" },
		{ 400, false, " 500+        300+\n" },
		{ 400, true, " 500        307\n" },
	};
	const struct made_value value = { 1, 1, 0, 2, { 500, 300 } };
	const struct made_value whole = { 1, 1, 0, 2, { 500, 307 } };

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pmc_process_fixed process = process_like;
		struct pmc_profile profile;
		uint64_t set;
		char *text;

		made_begin();
		set = made_set(events, 2);
		process.cpu_ns = 400 * MS + 1000 * cases[i].outside_us;
		made_process(1, &process, "node", "/bin/app", "app");
		made_thread(1, thread_like(0, 400 * MS, set), "app", &value, 1);
		if (cases[i].counted)
			made_total(1, PMC_TOTAL_THREADS, set, &whole, 1);
		made_profile(&profile, false);
		text = table_of(&profile, (struct pmc_report_options){
						  .columns = "cpu_ns,instructions,sys:write" });
		if (!strstr(text, cases[i].total))
			fail_msg("%u: no '%s' in %s", i, cases[i].total, text);
		pmc_profile_free(&profile);
	}
}

static void no_rows(void **state)
{
	struct pmc_profile profile;
	char *text;

	made_begin();
	made_process(1, &process_like, "node", "/bin/static", "static");
	made_profile(&profile, false);
	text = table_of(&profile, (struct pmc_report_options){ 0 });
	assert_non_null(strstr(text, " · no thread counted"));
	assert_null(strstr(text, " 0 threads"));
	pmc_profile_free(&profile);
}

/* An accounting column is replaced only by an event that counts both modes. */
static void modes(void **state)
{
	static const struct made_event events[] = {
		{ .name = "task-clock:u",
		  .type = PERF_TYPE_SOFTWARE,
		  .config = PERF_COUNT_SW_TASK_CLOCK,
		  .scope = PMC_SCOPE_USER,
		  .unit = "ns" },
		{ .name = "page-faults:u",
		  .type = PERF_TYPE_SOFTWARE,
		  .config = PERF_COUNT_SW_PAGE_FAULTS,
		  .scope = PMC_SCOPE_USER },
		{ .name = "page-faults:k",
		  .type = PERF_TYPE_SOFTWARE,
		  .config = PERF_COUNT_SW_PAGE_FAULTS,
		  .scope = PMC_SCOPE_KERNEL },
		{ .name = "page-faults",
		  .type = PERF_TYPE_SOFTWARE,
		  .config = PERF_COUNT_SW_PAGE_FAULTS },
	};
	const struct made_value values = { 1, 1, 0, 4, { 7, 11, 22, 33 } };
	static const char *const heads[] = {
		" cpu ",	   " task-clock:u ", " page-faults:u ",
		" page-faults:k ", " vol ",	     " page-faults\n"
	};
	struct pmc_profile profile;
	const char *at;
	uint64_t set;
	char *text;

	made_begin();
	set = made_set(events, 4);
	made_process(1, &process_like, "node", "/bin/app", "app");
	made_thread(1, thread_like(1, 1 * MS, set), "one", &values, 1);
	made_profile(&profile, false);
	text = table_of(&profile, (struct pmc_report_options){ .wide = true });
	at = text;
	for (unsigned i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		const char *next = strstr(at, heads[i]);

		if (!next)
			fail_msg("no '%s' in order: %s", heads[i], text);
		at = next;
	}
	pmc_profile_free(&profile);
}

static unsigned times_in(const char *text, const char *part)
{
	unsigned n = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		n++;
	}
	return n;
}

/* An event and the accounting that means the same are one column: the one with more values. */
static void one_column_for_both(void **state)
{
	static const struct made_event events[] = {
		{ .name = "page-faults",
		  .type = PERF_TYPE_SOFTWARE,
		  .config = PERF_COUNT_SW_PAGE_FAULTS },
		{ .name = "context-switches",
		  .type = PERF_TYPE_SOFTWARE,
		  .config = PERF_COUNT_SW_CONTEXT_SWITCHES },
	};
	const struct made_value values = { 1, 1, 0, 2, { 711, 722 } };
	struct pmc_thread_fixed second;
	struct pmc_profile profile;
	uint64_t set;
	char *text;

	for (int counted = 0; counted < 3; counted++) {
		made_begin();
		set = made_set(events, 2);
		made_process(1, &process_like, "node", "/bin/app", "app");
		made_thread(1, thread_like(1, 1 * MS, set), "one", &values, 1);
		second = thread_like(2, 1 * MS, set);
		if (!counted) {
			second.flags |= PMC_THREAD_ADOPTED;
			second.reason = PMC_REASON_ADOPTED;
		} else if (counted == 2) {
			second.flags |= PMC_THREAD_NO_RUSAGE;
		}
		made_thread(1, second, "two", &values, counted ? 1 : 0);
		made_profile(&profile, false);
		text = table_of(&profile, (struct pmc_report_options){ .wide = true });
		assert_int_equal(times_in(text, " page-faults"), 1);
		assert_int_equal(times_in(text, " context-switches"), counted ? 1 : 0);
		assert_int_equal(times_in(text, " vol "), counted ? 0 : 1);
		assert_int_equal(times_in(text, " 711"), counted ? 2 : 0);
		pmc_profile_free(&profile);
	}
}

/* Text that a spreadsheet would take as a formula. */
static void formulas_are_guarded(void **state)
{
	static const char *const names[][2] = {
		{ "=1+1", "\n'=1+1," },	  { "+a", "\n'+a," },
		{ "-bash", "\n'-bash," }, { "@x,y", "\n\"'@x,y\"," },
		{ "-1.5", "\n-1.5," },	  { "-", "\n'-," },
		{ "a=b", "\na=b," },	  { "=\xc3\xa9", "\n'=\xc3\xa9," },
	};
	const unsigned n = sizeof(names) / sizeof(names[0]);
	struct pmc_profile profile;
	char *text;

	made_begin();
	made_process(1, &process_like, "node", "/bin/app", "app");
	for (unsigned i = 0; i < n; i++)
		made_thread(1, thread_like(1 + i, MS, 0), names[i][0], NULL, 0);
	made_profile(&profile, false);
	text = table_of(&profile,
			(struct pmc_report_options){ .format = PMC_FORMAT_CSV, .by = PMC_BY_NAME });
	for (unsigned i = 0; i < n; i++)
		if (!strstr(text, names[i][1]))
			fail_msg("no '%s' in %s", names[i][1] + 1, text);
	pmc_profile_free(&profile);
}

/* Sums of forged numbers stop at the largest number. */
static void sums_do_not_wrap(void **state)
{
	struct pmc_process_fixed process = process_like;
	struct pmc_thread_fixed thread = thread_like(0, UINT64_MAX / 2 + 9, 0);
	struct pmc_profile profile;
	char *text;

	process.threads_seen = process.overhead_ns = UINT64_MAX / 2 + 9;
	thread.minor_faults = thread.voluntary_switches = UINT64_MAX / 2 + 9;
	made_begin();
	for (unsigned id = 1; id <= 2; id++) {
		made_process(id, &process, "node", "/bin/app", "app");
		made_thread(id, thread, "one", NULL, 0);
	}
	made_profile(&profile, false);
	text = table_of(&profile, (struct pmc_report_options){ .wide = true });
	assert_non_null(strstr(text, "18,446,744,073,709,551,615 threads"));
	text = table_of(&profile,
			(struct pmc_report_options){ .format = PMC_FORMAT_CSV, .by = PMC_BY_HOST });
	assert_non_null(strstr(text, ",18446744073709551615,0,18446744073709551615,"));
	pmc_profile_free(&profile);
}

/* A rate above what is printed, of a forged dump. */
static void rates_stay_numbers(void **state)
{
	struct pmc_process_fixed process = process_like;
	struct pmc_thread_fixed thread = thread_like(0, 1, 0);
	struct pmc_profile profile;
	char *text;

	thread.voluntary_switches = thread.involuntary_switches = INT64_MAX;
	made_begin();
	made_process(1, &process, "node", "/bin/app", "app");
	made_thread(1, thread, "one", NULL, 0);
	made_profile(&profile, false);
	text = table_of(&profile, (struct pmc_report_options){ .format = PMC_FORMAT_JSON });
	if (!strstr(text, "\"switches_per_s\":null"))
		fail_msg("%s", text);
	text = table_of(&profile, (struct pmc_report_options){ .format = PMC_FORMAT_CSV });
	assert_null(strstr(text, ",-"));
	pmc_profile_free(&profile);
}

/* The images of a process that calls exec, between those of another one and in any place of the
 * dump: they are one process. A forked child has its parent's program, and PIDs are used again. */
static void images_of_a_process(void **state)
{
	static const struct {
		uint32_t pid;
		uint8_t how, flags;
		uint64_t namespace;
		const char *host, *exe;
	} images[] = {
		{ 7, PMC_ENDED_EXEC, PMC_PROCESS_FIRST, 1, "node", "/bin/sh" },
		{ 8, PMC_ENDED_EXEC, PMC_PROCESS_FORKED, 1, "node", "/bin/sh" },
		{ 7, PMC_ENDED_EXEC, PMC_PROCESS_FIRST, 1, "node", "/bin/env" },
		{ 7, PMC_ENDED_EXEC, 0, 2, "node", "/bin/sh" },
		{ 8, PMC_ENDED_EXIT, 0, 1, "node", "/bin/true" },
		{ 7, PMC_ENDED_EXIT, PMC_PROCESS_FIRST, 1, "node", "/bin/app" },
		{ 8, PMC_ENDED_EXIT, 0, 1, "node", "/bin/after" },
		{ 7, PMC_ENDED_EXIT, PMC_PROCESS_FORKED, 2, "node", "/bin/sh" },
		{ 7, PMC_ENDED_EXIT, 0, 1, "other", "/bin/app" },
	};
	enum { IMAGES = sizeof(images) / sizeof(images[0]) };
	static const char *const where[] = { "pid=7" };
	struct pmc_report_options options = { .format = PMC_FORMAT_TABLE };
	struct pmc_profile profile;
	char *text;

	for (unsigned round = 0; round < 2; round++) {
		made_begin();
		for (unsigned n = 0; n < IMAGES; n++) {
			const unsigned i = round ? IMAGES - 1 - n : n;
			struct pmc_process_fixed fixed = process_like;

			fixed.pid = images[i].pid;
			fixed.start_ns += i;
			fixed.flags = images[i].flags;
			fixed.how_ended = images[i].how;
			fixed.pid_namespace = images[i].namespace;
			fixed.off_ns = i < 3 ? MS : 0;
			made_process(i + 1, &fixed, images[i].host, images[i].exe, "");
			made_thread(i + 1, thread_like(0, 10 * MS, 0), "app", NULL, 0);
		}
		made_profile(&profile, false);
		options.n_where = 0;
		text = table_of(&profile, options);
		assert_non_null(strstr(text, " threads in 6 processes"));
		assert_non_null(strstr(text, " up to 1.00 ms not counted"));
		options.where = where;
		options.n_where = 1;
		text = table_of(&profile, options);
		assert_non_null(strstr(text, " threads in 4 processes"));
		pmc_profile_free(&profile);
	}
}

/* Rows of a child that was killed are newer than its own frame: their time is not that of others.
 */
static void rows_of_a_killed_child(void **state)
{
	struct pmc_process_fixed process = process_like, child = process_like;
	struct pmc_profile profile;
	char *text;

	made_begin();
	process.children_cpu_ns = 310 * MS;
	child.pid++;
	child.ppid = process.pid;
	child.flags = PMC_PROCESS_FORKED;
	child.how_ended = PMC_RUNNING;
	child.cpu_ns = 5 * MS;
	child.time_ns = 1100 * MS;
	made_process(1, &process, "node", "/bin/app", "app");
	made_process(2, &child, "node", "/bin/app", "app");
	made_thread(1, thread_like(0, 400 * MS, 0), "app", NULL, 0);
	made_thread(2, thread_like(0, 300 * MS, 0), "app", NULL, 0);
	made_profile(&profile, false);
	text = table_of(&profile, (struct pmc_report_options){ .format = PMC_FORMAT_JSON });
	assert_non_null(strstr(text, "\"descendants_cpu_ns\":10000000,"));
	pmc_profile_free(&profile);
}

/* Process 1 ends before its child 2, whose end follows in another frame. */
static void a_child_outlasts_its_parent(void **state)
{
	struct pmc_process_fixed process = process_like, child = process_like;
	struct pmc_profile profile;
	char *text;

	process.flags |= PMC_PROCESS_LEFT;
	process.cpu_ns = 400 * MS;
	child.cpu_ns = 0;
	child.pid++;
	child.flags = PMC_PROCESS_FORKED;
	for (unsigned ended = 0; ended < 2; ended++) {
		child.how_ended = ended ? PMC_ENDED_EXIT : PMC_ENDED_EXEC;
		child.ppid = ended ? 1 : process.pid;
		child.end_ns = child.time_ns = process.end_ns + (ended ? 1 : -1) * 10 * (int)MS;
		made_begin();
		made_process(1, &process, "node", "/bin/app", "app");
		made_process(2, &child, "node", "/bin/app", "app");
		made_thread(1, thread_like(0, 400 * MS, 0), "app", NULL, 0);
		made_profile(&profile, false);
		text = table_of(&profile, (struct pmc_report_options){ 0 });
		assert_int_equal(!strstr(text, "coverage unknown"), ended);
		assert_int_equal(!strstr(text, "at least 1 thread in 2 processes"), ended);
		pmc_profile_free(&profile);
	}
}

/* Whether coverage is unknown where process 1 ended while a child ran, and process 2 so much later.
 */
static bool is_unknown(uint32_t ppid, int64_t later_ns, uint8_t flags)
{
	struct pmc_process_fixed process = process_like, other = process_like;
	struct pmc_profile profile;
	const char *text;

	process.flags |= PMC_PROCESS_LEFT;
	other.pid++;
	other.ppid = ppid;
	other.flags = flags;
	other.end_ns = other.time_ns = process.end_ns + (uint64_t)later_ns;
	made_begin();
	made_process(1, &process, "node", "/bin/app", "app");
	made_process(2, &other, "node", "/bin/app", "app");
	made_thread(1, thread_like(0, 400 * MS, 0), "app", NULL, 0);
	made_profile(&profile, false);
	text = table_of(&profile, (struct pmc_report_options){ 0 });
	pmc_profile_free(&profile);
	return strstr(text, "coverage unknown");
}

static void children_that_a_process_leaves(void **state)
{
	const int64_t ms = MS;

	/* An earlier child, not the one that runs. */
	assert_true(is_unknown(process_like.pid, -ms / 5, PMC_PROCESS_FORKED));
	/* A process whose parent is not measured. */
	assert_true(is_unknown(77, -ms, PMC_PROCESS_FORKED));
	assert_false(is_unknown(77, ms, PMC_PROCESS_FORKED));
	assert_true(is_unknown(77, ms, PMC_PROCESS_FIRST));
}

/* A child was killed before its first row: only the frame from its start is there. */
static void a_child_without_a_row(void **state)
{
	struct pmc_process_fixed child = process_like;
	struct pmc_profile profile;
	char *text;

	child.pid++;
	child.flags = PMC_PROCESS_FORKED;
	child.how_ended = PMC_RUNNING;
	child.end_ns = 0;
	child.threads_seen = 1;
	made_begin();
	made_process(1, &process_like, "node", "/bin/app", "app");
	made_process(2, &child, "node", "/bin/app", "app");
	made_thread(1, thread_like(0, 400 * MS, 0), "app", NULL, 0);
	made_profile(&profile, false);
	text = table_of(&profile, (struct pmc_report_options){ 0 });
	assert_non_null(strstr(text, "1 of at least 2 threads counted"));
	pmc_profile_free(&profile);
}

/* Task-clock is in the place of the CPU time, and counted less. */
static void cpu_time_outside_the_clock(void **state)
{
	static const struct made_event event = { .name = "task-clock",
						 .type = PERF_TYPE_SOFTWARE,
						 .config = PERF_COUNT_SW_TASK_CLOCK };
	struct pmc_process_fixed process = process_like;
	struct pmc_profile profile;
	char *text;

	process.cpu_ns = 400 * MS;
	for (unsigned outside = 0; outside < 2; outside++) {
		const uint64_t ns = (outside ? 300 : 399) * MS;
		const struct made_value value = { ns, ns, 0, 1, { ns } };

		made_begin();
		made_process(1, &process, "node", "/bin/app", "app");
		made_thread(1, thread_like(0, 400 * MS, made_set(&event, 1)), "app", &value, 1);
		made_profile(&profile, false);
		text = table_of(&profile, (struct pmc_report_options){ 0 });
		assert_int_equal(strstr(text, " 0.10 s CPU is not in task-clock") != NULL, outside);
		pmc_profile_free(&profile);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_a_killed_child),
		cmocka_unit_test(rates_stay_numbers),
		cmocka_unit_test(a_child_without_a_row),
		cmocka_unit_test(cpu_time_outside_the_clock),
		cmocka_unit_test(almost_all),
		cmocka_unit_test(lost_rows),
		cmocka_unit_test(an_end_that_is_not_there),
		cmocka_unit_test(cpu_time_of_a_killed_process),
		cmocka_unit_test(cpu_time_without_a_row),
		cmocka_unit_test(usage_of_an_older_row),
		cmocka_unit_test(no_rows),
		cmocka_unit_test(totals_of_events),
		cmocka_unit_test(a_child_outlasts_its_parent),
		cmocka_unit_test(children_that_a_process_leaves),
		cmocka_unit_test(modes),
		cmocka_unit_test(formulas_are_guarded),
		cmocka_unit_test(sums_do_not_wrap),
		cmocka_unit_test(images_of_a_process),
		cmocka_unit_test(one_column_for_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
