/* SPDX-License-Identifier: MIT */
/* test_report_samples.c - samples by function, line, module and path, as table, CSV and JSON. */
#include "tests/unit/samples_report.h"

#include <errno.h>
#include <jansson.h>

static void functions_as_csv(void **state)
{
	char *text = report(
		(struct pmc_report_options){ .by = PMC_BY_FUNCTION, .format = PMC_FORMAT_CSV });

	has(text,
	    "key,threads,samples,self,self_pct,total_samples,total,total_pct,function,module\n");
	/* A recursion is in the total once. */
	has(text, "lib.so+0x3000,1,45,45000000,37.500000,45,45000000,37.500000,lib.so+0x3000,"
		  "/opt/none/lib.so\n");
	has(text, "app+0x2000,2,35,35000000,29.166667,75,75000000,62.500000,app+0x2000,");
	has(text, "app+0x1000,2,5,5000000,4.166667,111,111000000,92.500000,app+0x1000,");
	has(text, "[unknown],1,6,6000000,5.000000,6,6000000,5.000000,[unknown],\n");
	has(text, "(no stack),1,4,4000000,3.333333,4,4000000,3.333333,(no stack),\n");
	/* The heaviest first. */
	assert_true(strstr(text, "lib.so+0x3000,") < strstr(text, "app+0x2000,"));
}

static void modules(void **state)
{
	static const char *const where[] = { "key=lib.so" };
	const struct pmc_report_options csv = { .by = PMC_BY_MODULE, .format = PMC_FORMAT_CSV };
	struct pmc_report_options options = csv;
	char *text = report(csv);

	has(text, "key,threads,samples,self,self_pct,total_samples,total,total_pct,module\n");
	has(text, "/opt/none/lib.so,1,70,70000000,58.333333,70,70000000,58.333333,"
		  "/opt/none/lib.so\n");
	has(text, "/opt/none/app,2,40,40000000,33.333333,111,111000000,92.500000,/opt/none/app\n");
	has(text, "\n[unknown],1,6,6000000,5.000000,6,6000000,5.000000,\n");
	has(text, "\n(no stack),1,4,");
	options.top = 1;
	options.where = where;
	options.n_where = 1;
	text = report(options);
	has(text, "\n/opt/none/lib.so,1,70,");
	assert_null(strstr(text, "/opt/none/app"));
	options.format = PMC_FORMAT_TABLE;
	text = report(options);
	has(text, "  module ");
	has(text, "\n  lib.so ");
	has(text, "module");
	assert_null(strstr(text, "function"));
}

/* The agent's own functions say nothing about the program. */
static void samples_in_the_agent(void **state)
{
	static const enum pmc_fold_by keys[] = { PMC_BY_FUNCTION, PMC_BY_MODULE, PMC_BY_PATH };

	lib_path = "/opt/none/libpmcagent.so";
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char *text = report((struct pmc_report_options){
			.by = keys[i],
			.format = PMC_FORMAT_CSV,
			.columns = "key,samples,total_samples",
		});

		has(text, "\n(agent),70,70\n");
		has_not(text, "libpmcagent");
	}
	lib_path = "/opt/none/lib.so";
}

/* A clock counts kernel mode, too; other events are counted where samples are taken. */
static void what_is_not_sampled(void **state)
{
	char *text = report((struct pmc_report_options){ .by = PMC_BY_FUNCTION });
	char *faults = report(
		(struct pmc_report_options){ .by = PMC_BY_FUNCTION, .event = "page-faults" });

	has(text, "kernel mode");
	/* A sample is taken at the end of a whole period. */
	has(text, "at the end");
	has_not(faults, "kernel mode");
	has_not(faults, "at the end");
}

/* 100 samples of a clock of which there was so much. */
static char *sampled_every(uint64_t period, uint64_t frequency, uint64_t weight, uint64_t value)
{
	const struct pmc_report_options options = { .by = PMC_BY_FUNCTION, .top = -1 };
	const struct pmc_process_fixed process = { .pid = 7, .rank = -1, .time_ns = value };
	const struct pmc_sample list[] = { { 0, 100, weight } };
	struct pmc_profile profile;
	uint64_t clock;
	char *text;
	int result;

	made_begin();
	clock = made_set(&clock_event, 1);
	made_process(1, &process, "elsewhere", "/bin/app", "app");
	made_thread(1, (struct pmc_thread_fixed){ .cpu_ns = value }, "app", NULL, 0);
	made_samples(1,
		     (struct pmc_samples_fixed){ .eventset = clock,
						 .period = period,
						 .frequency = frequency,
						 .samples = 100 },
		     value, list, 1);
	made_profile(&profile, false);
	text = made_report(&profile, &options, &result, NULL);
	assert_int_equal(result, 0);
	pmc_profile_free(&profile);
	return text;
}

/* Overflows that come faster than the machine takes them are in no sample. */
static void periods_that_are_too_short(void **state)
{
	static const struct {
		uint64_t period, frequency, weight, value;
		bool named;
	} cases[] = {
		{ 20000, 0, 2000000, 4000000, true },
		{ 0, 50000, 2000000, 4000000, true },
		{ 20000, 0, 2000000, 2100000, false },
		{ 1000000, 0, 100000000, 200000000, false },
		{ 0, 997, 100300000, 200000000, false },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = sampled_every(cases[i].period, cases[i].frequency, cases[i].weight,
					   cases[i].value);

		has(text, "kernel mode");
		(cases[i].named ? has : has_not)(text, "too short");
	}
}

/* Threads that ended before their first sample have CPU time that no sample explains: the line of
 * the samples and that of the threads say the same of all of it. */
static void threads_without_samples(void **state)
{
	const struct pmc_process_fixed process = {
		.pid = 7, .rank = -1, .time_ns = 1, .cpu_ns = 200000000, .threads_seen = 2
	};
	const struct pmc_sample list[] = { { 0, 60, 60000000 } };
	static const char *const second[] = { "seq=1" };
	struct pmc_report_options options = { .top = -1 };
	struct pmc_samples_fixed of = { .frequency = 1000 };
	struct pmc_profile profile;
	char *text;
	int result;

	for (unsigned some = 0; some < 2; some++) {
		made_begin();
		of.eventset = made_set(&clock_event, 1);
		made_process(1, &process, "elsewhere", "/bin/app", "app");
		for (of.seq = 0; of.seq < 2; of.seq++) {
			of.samples = some && !of.seq ? 60 : 0;
			made_thread(1,
				    (struct pmc_thread_fixed){ .seq = of.seq, .cpu_ns = 90000000 },
				    "app", NULL, 0);
			made_samples(1, of, of.samples ? 75000000 : 20000000, list,
				     of.samples != 0);
		}
		made_profile(&profile, false);
		options.by = PMC_BY_NONE;
		text = made_report(&profile, &options, &result, NULL);
		assert_int_equal(result, 0);
		has(text, some ? " its samples explain 30.0 % of the CPU time" :
				 " its samples explain 0.0 % of the CPU time");
		(some ? has : has_not)(text, "it has samples");
		options.by = PMC_BY_FUNCTION;
		text = made_report(&profile, &options, &result, NULL);
		assert_int_equal(result, 0);
		has(text, some ? ": 30.0 % of 0.20 s CPU" : ": 0.0 % of 0.20 s CPU");
		has(text, "the start and end of programs");
		/* As in the title: not of the counter, which has 20 ms of it. */
		options.where = second;
		options.n_where = 1;
		text = made_report(&profile, &options, &result, NULL);
		assert_int_equal(result, 0);
		has(text, " 90.0 ms CPU (");
		has(text, ": 0.0 % of 90.0 ms CPU");
		options.n_where = 0;
		pmc_profile_free(&profile);
	}
}

static void paths_as_csv(void **state)
{
	char *text =
		report((struct pmc_report_options){ .by = PMC_BY_PATH, .format = PMC_FORMAT_CSV });

	has(text,
	    "app+0x1000,0,2,5,5000000,4.166667,111,111000000,92.500000,app+0x1000,/opt/none/app\n"
	    "app+0x1000;app+0x2000,1,2,35,35000000,29.166667,75,75000000,62.500000,app+0x2000,"
	    "/opt/none/app\n"
	    "app+0x1000;app+0x2000;lib.so+0x3000,2,1,30,30000000,25.000000,40,40000000,"
	    "33.333333,lib.so+0x3000,/opt/none/lib.so\n"
	    "app+0x1000;app+0x2000;lib.so+0x3000;lib.so+0x3000,3,1,0,0,0.000000,10,");
	has(text, "\n(truncated stack),0,1,0,0,0.000000,5,5000000,4.166667,(truncated stack),\n"
		  "(truncated stack);lib.so+0x3000,1,");
}

static void paths_bottom_up(void **state)
{
	char *text = report((struct pmc_report_options){
		.by = PMC_BY_PATH, .format = PMC_FORMAT_CSV, .inverted = true });

	has(text, "lib.so+0x3000,0,1,0,0,0.000000,45,45000000,37.500000,lib.so+0x3000,");
	has(text, "\nlib.so+0x3000;app+0x2000,1,1,0,0,0.000000,30,30000000,25.000000,");
	has(text, "\nlib.so+0x3000;app+0x2000;app+0x1000,2,1,30,");
}

/* A stack of so many functions, each of which has a row of its own. */
static char *deep_paths(unsigned depth, enum pmc_report_format format, const char **problem)
{
	static uint64_t frames[4000];
	const struct pmc_stacks_fixed fixed = { .n_modules = 1, .n_stacks = 1 };
	const struct pmc_stack_def def = { .id = 1, .depth = (uint16_t)depth };
	const struct pmc_sample sample = { 1, 1, 1000 };
	struct report_names *names = report_names_new(NULL);
	const struct pmc_report_options options = { .by = PMC_BY_PATH,
						    .format = format,
						    .top = -1,
						    .fold_samples = report_fold_samples,
						    .names_arg = names };
	struct pmc_profile profile;
	uint64_t set, module;
	char *text;
	int result;

	made_begin();
	set = made_set(&clock_event, 1);
	made_process(1, &(struct pmc_process_fixed){ .pid = 1, .eventset = set }, "h", "x", "x");
	made_thread(1, (struct pmc_thread_fixed){ .tid = 1, .eventset = set }, "t", NULL, 0);
	module = made_module("/opt/none/app", "id");
	pmc_frame_begin(&made, PMC_FRAME_STACKS, made_identity(1), ++made_snapshot, &fixed,
			sizeof(fixed));
	pmc_frame_bytes(&made, &module, sizeof(module));
	for (unsigned i = 0; i < depth; i++) /* app+0x10000 is called last */
		frames[i] = MADE_FRAME(0, 0x10000 + i);
	pmc_put_stack(&made, &def, frames);
	pmc_frame_end(&made);
	made_samples(1, (struct pmc_samples_fixed){ .eventset = set, .period = 1000, .samples = 1 },
		     1000, &sample, 1);
	made_profile(&profile, false);
	text = made_report(&profile, &options, &result, problem);
	assert_int_equal(result, 0);
	report_names_free(names);
	pmc_profile_free(&profile);
	return text;
}

/* The keys of all rows would have depth^2 functions. */
static void keys_of_deep_paths(void **state)
{
	enum { NAME = sizeof("app+0x10000"), KEPT = 4096 / NAME };
	static const enum pmc_report_format formats[] = { PMC_FORMAT_CSV, PMC_FORMAT_JSON,
							  PMC_FORMAT_JSON_LINES };
	const char *problem = NULL;
	char *text;

	for (unsigned i = 0; i < 3; i++) {
		const size_t some = strlen(deep_paths(1000, formats[i], &problem));

		assert_non_null(problem);
		text = deep_paths(2000, formats[i], &problem);
		assert_true(strlen(text) < 5 * some / 2);
	}
	text = deep_paths(2000, PMC_FORMAT_CSV, &problem);
	has(text, "\n(1 functions);app+0x107ce;");
	has(text, "\n(1659 functions);app+0x10154;app+0x10153;");
	has(text, ";app+0x10001;app+0x10000,1999,1,");
	deep_paths(KEPT, PMC_FORMAT_CSV, &problem);
	assert_null(problem);
	/* Each function is in a key once for each stack, which the dump has, too. */
	text = deep_paths(2000, PMC_FORMAT_FOLDED, &problem);
	assert_null(problem);
	has(text, "t;app+0x107cf;app+0x107ce;");
	has_not(text, " functions)");
}

static void tree_in_a_table(void **state)
{
	char *text = report((struct pmc_report_options){ .by = PMC_BY_PATH });
	char *ascii =
		report((struct pmc_report_options){ .by = PMC_BY_PATH, .screen.ascii = true });
	char *head = report((struct pmc_report_options){ .by = PMC_BY_PATH, .top = 4 });

	has(text, "120 samples by task-clock, one every 1.00 ms: 80.0 % of 0.15 s CPU · 3 lost");
	has(text, "samples by other events: page-faults, off-cpu (--event)");
	/* A caller's only callee stays in its column. */
	has(text, "\n  app+0x1000 ");
	has(text, "\n  ├─ app+0x2000 ");
	has(text, "\n  │  lib.so+0x3000 ");
	has(text, "\n  ├─ lib.so+0x4000 ");
	has(text, "\n  └─ [unknown] ");
	/* A new root would look like a callee of the line above it. */
	has(text, "\n\n  (truncated stack) ");
	has(text, "module\n  app+0x1000 ");
	has(head, "\n\n  (4 more) ");
	has(ascii, "\n  |- app+0x2000 ");
	has(ascii, "\n  |  lib.so+0x3000 ");
	has(ascii, "\n  `- [unknown] ");
}

/* A chain of calls without a branch counts as one. Rows that are left out never have a callee in
 * the tree. The mark of a branch differs between an only callee and one whose siblings are
 * left out. */
static void top_of_a_tree(void **state)
{
	char *text = report((struct pmc_report_options){ .by = PMC_BY_PATH, .top = 2 });

	has(text, "\n  app+0x1000 ");
	has(text, "\n  └─ app+0x2000 ");
	has(text, "\n     lib.so+0x3000 ");
	has_not(text, "0x4000");
	has(text, "\n  (6 more) ");
	text = report((struct pmc_report_options){ .by = PMC_BY_PATH, .top = 6 });
	has_not(text, "more)");
	/* Of the functions in which samples were taken, sort has two callers. */
	text = report((struct pmc_report_options){
		.by = PMC_BY_PATH, .top = 2, .inverted = true, .format = PMC_FORMAT_CSV });
	has(text, "\nlib.so+0x3000,");
	has(text, "\napp+0x2000;app+0x1000,");
	has_not(text, "lib.so+0x3000;");
	text = report((struct pmc_report_options){ .by = PMC_BY_FUNCTION, .top = 2 });
	has(text, "(4 more)");
}

static void as_json(void **state)
{
	char *text = report(
		(struct pmc_report_options){ .by = PMC_BY_FUNCTION, .format = PMC_FORMAT_JSON });
	json_t *root = json_loads(text, 0, NULL), *sampling, *first;

	assert_non_null(root);
	sampling = json_object_get(root, "sampling");
	assert_string_equal(json_string_value(json_object_get(sampling, "event")), "task-clock");
	assert_int_equal(json_integer_value(json_object_get(sampling, "samples")), 120);
	assert_int_equal(json_integer_value(json_object_get(sampling, "weight")), 120000000);
	assert_int_equal(json_integer_value(json_object_get(sampling, "value")), 150000000);
	assert_int_equal(json_integer_value(json_object_get(sampling, "period")), 1000000);
	assert_true(json_is_null(json_object_get(sampling, "frequency")));
	first = json_array_get(json_object_get(root, "groups"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "key")), "lib.so+0x3000");
	assert_int_equal(json_integer_value(json_object_get(first, "samples")), 45);
	assert_int_equal(json_array_size(json_object_get(root, "groups")), 6);
	json_decref(root);
}

static void of_an_event(void **state)
{
	const char *problem = NULL;
	char *text = report((struct pmc_report_options){
		.by = PMC_BY_FUNCTION, .format = PMC_FORMAT_CSV, .event = "page-faults" });

	has(text, "\napp+0x1000,1,2,2,100.000000,2,2,100.000000,");
	report_with((struct pmc_report_options){ .by = PMC_BY_FUNCTION, .event = "cycles" },
		    -EINVAL, &problem);
	has(problem, "cycles");
	has(problem, "task-clock");
}

static void waits(void **state)
{
	char *text =
		report((struct pmc_report_options){ .by = PMC_BY_FUNCTION, .event = "off-cpu" });
	char *tree = report((struct pmc_report_options){ .by = PMC_BY_PATH, .event = "off-cpu" });
	char *csv = report((struct pmc_report_options){
		.by = PMC_BY_FUNCTION, .format = PMC_FORMAT_CSV, .event = "off-cpu" });
	char *samples = report((struct pmc_report_options){ .by = PMC_BY_PATH });
	const char *where[] = { "function=app+0x1000" };
	char *callers = report((struct pmc_report_options){
		.by = PMC_BY_FUNCTION, .event = "off-cpu", .where = where, .n_where = 1 });

	has(text, " waits  self s  self % ");
	has(text, "  total s  total %");
	has(text, " 1   2.000    80.0 ");
	has(tree, "  self %  total waits  total s  total % ");
	has_not(tree, "self s");
	has(csv, "key,threads,samples,self,self_pct,total_samples,total,total_pct,");
	has_not(samples, "total s ");
	has(callers, " waits  self s  self % "); /* as the total, though it is 0 */
}

/* How to get them, and how to keep them. */
static void hints(void **state)
{
	static const char *const dumps[] = { "some.pmc", "my other.pmc" };
	const char *problem = NULL;
	char *text = report((struct pmc_report_options){ .dumps = dumps, .n_dumps = 1 });

	has(text, "--by tree --event off-cpu some.pmc\n");
	has(text, "--by function some.pmc\n");
	text = report((struct pmc_report_options){ .dumps = dumps, .n_dumps = 2 });
	has(text, "--by function some.pmc 'my other.pmc'\n");
	text = report((struct pmc_report_options){ .keep_hint = "KEEP" });
	has(text, "KEEP, then pmctl report --by tree --event off-cpu run.pmc\n");
	has(text, "its samples were not kept");
	has_not(text, "it has samples");
	has_not(text, "keep this run");
	report_with((struct pmc_report_options){ .by = PMC_BY_PATH, .event = "none" }, -EINVAL,
		    &problem);
	has_not(problem, "pmctl run");
}

static void no_hint_without_samples(void **state)
{
	const struct pmc_process_fixed process = { .pid = 7, .rank = -1, .time_ns = 1000 };
	struct pmc_profile profile;
	uint64_t clock;
	char *text;
	int result;

	made_begin();
	clock = made_set(&clock_event, 1);
	made_process(1, &process, "elsewhere", "/bin/app", "app");
	made_thread(1, (struct pmc_thread_fixed){ .cpu_ns = 300 }, "app", NULL, 0);
	made_samples(1, (struct pmc_samples_fixed){ .eventset = clock }, 300, NULL, 0);
	made_profile(&profile, false);
	text = made_report(&profile, &(struct pmc_report_options){ .top = -1 }, &result, NULL);
	assert_int_equal(result, 0);
	assert_int_equal(profile.n_samples, 1);
	has_not(text, "it has samples");
	pmc_profile_free(&profile);
}

static void sorted(void **state)
{
	char *text = report((struct pmc_report_options){
		.by = PMC_BY_FUNCTION, .format = PMC_FORMAT_CSV, .sort = "total" });

	assert_true(strstr(text, "app+0x1000,") < strstr(text, "lib.so+0x3000,"));
}

/* Of a static program there are no samples, however it is run. */
static void without_rows(void **state)
{
	const struct pmc_report_options table = { .by = PMC_BY_FUNCTION, .top = -1 };
	const struct pmc_report_options folded = { .by = PMC_BY_PATH,
						   .top = -1,
						   .format = PMC_FORMAT_FOLDED };
	const struct pmc_process_fixed process = { .pid = 7, .flags = PMC_PROCESS_FIRST };
	const char *problem = NULL;
	struct pmc_profile profile;
	char *text;
	int result;

	made_begin();
	made_process(1, &process, "elsewhere", "/bin/app", "app");
	made_profile(&profile, false);
	text = made_report(&profile, &table, &result, NULL);
	assert_int_equal(result, 0);
	has(text, "no samples");
	has_not(text, "--sample");
	made_report(&profile, &folded, &result, &problem);
	assert_int_equal(result, -EINVAL);
	has(problem, "no samples");
	has_not(problem, "--sample");
	pmc_profile_free(&profile);
}

static void without_samples(void **state)
{
	struct pmc_report_options options = { .by = PMC_BY_PATH, .top = -1 };
	const struct pmc_process_fixed process = { .pid = 7,
						   .rank = -1,
						   .time_ns = 90000000,
						   .cpu_ns = 50000000,
						   .flags = PMC_PROCESS_FIRST };
	const char *problem = NULL;
	struct pmc_profile profile;
	char *text, *table;
	int result;

	made_begin();
	made_process(1, &process, "elsewhere", "/bin/app", "app");
	made_thread(1, (struct pmc_thread_fixed){ .flags = PMC_THREAD_MAIN, .cpu_ns = 30000000 },
		    "app", NULL, 0);
	made_profile(&profile, false);
	text = made_report(&profile, &options, &result, NULL);
	assert_int_equal(result, 0);
	has(text, "no samples");
	has(text, "--sample");
	/* One head: the CPU time that no thread's row has, too. */
	options.by = PMC_BY_NONE;
	table = made_report(&profile, &options, &result, NULL);
	has(table, "50.0 ms CPU");
	has(text, "50.0 ms CPU");
	options.by = PMC_BY_PATH;
	options.event = "off-cpu";
	made_report(&profile, &options, &result, &problem);
	assert_int_equal(result, -EINVAL);
	has(problem, "pmctl run --off-cpu");
	pmc_profile_free(&profile);
}

/* The second thread was created in work, called by main. */
static void start_and_creation(void **state)
{
	char *text = report((struct pmc_report_options){
		.by = PMC_BY_START, .format = PMC_FORMAT_CSV, .columns = "key,threads" });

	has(text, "(main),1\n");
	has(text, "(unknown) < app+0x2000 < app+0x1000,1\n");
}

/* Lengths of waits: 98 of 1 ms and 2 of 40 ms in one thread, 1 of 3 s in the other, which no
 * preemption is known of. Without the flag entries are of any lengths. */
static void lengths_of_waits(void **state)
{
	static const struct made_event delay = {
		.name = "run-delay", .type = PMC_TYPE_OS, .config = PMC_OS_RUN_DELAY, .unit = "ns"
	};
	const struct pmc_process_fixed process = { .pid = 7,
						   .rank = -1,
						   .end_ns = 1000000000,
						   .time_ns = 1000000000,
						   .flags = PMC_PROCESS_FIRST };
	const struct pmc_sample waits[] = {
		{ 0, 90, 90000000 }, { 0, 8, 8000000 }, { 0, 1, 40000000 }, { 0, 1, 40000000 }
	};
	const struct pmc_sample other[] = { { 0, 1, 3000000000 } };
	const struct pmc_sample preempted[] = { { 0, 4, 400 }, { 0, 1, 110 } };
	struct pmc_report_options options = { .format = PMC_FORMAT_CSV,
					      .top = -1,
					      .columns = "name,wait_ns,wait_p50_ns,wait_p99_ns,"
							 "longest_wait_ns,preempted_p50_ns,"
							 "longest_preempted_ns" };
	struct pmc_samples_fixed fixed = { .flags = PMC_SAMPLES_LENGTHS, .samples = 100 };
	const char *problem = NULL;
	struct pmc_profile profile;
	char *text;
	int result;

	for (int lacks = 0; lacks < 2; lacks++) {
		made_begin();
		fixed.flags = lacks ? 0 : PMC_SAMPLES_LENGTHS;
		made_process(1, &process, "elsewhere", "/bin/app", "app");
		made_thread(1, (struct pmc_thread_fixed){ .cpu_ns = 20 }, "pool-1", NULL, 0);
		made_thread(1, (struct pmc_thread_fixed){ .seq = 1, .cpu_ns = 10 }, "pool-2", NULL,
			    0);
		fixed.seq = 0;
		fixed.eventset = made_set(&wait_event, 1);
		made_samples(1, fixed, 178000000, waits, 4);
		fixed.eventset = made_set(&delay, 1);
		made_samples(1, fixed, 510, preempted, 2);
		fixed.seq = 1;
		fixed.eventset = made_set(&wait_event, 1);
		made_samples(1, fixed, 3000000000, other, 1);
		made_profile(&profile, false);
		assert_int_equal(profile.n_samples, 2);
		options.by = PMC_BY_NONE;
		text = made_report(&profile, &options, &result, &problem);
		if (lacks) {
			assert_int_equal(result, -EINVAL);
			has(problem, "wait_ns");
		} else {
			has(text, "pool-1,178000000,1015807,40000000,40000000,103,110\n");
			has(text, "pool-2,3000000000,3000000000,3000000000,3000000000,,\n");
			options.by = PMC_BY_POOL;
			options.columns = "pool,wait_ns,wait_p50_ns,wait_p99_ns,longest_wait_ns,"
					  "preempted_ns";
			text = made_report(&profile, &options, &result, NULL);
			has(text, "pool-*,3178000000,1015807,41943039,3000000000,510\n");
		}
		pmc_profile_free(&profile);
	}
}

/* Waits of one thread that two pools, an interrupt and, in another dump, unknown threads ended. */
static void waits_by_waker(void **state)
{
	const struct pmc_process_fixed process = { .pid = 7,
						   .rank = -1,
						   .end_ns = 1000000000,
						   .time_ns = 1000000000,
						   .flags = PMC_PROCESS_FIRST };
	struct pmc_waker by[] = { { .seq = 1, .pid = 7, .tid = 8, .name = "old name" },
				  { .tid = 9, .name = "client-1" },
				  { .tid = 10, .name = "client-2" },
				  { .name = "(still blocked)" } };
	const struct pmc_sample waits[] = { { 0, 2, 2000 }, { 0, 1, 5000 } };
	const struct pmc_profile_options wakers = { .wakers = true };
	struct pmc_report_options options = { .format = PMC_FORMAT_CSV,
					      .by = PMC_BY_WAKER,
					      .outer = { PMC_BY_NAME },
					      .wakers = true,
					      .top = -1,
					      .columns = "name,waker,threads,samples,self,"
							 "wait_p50_ns,longest_wait_ns",
					      .fold_samples = report_fold_samples };
	struct pmc_samples_fixed fixed = { .flags = PMC_SAMPLES_LENGTHS, .lost = 3 };
	struct pmc_profile profile;
	char *text;
	int result;

	memcpy(by[0].identity, made_identity(1), sizeof(by[0].identity));
	made_begin();
	made_process(1, &process, "elsewhere", "/bin/app", "app");
	made_thread(1, (struct pmc_thread_fixed){ .cpu_ns = 20 }, "app", NULL, 0);
	made_thread(1, (struct pmc_thread_fixed){ .seq = 1 }, "worker-1", NULL, 0);
	fixed.eventset = made_set(&wait_event, 1);
	for (unsigned i = 0; i < 4; i++) {
		made_waker = &by[i];
		fixed.flags |= PMC_SAMPLES_WAKER;
		fixed.part = i;
		made_samples(1, fixed, 28000, waits, 2);
		fixed.flags = fixed.lost = 0;
	}
	made_waker = NULL;
	fixed.seq = 1;
	fixed.part = 0;
	fixed.flags = PMC_SAMPLES_LENGTHS;
	made_samples(1, fixed, 7000, waits, 2);
	/* The waker is missing. */
	fixed.part = 1;
	fixed.flags = PMC_SAMPLES_WAKER;
	made_samples(1, fixed, 0, waits, 2);
	pmc_profile_init(&profile, &wakers);
	pmc_profile_add_buffer(&profile, made.data, made.len);
	pmc_profile_finish(&profile);
	assert_int_equal(profile.damaged_frames, 1);
	assert_true(profile.has_wakers);
	text = made_report(&profile, &options, &result, NULL);
	has(text, "app,client-*,1,6,14000,1023,5000\n");
	has(text, "app,worker-1,1,3,7000,1023,5000\n");
	has(text, "app,(still blocked),1,3,7000,1023,5000\n");
	has(text, "worker-1,(not recorded),1,3,7000,1023,5000\n");
	options.format = PMC_FORMAT_JSON;
	text = made_report(&profile, &options, &result, NULL);
	has(text, "\"lost\":3,");
	/* All of them are the waits of the thread. */
	options = (struct pmc_report_options){ .format = PMC_FORMAT_CSV,
					       .by = PMC_BY_NAME,
					       .columns = "name,wait_ns,longest_wait_ns" };
	text = made_report(&profile, &options, &result, NULL);
	has(text, "app,28000,5000\n");
	pmc_profile_free(&profile);
}

/* Rows of threads and groups have the number of samples; waits are none. */
static void of_threads(void **state)
{
	const char *where[] = { "samples=20" };
	char *text = report((struct pmc_report_options){ .format = PMC_FORMAT_CSV,
							 .columns = "name,samples,lost_samples" });
	char *all = report((struct pmc_report_options){ .format = PMC_FORMAT_CSV });
	char *table = report((struct pmc_report_options){ .by = PMC_BY_THREAD });
	char *process = report(
		(struct pmc_report_options){ .by = PMC_BY_PROCESS, .format = PMC_FORMAT_JSON });
	char *one = report((struct pmc_report_options){ .by = PMC_BY_THREAD,
							.where = where,
							.n_where = 1,
							.columns = "thread,samples,lost" });

	has(text, "\napp,102,3\n");
	has(text, "\npool-1,20,0\n");
	has(all, ",samples,lost_samples");
	has(table, "  samples  lost\n");
	has(table, "  122     3\n");
	has(process, "\"samples\":122");
	has(one, "\n  pool-1       20     0\n");
	has_not(one, "(main)");
}

enum lost { NOTHING, A_FEW, STACKS, MODULE, PART, SAMPLES };

/* Two ranks of 1 s each: of 1,000 samples 100 of rank 0 and 500 of rank 1 are outside the library.
 * What is lost is of rank 0, which has 900 samples in the library. */
static char *ranks_without(enum lost lost)
{
	const struct pmc_report_options options = { .by = PMC_BY_RANK };
	struct pmc_profile profile;
	char *text;
	int result;

	made_begin();
	for (unsigned rank = 0; rank < 2; rank++) {
		const struct pmc_process_fixed process = { .pid = 7 + rank,
							   .rank = (int)rank,
							   .time_ns = 1000000000,
							   .cpu_ns = 1000000000,
							   .flags = PMC_PROCESS_FIRST };
		const struct made_stack its[] = { { 1, 0, 1, { APP(MAIN) } },
						  { 2, 0, 2, { LIB(READ), APP(MAIN) } } };
		const uint32_t n = rank ? 500 : 100, no_stack = lost == A_FEW && !rank ? 10 : 0;
		const struct pmc_sample list[] = { { 1, n - no_stack, (n - no_stack) * 1000000ull },
						   { 2, 1000 - n, (1000 - n) * 1000000ull },
						   { 0, no_stack, no_stack * 1000000ull } };
		const uint64_t modules[] = { lost == MODULE && !rank ?
						     1 :
						     made_module("/usr/lib/libmpich.so.12", "mpi"),
					     made_module("/opt/none/app", "app-id") };
		const uint64_t clock = made_set(&clock_event, 1);

		made_process(rank, &process, "elsewhere", "/bin/app", "app");
		made_thread(rank, (struct pmc_thread_fixed){ .cpu_ns = 1000000000 }, "app", NULL,
			    0);
		if (rank || lost != STACKS)
			made_stacks(rank, modules, 2, its, 2);
		if (rank || lost != SAMPLES)
			made_samples(rank,
				     (struct pmc_samples_fixed){ .eventset = clock,
								 .period = 1000000,
								 .samples = 1000 },
				     1000000000, list, lost == PART && !rank ? 1 : 3);
	}
	made_profile(&profile, false);
	text = made_report(&profile, &options, &result, NULL);
	assert_int_equal(result, 0);
	pmc_profile_free(&profile);
	return text;
}

/* Damage of one rank's frames does not make another the slow one, or that one. */
static void slow_rank(void **state)
{
	has(ranks_without(NOTHING), "\n rank 1 has the most CPU time");
	has(ranks_without(A_FEW), "\n rank 1 has the most CPU time");
	for (enum lost lost = STACKS; lost <= SAMPLES; lost++) {
		char *text = ranks_without(lost);

		has(text, "\n stacks or samples of 1.00 s of CPU time are missing: which rank has");
		has_not(text, "has the most CPU time in");
		has(text, " 1.000              -   50.0");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_as_csv),
		cmocka_unit_test(modules),
		cmocka_unit_test(samples_in_the_agent),
		cmocka_unit_test(what_is_not_sampled),
		cmocka_unit_test(periods_that_are_too_short),
		cmocka_unit_test(threads_without_samples),
		cmocka_unit_test(paths_as_csv),
		cmocka_unit_test(paths_bottom_up),
		cmocka_unit_test(keys_of_deep_paths),
		cmocka_unit_test(tree_in_a_table),
		cmocka_unit_test(top_of_a_tree),
		cmocka_unit_test(as_json),
		cmocka_unit_test(of_an_event),
		cmocka_unit_test(waits),
		cmocka_unit_test(hints),
		cmocka_unit_test(no_hint_without_samples),
		cmocka_unit_test(start_and_creation),
		cmocka_unit_test(sorted),
		cmocka_unit_test(of_threads),
		cmocka_unit_test(lengths_of_waits),
		cmocka_unit_test(waits_by_waker),
		cmocka_unit_test(without_samples),
		cmocka_unit_test(without_rows),
		cmocka_unit_test(slow_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
