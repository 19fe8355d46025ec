/* SPDX-License-Identifier: MIT */
/* test_report_json.c - JSON, CSV, timeline and selection of rows, parsed and compared by field. */
#include "tests/unit/golden.h"
#include "tests/unit/report_profile.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>

static const struct made_event events[] = {
	{ "instructions", 0, 1, 0, 0, 0, NULL, NULL, PMC_SCOPE_USER, PMC_EVENT_FELL_BACK, 0 },
	{ "cycles", 0, 0, 0, 0, 0, NULL, NULL, PMC_SCOPE_USER, PMC_EVENT_FELL_BACK, 0 },
	{ "cycles", 0, 0, 1, 0, 0, NULL, "cpu_atom", 0, 0, 0 },
	{ "energy-pkg", 9, 2, 1, 0, 0, "Joules", NULL, 0, 0, 0.25 },
	{ "mem-loads", 4, 1, PMC_NO_GROUP, PMC_NOT_SUPPORTED, ENOENT, NULL, NULL, 0, 0, 0 },
};

static struct pmc_profile profile;
static uint64_t set;

static struct pmc_thread_fixed thread_like(uint64_t seq, uint64_t cpu_ns)
{
	return (struct pmc_thread_fixed){
		.seq = seq,
		.tid = (uint32_t)(100 + seq),
		.state = PMC_THREAD_EXITED,
		.flags = seq ? 0 : PMC_THREAD_MAIN,
		.start_ns = 1000,
		.end_ns = 9000,
		.time_ns = 9000,
		.cpu_ns = cpu_ns,
		.minor_faults = 5,
		.major_faults = 1,
		.voluntary_switches = 2,
		.involuntary_switches = 3,
		.created_by = seq ? 0 : PMC_NO_SEQ,
		.eventset = set,
	};
}

static int setup(void **state)
{
	struct pmc_process_fixed process = { .pid = 100,
					     .ppid = 1,
					     .start_ns = 900,
					     .end_ns = 9500,
					     .time_ns = 9500,
					     .cpu_ns = 7000,
					     .threads_seen = 3,
					     .threads_counted = 2,
					     .how_ended = PMC_ENDED_SIGNAL,
					     .how_code = 11,
					     .inherit_mode = PMC_INHERIT_CLOCK,
					     .flags = PMC_PROCESS_FIRST,
					     .rank = -1,
					     .overhead_ns = 10 };
	struct made_value values[2] = { { 8000, 8000, 0, 2, { 3000, 1500 } },
					{ 8000, 2000, 0, 2, { 100, 40 } } };
	struct pmc_thread_fixed fixed;
	uint64_t site;

	made_begin();
	set = made_set(events, 5);
	site = made_site("/opt/lib/libjob.so.2", "", 0x1f40);
	process.eventset = set;
	made_process(1, &process, "alpha", "/opt/job", "job --now");
	made_thread(1, thread_like(0, 2000), "job", values, 2);
	fixed = thread_like(1, 4000);
	fixed.start_site = site;
	/* Before its first turn, which is its start. */
	fixed.flags = PMC_THREAD_DELAY;
	fixed.delay_ns = 90000000;
	values[0].values[0] = 500;
	made_thread(1, fixed, "say \"hi\", \n", values, 2);
	fixed = thread_like(2, 700);
	fixed.flags = PMC_THREAD_ADOPTED | PMC_THREAD_NO_RUSAGE;
	fixed.end_ns = 0;
	fixed.state = PMC_THREAD_LIVE;
	fixed.reason = PMC_REASON_ADOPTED;
	fixed.eventset = 0;
	made_thread(1, fixed, "late", NULL, 0);
	process = (struct pmc_process_fixed){ .pid = 101,
					      .ppid = 100,
					      .start_ns = 2000,
					      .time_ns = 3000,
					      .cpu_ns = 50,
					      .rank = 4,
					      .threads_seen = 1 };
	made_process(2, &process, "beta", "/opt/job", "job --then");
	fixed = thread_like(0, 50);
	fixed.flags |= PMC_THREAD_NO_CPU;
	fixed.eventset = 0;
	made_thread(2, fixed, "job", NULL, 0);
	made_note(1, 4, 3, "a note");
	made_profile(&profile, false);
	profile.damaged_frames = 6;
	return 0;
}

static int teardown(void **state)
{
	pmc_profile_free(&profile);
	return 0;
}

static char *text_of(struct pmc_report_options options)
{
	char *text;
	int result;

	options.top = options.top ? options.top : -1;
	text = made_report(&profile, &options, &result, NULL);
	assert_int_equal(result, 0);
	return text;
}

static json_t *json_of(struct pmc_report_options options)
{
	json_error_t error;
	json_t *root;
	char *text;

	options.format = PMC_FORMAT_JSON;
	text = text_of(options);
	root = json_loads(text, 0, &error);
	if (!root)
		fail_msg("%s at %d: %s", error.text, error.position, text);
	return root;
}

/* A value by path: "threads.0.events.1.value". */
static json_t *at(json_t *node, const char *path)
{
	char copy[128], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *part = strtok_r(copy, ".", &save); part; part = strtok_r(NULL, ".", &save)) {
		node = json_is_array(node) ? json_array_get(node, (size_t)atoi(part)) :
					     json_object_get(node, part);
		if (!node)
			fail_msg("there is no %s in %s", part, path);
	}
	return node;
}

static void is_number(json_t *root, const char *path, long long want)
{
	json_t *node = at(root, path);

	if (!json_is_integer(node) || json_integer_value(node) != want)
		fail_msg("%s is %s, not %lld", path, json_dumps(node, JSON_ENCODE_ANY), want);
}

static void is_real(json_t *root, const char *path, double want)
{
	json_t *node = at(root, path);

	if (!json_is_number(node) || fabs(json_number_value(node) - want) > 1e-6)
		fail_msg("%s is %s, not %g", path, json_dumps(node, JSON_ENCODE_ANY), want);
}

static void is_text(json_t *root, const char *path, const char *want)
{
	const char *text = json_string_value(at(root, path));

	assert_non_null(text);
	assert_string_equal(text, want);
}

static void is_null(json_t *root, const char *path)
{
	if (!json_is_null(at(root, path)))
		fail_msg("%s is not null", path);
}

static void processes(void **state)
{
	json_t *root = json_of((struct pmc_report_options){ 0 });

	is_number(root, "pmc", 1);
	is_number(root, "damaged_frames", 6);
	assert_int_equal(json_array_size(at(root, "processes")), 2);
	is_text(root, "processes.0.host", "alpha");
	is_number(root, "processes.0.pid", 100);
	is_text(root, "processes.0.exe", "/opt/job");
	is_text(root, "processes.0.cmdline", "job --now");
	is_number(root, "processes.0.start_ns", 900);
	is_number(root, "processes.0.end_ns", 9500);
	is_text(root, "processes.0.how_ended", "signal:11");
	is_null(root, "processes.0.rank");
	is_number(root, "processes.0.coverage.threads_seen", 3);
	is_number(root, "processes.0.coverage.threads_counted", 2);
	is_number(root, "processes.0.coverage.threads_uncounted.0.count", 1);
	is_text(root, "processes.0.coverage.threads_uncounted.0.reason", "its start was not seen");
	is_number(root, "processes.0.coverage.cpu_ns", 7000);
	is_number(root, "processes.0.coverage.attributed_cpu_ns", 6700);
	is_text(root, "processes.0.inherit_mode", "clock");
	is_text(root, "processes.0.notes.0.text", "a note");
	is_number(root, "processes.0.notes.0.count", 3);
	is_text(root, "processes.1.how_ended", "running");
	is_null(root, "processes.1.end_ns");
	is_number(root, "processes.1.rank", 4);
	assert_int_equal(json_array_size(at(root, "groups")), 0);
	json_decref(root);
}

static void threads(void **state)
{
	json_t *root = json_of((struct pmc_report_options){ 0 });

	assert_int_equal(json_array_size(at(root, "threads")), 4);
	is_text(root, "threads.0.name", "job");
	is_null(root, "threads.0.created_by");
	is_text(root, "threads.0.state", "exited");
	is_number(root, "threads.0.cpu_ns", 2000);
	is_number(root, "threads.0.involuntary_switches", 3);
	is_text(root, "threads.0.events.0.name", "instructions");
	is_number(root, "threads.0.events.0.value", 3000);
	is_text(root, "threads.0.events.0.scope", "user");
	is_text(root, "threads.0.events.0.state", "counted");
	is_number(root, "threads.0.events.2.value", 100); /* ran on one type of core */
	is_number(root, "threads.0.events.2.raw", 100);
	is_number(root, "threads.0.events.2.enabled_ns", 2000);
	is_number(root, "threads.0.events.2.running_ns", 2000);
	is_text(root, "threads.0.events.2.state", "counted");
	is_text(root, "threads.0.events.2.core_type", "cpu_atom");
	is_real(root, "threads.0.events.3.value", 40); /* 40 * 8000 / 2000 * 0.25 */
	is_text(root, "threads.0.events.3.unit", "Joules");
	is_null(root, "threads.0.events.4.value");
	is_text(root, "threads.0.events.4.state", "not-supported");
	is_real(root, "threads.0.metrics.ipc", 2);
	is_text(root, "threads.1.name", "say \"hi\", \n");
	is_text(root, "threads.1.start_routine", "libjob.so.2+0x1f40");
	is_number(root, "threads.1.created_by", 0);
	is_number(root, "threads.1.run_delay_ns", 90000000);
	is_null(root, "threads.2.run_delay_ns");
	/* adopted: CPU time only; no event is counted */
	is_number(root, "threads.2.cpu_ns", 700);
	is_null(root, "threads.2.minor_faults");
	is_null(root, "threads.2.end_ns");
	is_text(root, "threads.2.state", "live");
	assert_int_equal(json_array_size(at(root, "threads.2.events")), 5);
	is_text(root, "threads.2.events.0.state", "not-counted");
	is_null(root, "threads.2.events.0.value");
	is_null(root, "threads.2.metrics.ipc");
	is_null(root, "threads.3.cpu_ns");
	json_decref(root);
}

static void groups(void **state)
{
	json_t *root = json_of((struct pmc_report_options){ .by = PMC_BY_EXE });

	assert_int_equal(json_array_size(at(root, "groups")), 1);
	is_text(root, "groups.0.key", "/opt/job");
	is_number(root, "groups.0.threads", 4);
	is_number(root, "groups.0.cpu_ns", 6700);
	is_text(root, "groups.0.events.0.name", "instructions");
	is_text(root, "groups.0.events.0.state", "partial");
	is_number(root, "groups.0.events.0.sum", 3500);
	is_real(root, "groups.0.events.0.mean", 1750);
	is_real(root, "groups.0.events.0.stddev", 1250);
	is_number(root, "groups.0.events.0.counted_rows", 2);
	is_number(root, "groups.0.events.0.rows", 4);
	is_null(root, "groups.0.events.4.sum");
	is_text(root, "groups.0.events.4.state", "not-supported");
	json_decref(root);
	root = json_of((struct pmc_report_options){ .by = PMC_BY_HOST, .sort = "host" });
	is_text(root, "groups.0.key", "alpha");
	is_text(root, "groups.1.key", "beta");
	is_null(root, "groups.1.cpu_ns");
	json_decref(root);
	root = json_of((struct pmc_report_options){ .by = PMC_BY_RANK, .sort = "threads" });
	is_text(root, "groups.0.key", "(none)");
	is_text(root, "groups.1.key", "4");
	json_decref(root);
}

static void csv(void **state)
{
	char *text = text_of((struct pmc_report_options){ .format = PMC_FORMAT_CSV });
	const char *line = text, *head_end = strchr(text, '\n');
	unsigned commas = 0, lines = 0;

	assert_int_equal(strncmp(text,
				 "host,exe,pid,rank,tid,seq,name,main,start_routine,created_by,"
				 "state,start_ns,end_ns,cpu_ns,run_delay_ns,minor_faults,",
				 115),
			 0);
	assert_non_null(strstr(text, ",instructions,instructions.raw,instructions.enabled_ns,"
				     "instructions.running_ns,instructions.state,"
				     "instructions.scope,cycles,"));
	assert_non_null(strstr(text, ",cycles@cpu_atom,"));
	assert_non_null(strstr(text, ",ipc,ipc.state,"));
	for (const char *p = text; p < head_end; p++)
		commas += *p == ',';
	for (; *line; line = strchr(line, '\n') + 1, lines++) {
		unsigned n = 0;
		bool quoted = false;

		for (const char *p = line; *p != '\n'; p++) {
			quoted ^= *p == '"';
			n += *p == ',' && !quoted;
		}
		assert_int_equal(n, commas);
	}
	assert_int_equal(lines, 5);
	assert_non_null(strstr(text, ",\"say \"\"hi\"\", \\x0a\",false,libjob.so.2+0x1f40,0,"));
	/* null is an empty field: faults and switches of the adopted thread, then its counts */
	assert_non_null(strstr(text, ",live,1000,,700,,,,,,,,,,not-counted,user,"));
	text = text_of((struct pmc_report_options){ .format = PMC_FORMAT_CSV, .by = PMC_BY_EXE });
	assert_int_equal(strncmp(text,
				 "key,threads,cpu_ns,cpu_ns.min,cpu_ns.mean,cpu_ns.max,"
				 "cpu_ns.stddev,",
				 67),
			 0);
	assert_non_null(strstr(text, ",instructions.sum,instructions.min,"));
	assert_non_null(strstr(text, "\n/opt/job,4,6700,700,"));
	assert_non_null(strstr(text, ",3500,500,1750.000000,3000,1250.000000,partial,user,"));
}

/* Groups of single threads are made when they are printed. With another key they are folded. */
static void groups_of_threads(void **state)
{
	static const char of_groups[] = "cpu_ns,cpu_ns.stddev,minor_faults,cycles.sum,cycles.min,"
					"cycles.mean,cycles.max,cycles.stddev,cycles.state,"
					"instructions.state,cpu_pct";
	static const struct pmc_report_options cases[] = {
		{ .format = PMC_FORMAT_CSV, .columns = of_groups },
		{ .format = PMC_FORMAT_CSV, .columns = of_groups, .sort = "cycles.max" },
		{ .format = PMC_FORMAT_CSV, .columns = of_groups, .sort = "threads", .top = 2 },
		{ .format = PMC_FORMAT_JSON, .columns = "cpu_ns,minor_faults,cpu_pct" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pmc_report_options options = cases[i];
		const char *start = options.format == PMC_FORMAT_JSON ? "\"groups\":" : "cpu_ns";
		const char *groups, *folded;

		options.by = PMC_BY_THREAD;
		groups = strstr(text_of(options), start);
		options.outer[0] = PMC_BY_THREAD;
		options.by = PMC_BY_HOST;
		folded = strstr(text_of(options), start);
		assert_string_equal(groups, folded);
	}
}

static void choice(void **state)
{
	const char *const by_name[] = { "name=job" }, *const two[] = { "host=al*", "cpu_ns=?000" };
	const char *const main_only[] = { "name=(main)" }, *const state_is[] = { "state=live" };
	const char *const value[] = { "instructions=500" };
	json_t *root;

	root = json_of((struct pmc_report_options){ .where = by_name, .n_where = 1 });
	assert_int_equal(json_array_size(at(root, "threads")), 2);
	json_decref(root);
	root = json_of((struct pmc_report_options){ .where = two, .n_where = 2, .sort = "cpu" });
	assert_int_equal(json_array_size(at(root, "threads")), 2);
	is_number(root, "threads.0.cpu_ns", 4000);
	is_number(root, "threads.1.cpu_ns", 2000);
	json_decref(root);
	root = json_of((struct pmc_report_options){ .where = main_only, .n_where = 1 });
	assert_int_equal(json_array_size(at(root, "threads")), 1);
	json_decref(root);
	root = json_of((struct pmc_report_options){ .where = state_is, .n_where = 1 });
	assert_int_equal(json_array_size(at(root, "threads")), 1);
	json_decref(root);
	root = json_of((struct pmc_report_options){ .where = value, .n_where = 1 });
	is_number(root, "threads.0.tid", 101);
	json_decref(root);
	root = json_of((struct pmc_report_options){ .sort = "name" });
	is_text(root, "threads.0.name", "job");
	is_text(root, "threads.2.name", "late");
	json_decref(root);
	root = json_of((struct pmc_report_options){ .sort = "ipc", .top = 2 });
	assert_int_equal(json_array_size(at(root, "threads")), 2);
	is_real(root, "threads.0.metrics.ipc", 2);
	is_real(root, "threads.1.metrics.ipc", 1.0 / 3);
	json_decref(root);
	/* null sorts last in either direction */
	root = json_of((struct pmc_report_options){ .sort = "cpu_ns" });
	is_null(root, "threads.3.cpu_ns");
	json_decref(root);
}

static void unknown(void **state)
{
	static const char *const where[] = { "hots=x" }, *const no_equals[] = { "host" };
	static const struct {
		struct pmc_report_options options;
		const char *want;
	} table[] = {
		{ { .sort = "cycels" }, "'cycles'" },
		{ { .sort = "zzzzzzzz" }, "zzzzzzzz" },
		{ { .sort = "pid", .by = PMC_BY_NAME }, "'pid'" },
		{ { .where = where, .n_where = 1 }, "'host'" },
		{ { .where = no_equals, .n_where = 1 }, "COLUMN=GLOB" },
	};

	for (unsigned format = PMC_FORMAT_TABLE; format <= PMC_FORMAT_CSV; format++) {
		for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
			struct pmc_report_options options = table[i].options;
			const char *problem = NULL;
			int result;

			options.top = -1;
			options.format = (enum pmc_report_format)format;
			made_report(&profile, &options, &result, &problem);
			assert_int_equal(result, -EINVAL);
			assert_non_null(problem);
			assert_non_null(strstr(problem, table[i].want));
		}
	}
}

static void timeline(void **state)
{
	static const struct made_event two[] = {
		{ "task-clock", 1, 1, 0, 0, 0, "ns", NULL, 0, 0, 0 },
		{ "cycles", 0, 0, 1, 0, 0, NULL, NULL, 0, 0, 0 },
	};
	static const uint64_t running[] = { 10, 10, 30 };
	struct pmc_process_fixed process = {
		.pid = 7, .start_ns = 500, .time_ns = 2000, .rank = -1
	};
	struct pmc_report_options options = { .timeline = true, .top = -1 };
	char *text, *line, *save = NULL;
	struct pmc_profile steps;
	uint64_t sum = 0, cpu = 0;
	unsigned n = 0;
	int result;

	made_begin();
	set = made_set(two, 2);
	process.eventset = set;
	made_process(1, &process, "h", "/bin/x", "x");
	for (unsigned i = 0; i < 3; i++) {
		struct made_value values[2] = {
			{ 100 * (i + 1), 100 * (i + 1), 0, 1, { 90 * (i + 1) * (i + 1) } },
			{ 100 * (i + 1), running[i], 0, 1, { running[i] * 7 } },
		};
		struct pmc_thread_fixed fixed = thread_like(1, 100 * (i + 1));

		fixed.time_ns = 1000 + 100 * (i + 1);
		fixed.end_ns = i == 2 ? fixed.time_ns : 0;
		made_thread(1, fixed, "w", values, 2);
	}
	made_profile(&steps, true);
	options.format = PMC_FORMAT_JSON;
	text = made_report(&steps, &options, &result, NULL);
	assert_int_equal(result, 0);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save), n++) {
		json_t *root = json_loads(line, 0, NULL);

		assert_non_null(root);
		is_number(root, "tid", 101);
		is_number(root, "seq", 1);
		is_number(root, "t_ns", 1100 + 100 * n);
		is_number(root, "dt_ns", 100);
		sum += (uint64_t)json_integer_value(at(root, "events.0.value"));
		cpu += (uint64_t)json_integer_value(at(root, "cpu_ns"));
		/* in the second interval the event was never scheduled */
		if (n == 1)
			is_null(root, "events.1.value");
		else
			is_text(root, "events.1.state", "scaled");
		json_decref(root);
	}
	assert_int_equal(n, 3);
	assert_int_equal(sum, 90 * 9);
	assert_int_equal(cpu, 300);
	for (options.format = PMC_FORMAT_TABLE; options.format <= PMC_FORMAT_CSV;
	     options.format += PMC_FORMAT_CSV) {
		text = made_report(&steps, &options, &result, NULL);
		assert_int_equal(result, 0);
		if (options.format == PMC_FORMAT_CSV)
			assert_non_null(strstr(text, ",t_ns,dt_ns,"));
		else
			assert_golden(text, "report-timeline");
	}
	pmc_profile_free(&steps);
}

static void write_errors(void **state)
{
	struct pmc_report_options options = { .top = -1 };
	const char *problem;
	struct pmc_out out;
	char room[64];

	for (options.format = PMC_FORMAT_TABLE; options.format <= PMC_FORMAT_CSV;
	     options.format++) {
		pmc_out_to_fd(&out, 1000000, room, sizeof(room));
		assert_int_equal(pmc_report(&profile, &options, &out, &problem), -EBADF);
	}
}

/* One of the threads has no CPU time. */
static void cpu_of_some_threads(void **state)
{
	const char *line = strstr(text_of((struct pmc_report_options){
					  .by = PMC_BY_POOL, .format = PMC_FORMAT_TABLE }),
				  "\n  total ");

	assert_non_null(line);
	assert_memory_equal(line + strspn(line, "\n total0123456789"), ".000+", 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(processes, setup, teardown),
		cmocka_unit_test_setup_teardown(threads, setup, teardown),
		cmocka_unit_test_setup_teardown(groups, setup, teardown),
		cmocka_unit_test_setup_teardown(csv, setup, teardown),
		cmocka_unit_test_setup_teardown(groups_of_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(choice, setup, teardown),
		cmocka_unit_test_setup_teardown(unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(cpu_of_some_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(write_errors, setup, teardown),
		cmocka_unit_test(timeline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
