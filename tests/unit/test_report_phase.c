/* SPDX-License-Identifier: MIT */
/* test_report_phase.c - times of threads, intervals, and phases in which counting was on. */
#include "tests/unit/report_profile.h"
#include "tests/unit/unit.h"

#include <linux/perf_event.h>

#define MS 1000000ull

static const struct pmc_process_fixed process_like = {
	.pid = 12037,
	.start_ns = 1000 * MS,
	.end_ns = 2000 * MS,
	.time_ns = 2000 * MS,
	.cpu_ns = 900 * MS,
	.pre_cpu_ns = 400 * MS,
	.flags = PMC_PROCESS_FIRST,
	.how_ended = PMC_ENDED_EXIT,
	.rank = -1,
};

static struct pmc_thread_fixed thread_at(uint64_t seq, uint64_t time_ns, uint64_t cpu_ns)
{
	return (struct pmc_thread_fixed){
		.seq = seq,
		.tid = (uint32_t)(12037 + seq),
		.flags = seq ? 0 : PMC_THREAD_MAIN,
		.start_ns = 1000 * MS,
		.time_ns = time_ns,
		.cpu_ns = cpu_ns,
		.created_by = PMC_NO_SEQ,
	};
}

static char *report(struct pmc_report_options options)
{
	struct pmc_profile profile;
	char *text;
	int result;

	made_profile(&profile, options.timeline);
	options.top = options.top ? options.top : -1;
	text = made_report(&profile, &options, &result, NULL);
	assert_int_equal(result, 0);
	pmc_profile_free(&profile);
	return text;
}

/* Whether the text has these lines in this order, without others between them. */
static void has_lines(const char *text, const char *lines)
{
	if (!strstr(text, lines))
		fail_msg("no\n%s\nin\n%s", lines, text);
}

static char *csv(const char *columns, bool timeline)
{
	return report((struct pmc_report_options){
		.format = PMC_FORMAT_CSV, .columns = columns, .timeline = timeline });
}

/* A main thread starts before the agent, so that all of its CPU time is after its start. */
static void busy_of_main(void **state)
{
	char *text;

	made_begin();
	made_process(1, &process_like, "node", "/bin/app", "app");
	made_thread(1, thread_at(0, 2000 * MS, 900 * MS), "app", NULL, 0);
	text = csv("cpu_ns,cpu_pct", false);
	has_lines(text, "900000000,90.000000\n");
}

/* A thread's CPU clock starts at its creation, before the agent sees the thread. */
static void busy_of_short_threads(void **state)
{
	struct pmc_thread_fixed thread = thread_at(1, 1000 * MS + 10000, 24000);
	char *text;

	made_begin();
	made_process(1, &process_like, "node", "/bin/app", "app");
	thread.state = PMC_THREAD_EXITED;
	thread.end_ns = thread.time_ns;
	made_thread(1, thread, "short", NULL, 0);
	text = csv("start_ns,cpu_ns,cpu_pct", false);
	has_lines(text, "999986000,24000,100.000000\n");
}

/* The start of an adopted thread is unknown: its first interval has no beginning. */
static void interval_of_an_adopted_thread(void **state)
{
	struct pmc_thread_fixed thread = thread_at(1, 1500 * MS, 20 * MS);
	char *text;

	made_begin();
	made_process(1, &process_like, "node", "/bin/app", "app");
	thread.flags = PMC_THREAD_ADOPTED;
	thread.start_ns = 0;
	made_thread(1, thread, "old", NULL, 0);
	thread.time_ns = 1600 * MS;
	thread.cpu_ns = 70 * MS;
	made_thread(1, thread, "old", NULL, 0);
	text = csv("t_ns,dt_ns,cpu_ns,cpu_pct", true);
	has_lines(text, "1500000000,,20000000,\n1600000000,100000000,50000000,50.000000\n");
}

/* Until counting was first on, all values are 0: the first interval with it has a beginning. */
static void intervals_of_a_delayed_start(void **state)
{
	static const struct made_event clock[] = { { "task-clock", 1, 1, 0, 0, 0, "ns", NULL, 0, 0,
						     0 } };
	static const struct made_value nothing = { 0, 0, 0, 1, { 0 } };
	static const struct made_value some = { 30 * MS, 30 * MS, 0, 1, { 30 * MS } };
	struct pmc_process_fixed process = process_like;
	struct pmc_thread_fixed thread = thread_at(1, 1400 * MS, 0);
	char *text;

	made_begin();
	process.eventset = thread.eventset = made_set(clock, 1);
	made_process(1, &process, "node", "/bin/app", "app");
	thread.off_ns = 400 * MS;
	thread.flags = PMC_THREAD_OFF;
	made_thread(1, thread, "late", &nothing, 1);
	thread.time_ns = 1600 * MS;
	thread.off_ns = 540 * MS;
	thread.flags = 0;
	thread.cpu_ns = 30 * MS;
	thread.minor_faults = 7;
	made_thread(1, thread, "late", &some, 1);
	text = csv("t_ns,cpu_ns,cpu_pct,minor_faults,task-clock", true);
	has_lines(text, "1400000000,,,,\n1600000000,30000000,50.000000,7,30000000\n");
}

/* A snapshot without values has no difference from the one before, nor has the next one from it. */
static void intervals_around_a_failed_reading(void **state)
{
	static const struct made_event clock[] = { { "task-clock", 1, 1, 0, 0, 0, "ns", NULL, 0, 0,
						     0 } };
	static const unsigned cpu_ms[] = { 20, 0, 50, 70 }, delay_ms[] = { 10, 0, 370, 380 };
	struct pmc_process_fixed process = process_like;
	struct pmc_thread_fixed thread = thread_at(1, 0, 0);
	char *text;

	made_begin();
	process.eventset = thread.eventset = made_set(clock, 1);
	made_process(1, &process, "node", "/bin/app", "app");
	for (unsigned i = 0; i < 4; i++) {
		const uint64_t cpu_ns = cpu_ms[i] * MS;
		const struct made_value value = { cpu_ns, cpu_ns, i == 1 ? 3 : 0, 1, { cpu_ns } };

		thread.time_ns = (1200 + 200 * i) * MS;
		thread.cpu_ns = cpu_ns;
		thread.delay_ns = delay_ms[i] * MS;
		thread.flags = i == 1 ? PMC_THREAD_NO_CPU | PMC_THREAD_NO_RUSAGE : PMC_THREAD_DELAY;
		made_thread(1, thread, "read", &value, 1);
	}
	text = csv("t_ns,cpu_ns,run_delay_ns,task-clock,task-clock.state", true);
	has_lines(text, "1200000000,20000000,10000000,20000000,counted\n"
			"1400000000,,,,not-counted\n"
			"1600000000,,,,not-counted\n"
			"1800000000,20000000,10000000,20000000,counted\n");
}

/* A thread that waited 500 ms before its start; the second snapshot took running for waiting. */
static void steps_of_run_delay_add_up(void **state)
{
	static const unsigned cpu_ms[] = { 20, 110, 200 }, delay_ms[] = { 680, 790, 770 };
	struct pmc_process_fixed process = process_like;
	struct pmc_thread_fixed thread = thread_at(1, 0, 0);
	char *text;

	made_begin();
	made_process(1, &process, "node", "/bin/app", "app");
	for (unsigned i = 0; i < 3; i++) {
		thread.time_ns = (1200 + 200 * i) * MS;
		thread.cpu_ns = cpu_ms[i] * MS;
		thread.delay_ns = delay_ms[i] * MS;
		thread.flags = PMC_THREAD_DELAY;
		made_thread(1, thread, "starved", NULL, 0);
	}
	text = csv("t_ns,dt_ns,run_delay_ns", true);
	has_lines(text, "1200000000,700000000,680000000\n"
			"1400000000,200000000,90000000\n"
			"1600000000,200000000,0\n");
}

/* pmctl dump read a thread that had ended. */
static void an_interval_after_the_end(void **state)
{
	struct pmc_thread_fixed thread = thread_at(1, 1400 * MS, 40 * MS);
	char *text;

	made_begin();
	made_process(1, &process_like, "node", "/bin/app", "app");
	made_thread(1, thread, "ends", NULL, 0);
	thread.time_ns = 1600 * MS;
	thread.flags = PMC_THREAD_NO_CPU;
	made_thread(1, thread, "ends", NULL, 0);
	thread.time_ns = thread.end_ns = 1500 * MS;
	thread.state = PMC_THREAD_EXITED;
	thread.flags = 0;
	thread.cpu_ns = 70 * MS;
	made_thread(1, thread, "ends", NULL, 0);
	text = csv("t_ns,dt_ns,cpu_ns", true);
	has_lines(text, "cpu_ns\n1400000000,400000000,40000000\n1500000000,100000000,30000000\n");
}

/* Wall time excludes the gap between two runs; with --where, the title names hosts of matching rows
 * only. */
static void several_runs(void **state)
{
	static const char *const here[] = { "host=here" };
	struct pmc_process_fixed later = process_like;
	struct pmc_thread_fixed thread = thread_at(0, 2000 * MS, 900 * MS);
	char *text;

	made_begin();
	made_process(1, &process_like, "here", "/bin/app", "app");
	made_thread(1, thread, "app", NULL, 0);
	later.job[0] = 1;
	later.start_ns += 60000 * MS;
	later.time_ns = later.end_ns += 60000 * MS;
	made_process(2, &later, "here", "/bin/app", "app");
	thread.start_ns = later.start_ns;
	thread.time_ns = later.end_ns;
	made_thread(2, thread, "app", NULL, 0);
	text = report((struct pmc_report_options){ .columns = "thread,busy" });
	has_lines(text, "  total             90.0\n");
	made_process(3, &process_like, "there", "/bin/app", "app");
	made_thread(3, thread_at(0, 2000 * MS, 900 * MS), "app", NULL, 0);
	text = report((struct pmc_report_options){ 0 });
	has_lines(text, "in 3 processes on 2 hosts");
	text = report((struct pmc_report_options){ .where = here, .n_where = 1 });
	assert_null(strstr(text, "hosts"));
}

/* Counting was off for a part of the time: busy % covers the rest; a thread that slept meanwhile
 * counted 0, and one that was never counted has no values. */
static void off_for_a_time(void **state)
{
	static const struct made_event clock[] = { { "task-clock", 1, 1, 0, 0, 0, "ns", NULL, 0, 0,
						     0 } };
	static const struct made_value nothing = { 0, 0, 0, 1, { 0 } };
	struct pmc_process_fixed process = process_like;
	struct pmc_thread_fixed thread = thread_at(0, 2000 * MS, 100 * MS);
	char *text;

	made_begin();
	process.eventset = thread.eventset = made_set(clock, 1);
	process.off_ns = thread.off_ns = 800 * MS;
	process.cpu_ns = 100 * MS;
	made_process(1, &process, "node", "/bin/app", "app");
	made_thread(1, thread, "app", &nothing, 1);
	text = csv("cpu_ns,cpu_pct,task-clock,task-clock.state", false);
	has_lines(text, "100000000,50.000000,0,counted\n");
	text = report((struct pmc_report_options){ 0 });
	has_lines(text, " 0.20 s wall");
	has_lines(text, " 0.80 s not counted (PMC_START");
	thread.off_ns = 1000 * MS;
	thread.cpu_ns = 0;
	thread.flags |= PMC_THREAD_OFF;
	made_thread(1, thread, "app", &nothing, 1);
	text = csv("cpu_ns,cpu_pct,task-clock,task-clock.state", false);
	has_lines(text, "\n,,,not-counted\n");
	text = report((struct pmc_report_options){ 0 });
	has_lines(text, "0 of at least 1 thread counted");
}

/* pmctl ctl stop is of one process: children that it starts count on, one after the other. */
static void off_in_the_parent(void **state)
{
	struct pmc_process_fixed process = process_like, child = process_like;

	made_begin();
	process.off_ns = 600 * MS;
	process.cpu_ns = 100 * MS;
	made_process(1, &process, "node", "/bin/app", "app");
	made_thread(1, thread_at(0, 2000 * MS, 100 * MS), "app", NULL, 0);
	child.flags = PMC_PROCESS_FORKED;
	child.cpu_ns = 200 * MS;
	for (unsigned i = 2; i < 4; i++) {
		child.pid++;
		child.start_ns = (800 + i * 200) * MS;
		child.end_ns = child.time_ns = child.start_ns + 250 * MS;
		made_process(i, &child, "node", "/bin/app", "app");
	}
	has_lines(report((struct pmc_report_options){ 0 }), " 0.45 s wall");
	has_lines(report((struct pmc_report_options){ 0 }),
		  "up to 0.60 s not counted in a process");
}

/* A process without values: they are not 0, in sums neither. */
static void never_on(void **state)
{
	struct pmc_process_fixed process = process_like;
	struct pmc_thread_fixed thread = thread_at(0, 2000 * MS, 0);
	char *text;

	made_begin();
	process.off_ns = thread.off_ns = 1000 * MS;
	process.cpu_ns = process.pre_cpu_ns = 0;
	thread.flags |= PMC_THREAD_OFF;
	made_process(1, &process, "node", "/bin/app", "app");
	made_thread(1, thread, "app", NULL, 0);
	text = report((struct pmc_report_options){ .columns = "thread,cpu,vol,page-faults",
						   .screen = { .ascii = true } });
	has_lines(text, "not counted, 1 thread in 1 process");
	has_lines(text, "  - unattributed       -    -            -\n"
			"  total                -    -            -\n");
	assert_null(strstr(text, "outside"));
	text = report((struct pmc_report_options){ .format = PMC_FORMAT_JSON });
	has_lines(text, "\"minor_faults\":null,\"major_faults\":null,\"voluntary_switches\":null");
	has_lines(text, "\"cpu_ns\":null,\"attributed_cpu_ns\":null");
}

/* task-clock in the place of the CPU time: min to max are its too. Not where it lacks a part of the
 * CPU time, of which the rows would be too large a share. */
static void spread_of_the_clock_shown(void **state)
{
	static const struct made_event clock[] = { { "task-clock", 1, 1, 0, 0, 0, "ns", NULL, 0, 0,
						     0 } };
	struct pmc_process_fixed process = process_like;
	char *text;

	for (int lacks = 0; lacks < 2; lacks++) {
		made_begin();
		process.cpu_ns = (lacks ? 900 : 300) * MS;
		made_process(1, &process, "node", "/bin/app", "app");
		for (unsigned i = 1; i < 3; i++) {
			const struct made_value value = { 1, 1, 0, 1, { 10 * i * MS } };
			struct pmc_thread_fixed thread = thread_at(i, 2000 * MS, 100 * i * MS);

			thread.eventset = made_set(clock, 1);
			made_thread(1, thread, "w", &value, 1);
		}
		text = report((struct pmc_report_options){ .by = PMC_BY_NAME });
		has_lines(text,
			  lacks ? "  w               2   300.0   100.0    150.0   200.0  33.3 " :
				  "  10.00    15.00   20.00  5.000 ");
	}
}

/* The group did not count a child made past fork: the sum of the events lacks it. */
static void sum_without_a_child(void **state)
{
	static const struct made_event clock[] = { { "task-clock", 1, 1, 0, 0, 0, "ns", NULL, 0, 0,
						     0 } };
	const struct made_value row = { 1, 1, 0, 1, { 100 * MS } };
	struct made_value group = { 1, 1, 0, 1, { 100 * MS } };
	struct pmc_process_fixed process = process_like;
	struct pmc_thread_fixed thread = thread_at(0, 2000 * MS, 100 * MS);
	char *text;

	for (int lacks = 0; lacks < 2; lacks++) {
		made_begin();
		process.eventset = thread.eventset = made_set(clock, 1);
		process.pre_cpu_ns = 0;
		process.cpu_ns = (lacks ? 300 : 101) * MS;
		made_process(1, &process, "node", "/bin/app", "app");
		made_thread(1, thread, "app", &row, 1);
		group.values[0] = 101 * MS;
		made_total(1, PMC_TOTAL_THREADS, process.eventset, &group, 1);
		text = report((struct pmc_report_options){ .columns = "thread,task-clock" });
		has_lines(text, lacks ? " 101.0+\n" : " 101.0\n");
	}
}

/* The head of a timeline is that of the report: steps before a reset are in neither. */
static void timeline_around_a_reset(void **state)
{
	static const char *const main_thread[] = { "name=app" };
	struct pmc_process_fixed process = process_like;
	struct pmc_thread_fixed thread = thread_at(0, 1500 * MS, 480 * MS);
	char *plain, *steps, *rates;

	made_begin();
	process.off_ns = 500 * MS;
	process.cpu_ns = 150 * MS;
	made_process(1, &process, "node", "/bin/app", "app");
	made_thread(1, thread, "app", NULL, 0);
	thread.off_ns = 500 * MS;
	thread.reset_ns = 1500 * MS;
	thread.time_ns = 2000 * MS;
	thread.cpu_ns = 90 * MS;
	made_thread(1, thread, "app", NULL, 0);
	for (int where = 0; where < 2; where++) {
		plain = report((struct pmc_report_options){ .where = main_thread,
							    .n_where = (unsigned)where });
		steps = report((struct pmc_report_options){
			.where = main_thread, .n_where = (unsigned)where, .timeline = true });
		rates = report((struct pmc_report_options){ .by = PMC_BY_THREAD,
							    .where = main_thread,
							    .n_where = (unsigned)where,
							    .timeline = true });
		has_lines(plain, where ? " 90.0 ms CPU (0.18 CPUs)" : " 0.15 s CPU (0.30 CPUs)");
		assert_memory_equal(plain, steps, strcspn(plain, "\n"));
		assert_memory_equal(plain, rates, strcspn(plain, "\n"));
		has_lines(rates, "0.50");
		has_lines(plain, where ? "name=app: 60.0 % of CPU" : " coverage 60.0 % of CPU");
		has_lines(steps, where ? "name=app: 60.0 % of CPU" : " coverage 60.0 % of CPU");
		has_lines(steps, "480.0");
	}
}

/* A thread that ended before the reset keeps its values: their ratio to the time since is none. */
static void a_thread_ended_before_a_reset(void **state)
{
	struct pmc_process_fixed process = process_like;
	struct pmc_thread_fixed ended = thread_at(1, 1400 * MS, 380 * MS);
	struct pmc_thread_fixed thread = thread_at(0, 2000 * MS, 90 * MS);
	char *text;

	made_begin();
	process.off_ns = thread.off_ns = 500 * MS;
	process.cpu_ns = 150 * MS;
	thread.reset_ns = 1500 * MS;
	ended.state = PMC_THREAD_EXITED;
	ended.end_ns = 1400 * MS;
	made_process(1, &process, "node", "/bin/app", "app");
	made_thread(1, thread, "app", NULL, 0);
	made_thread(1, ended, "worker", NULL, 0);
	text = report((struct pmc_report_options){ .top = -1 });
	assert_null(strstr(text, " CPUs)"));
	has_lines(text, "; threads that ended before a reset keep theirs\n");
}

/* Totals of faults and switches are the processes' own: more than their rows have. */
static void usage_outside_rows(void **state)
{
	static const struct {
		bool adopted, older;
		const char *below;
	} cases[] = {
		{ false, false,
		  "  - unattributed    2      0            7\n"
		  "  total            12      4           47\n" },
		{ true, false,
		  "  - unattributed    7      2           27\n"
		  "  total            12      4           47\n" },
		/* The frame of the process is older than the rows. */
		{ false, true,
		  "  - unattributed    -       -             -\n"
		  "  total            10+      4+           40+\n" },
	};
	struct pmc_process_fixed process = process_like;
	struct pmc_thread_fixed thread;
	char *text;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		process.minor_faults = 45;
		process.major_faults = 2;
		process.voluntary_switches = 12;
		process.involuntary_switches = cases[i].older ? 3 : 4;
		made_begin();
		made_process(1, &process, "node", "/bin/app", "app");
		for (unsigned seq = 0; seq < 2; seq++) {
			thread = thread_at(seq, 2000 * MS, 400 * MS);
			thread.minor_faults = 19;
			thread.major_faults = 1;
			thread.voluntary_switches = 5;
			thread.involuntary_switches = 2;
			if (seq && cases[i].adopted)
				thread.flags |= PMC_THREAD_ADOPTED | PMC_THREAD_NO_RUSAGE;
			made_thread(1, thread, "app", NULL, 0);
		}
		text = report((struct pmc_report_options){
			.columns = "thread,vol,invol,page-faults", .screen = { .ascii = true } });
		has_lines(text, cases[i].below);
	}
}

/* Faults and switches of descendants without a row are not known: the total lacks them. */
static void usage_of_descendants(void **state)
{
	static const struct {
		uint64_t children_cpu_ns;
		const char *below;
	} cases[] = {
		{ 8 * MS, "  - descendants     -             -\n"
			  "  total            12+           47+\n" },
		/* The exit of children with rows. */
		{ MS / 2, "  - descendants     -            -\n"
			  "  total            12           47\n" },
	};
	struct pmc_process_fixed process = process_like;
	struct pmc_thread_fixed thread = thread_at(0, 2000 * MS, 400 * MS);
	char *text;

	process.minor_faults = 47;
	process.voluntary_switches = 12;
	thread.minor_faults = 19;
	thread.voluntary_switches = 5;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		process.children_cpu_ns = cases[i].children_cpu_ns;
		made_begin();
		made_process(1, &process, "node", "/bin/app", "app");
		made_thread(1, thread, "app", NULL, 0);
		text = report((struct pmc_report_options){ .columns = "thread,vol,page-faults",
							   .screen = { .ascii = true } });
		has_lines(text, cases[i].below);
	}
}

/* No exec enabled the group: it counted 0, or nothing where a child did something. */
static void events_of_a_killed_child(void **state)
{
	static const struct made_event faults[] = { { "page-faults", 1, 2, 0, 0, 0, "", NULL, 0, 0,
						      0 } };
	const struct made_value row = { 1, 1, 0, 1, { 7 } }, never = { 0, 0, 0, 1, { 0 } };
	struct pmc_process_fixed process = process_like;
	struct pmc_thread_fixed thread = thread_at(0, 2000 * MS, 100 * MS);
	char *text, *below;

	for (int killed = 0; killed < 2; killed++) {
		made_begin();
		process.eventset = thread.eventset = made_set(faults, 1);
		process.children_cpu_ns = killed ? 14 * MS : 0;
		made_process(1, &process, "node", "/bin/app", "app");
		made_thread(1, thread, "app", &row, 1);
		made_total(1, PMC_TOTAL_EXEC, process.eventset, &never, 1);
		text = report((struct pmc_report_options){ .format = PMC_FORMAT_JSON });
		below = strstr(text, "\"descendants\":[");
		assert_non_null(below);
		below[strcspn(below, "}")] = '\0';
		has_lines(below, killed ? "\"value\":null," : "\"value\":0,");
	}
}

/* `at` counts from the start of the job. */
static void steps_of_two_processes(void **state)
{
	static const struct made_event delay[] = { { .name = "run-delay",
						     .type = PMC_TYPE_OS,
						     .config = PMC_OS_RUN_DELAY,
						     .flags = PMC_EVENT_ACCOUNTED,
						     .unit = "ns" } };
	struct pmc_process_fixed process = process_like, child = process_like;
	struct pmc_thread_fixed thread = thread_at(0, 1300 * MS, 100 * MS), other;
	char *text;

	made_begin();
	process.eventset = child.eventset = thread.eventset = made_set(delay, 1);
	child.pid++;
	child.flags = PMC_PROCESS_FORKED;
	child.start_ns = 1600 * MS;
	other = thread;
	other.start_ns = child.start_ns;
	other.cpu_ns = 50 * MS;
	made_process(1, &process, "node", "/bin/app", "app");
	made_process(2, &child, "node", "/bin/app", "app");
	for (uint64_t step = 1; step <= 2; step++) {
		const struct made_value
			first = { step * 8 * MS, step * 8 * MS, 0, 1, { step * 7 * MS } },
			second = { step * 10 * MS, step * 10 * MS, 0, 1, { step * 9 * MS } };

		thread.time_ns = (step == 1 ? 1300 : 1500) * MS;
		made_thread(1, thread, "app", &first, 1);
		other.time_ns = (step == 1 ? 1700 : 1900) * MS;
		made_thread(2, other, "app", &second, 1);
	}
	text = csv("at,for,run-delay,run-delay.enabled_ns", true);
	has_lines(text, "\n300000000,300000000,7000000,8000000\n"
			"500000000,200000000,7000000,8000000\n"
			"700000000,100000000,9000000,10000000\n"
			"900000000,200000000,9000000,10000000\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(busy_of_main),
		cmocka_unit_test(busy_of_short_threads),
		cmocka_unit_test(interval_of_an_adopted_thread),
		cmocka_unit_test(intervals_of_a_delayed_start),
		cmocka_unit_test(intervals_around_a_failed_reading),
		cmocka_unit_test(steps_of_run_delay_add_up),
		cmocka_unit_test(an_interval_after_the_end),
		cmocka_unit_test(several_runs),
		cmocka_unit_test(off_for_a_time),
		cmocka_unit_test(off_in_the_parent),
		cmocka_unit_test(never_on),
		cmocka_unit_test(spread_of_the_clock_shown),
		cmocka_unit_test(sum_without_a_child),
		cmocka_unit_test(timeline_around_a_reset),
		cmocka_unit_test(a_thread_ended_before_a_reset),
		cmocka_unit_test(usage_outside_rows),
		cmocka_unit_test(usage_of_descendants),
		cmocka_unit_test(events_of_a_killed_child),
		cmocka_unit_test(steps_of_two_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
