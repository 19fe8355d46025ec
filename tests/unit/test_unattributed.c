/* SPDX-License-Identifier: MIT */
/* test_unattributed.c - counts outside thread rows: totals minus rows, each row subtracted once. */
#include "tests/unit/profile_try.h"

#include <errno.h>

#define FIRST	PMC_PROCESS_FIRST
#define COVERED PMC_PROCESS_COVERED
#define FORKED	PMC_PROCESS_FORKED

static const struct ev cycles = { .name = "cycles" };
static const struct ev clock_event = { .name = "task-clock", .type = 1, .config = 1 };
static const struct ev user_clock = {
	.name = "task-clock:u", .type = 1, .config = 1, .scope = PMC_SCOPE_USER
};

static uint64_t set_of(struct ev event)
{
	return build_set(&event, 1, 1);
}

/* A process of job 7. */
static void process(uint8_t identity, uint8_t parent, uint8_t flags, uint64_t start_ns,
		    uint64_t pre_cpu_ns)
{
	struct pmc_process_fixed fixed = {
		.pid = identity,
		.start_ns = start_ns,
		.pre_cpu_ns = pre_cpu_ns,
		.flags = flags,
	};

	memcpy(fixed.job, id(7), 16);
	memcpy(fixed.parent_identity, id(parent), 16);
	build_process(identity, 1, &fixed, "exe");
}

static void row(uint8_t identity, uint64_t seq, uint64_t set, uint64_t value)
{
	build_row((struct thread_row){ .identity = identity,
				       .seq = seq,
				       .flags = seq ? 0 : PMC_THREAD_MAIN,
				       .cpu_ns = value,
				       .set = set,
				       .n = 1,
				       .values = { value } });
}

static void threads_total(uint8_t identity, uint64_t set, uint64_t value)
{
	build_total(identity, 1, PMC_TOTAL_THREADS, 0, set, 100, value);
}

static void execs_total(uint8_t identity, uint64_t set, uint64_t value)
{
	build_total(identity, 1, PMC_TOTAL_EXEC, 0, set, 100, value);
}

static const struct pmc_p_process *find(uint8_t identity)
{
	for (uint64_t i = 0; i < profile.n_processes; i++)
		if (profile.processes[i]->identity[0] == identity)
			return profile.processes[i];
	fail_msg("process %u is not there", identity);
	return NULL;
}

static void check_value(const struct pmc_p_remainder *rest, uint64_t value)
{
	assert_non_null(rest->set);
	assert_int_equal(rest->counts[0].state, PMC_COUNTED);
	assert_int_equal(pmc_count_value(&rest->counts[0]), value);
}

static void check_none(const struct pmc_p_remainder *rest, uint32_t error)
{
	assert_non_null(rest->set);
	assert_int_equal(rest->counts[0].state, PMC_NOT_COUNTED);
	assert_int_equal(rest->counts[0].error, error);
}

static void rows_come_off(void **state)
{
	uint64_t set = set_of(cycles);

	process(1, 0, FIRST, 1, 0);
	row(1, 0, set, 100);
	row(1, 1, set, 20);
	/* Rows without counts: their work remains in the total. */
	build_row((struct thread_row){ .identity = 1,
				       .seq = 2,
				       .cpu_ns = 900,
				       .set = set,
				       .flags = PMC_THREAD_ADOPTED,
				       .error = PMC_REASON_ADOPTED });
	build_row((struct thread_row){
		.identity = 1, .seq = 3, .cpu_ns = 900, .set = set, .error = EMFILE });
	threads_total(1, set, 150);
	load();
	check_value(&find(1)->unattributed, 30);
	assert_null(find(1)->descendants.set);
}

static void the_newest_total_holds(void **state)
{
	uint64_t set = set_of(cycles);

	process(1, 0, FIRST, 1, 0);
	build_total(1, 9, PMC_TOTAL_THREADS, 0, set, 100, 500);
	build_total(1, 3, PMC_TOTAL_THREADS, 0, set, 100, 200);
	load();
	check_value(&find(1)->unattributed, 500);
}

static void a_little_below_is_none(void **state)
{
	uint64_t set = set_of(cycles);

	process(1, 0, FIRST, 1, 0);
	row(1, 0, set, 101);
	threads_total(1, set, 100);
	load();
	check_value(&find(1)->unattributed, 0);
}

static void scaled_is_unknown(void **state)
{
	uint64_t set = set_of(cycles);

	process(1, 0, FIRST, 1, 0);
	row(1, 0, set, 10);
	build_total(1, 1, PMC_TOTAL_THREADS, 0, set, 50, 100);
	load();
	check_none(&find(1)->unattributed, PMC_REASON_SCALED);
	pmc_profile_free(&profile);

	build_start();
	set = set_of(cycles);
	process(1, 0, FIRST, 1, 0);
	build_row((struct thread_row){
		.identity = 1, .set = set, .n = 1, .ran = 50, .values = { 10 } });
	threads_total(1, set, 100);
	load();
	check_none(&find(1)->unattributed, PMC_REASON_SCALED);
}

static void a_lost_set_is_unknown(void **state)
{
	uint64_t set = set_of(cycles);

	process(1, 0, FIRST, 1, 0);
	row(1, 0, 0x5151, 10);
	threads_total(1, set, 100);
	load();
	check_none(&find(1)->unattributed, PMC_REASON_SET_LOST);
	pmc_profile_free(&profile);

	/* The event set of the total is missing: no difference can be formed. */
	build_start();
	process(1, 0, FIRST, 1, 0);
	threads_total(1, 0x5151, 100);
	load();
	assert_null(find(1)->unattributed.set);
}

/* inherit=clock: the totals count only task-clock, the rows other events. */
static void the_clock_stands_in(void **state)
{
	uint64_t clock = set_of(clock_event), set = set_of(cycles);

	process(1, 0, FIRST, 1, 30);
	build_row((struct thread_row){ .identity = 1,
				       .seq = 0,
				       .cpu_ns = 130,
				       .set = set,
				       .flags = PMC_THREAD_MAIN,
				       .n = 1,
				       .values = { 7777 } });
	row(1, 1, set, 50);
	build_row((struct thread_row){ .identity = 1,
				       .seq = 2,
				       .cpu_ns = 200,
				       .set = set,
				       .flags = PMC_THREAD_ADOPTED,
				       .error = PMC_REASON_ADOPTED });
	threads_total(1, clock, 400);
	load();
	check_value(&find(1)->unattributed, 400 - 100 - 50);
}

static void a_task_clock_of_equal_scope_is_used(void **state)
{
	const struct ev both[] = {
		{ .name = "cycles", .position = 0 },
		{ .name = "task-clock", .type = 1, .config = 1, .position = 1 },
	};

	uint64_t clock = set_of(clock_event), set = build_set(both, 2, 1);

	process(1, 0, FIRST, 1, 0);
	build_row((struct thread_row){
		.identity = 1, .cpu_ns = 999, .set = set, .n = 2, .values = { 5, 60 } });
	threads_total(1, clock, 100);
	load();
	check_value(&find(1)->unattributed, 40);
	pmc_profile_free(&profile);

	build_start();
	clock = set_of(clock_event);
	set = set_of(user_clock);
	process(1, 0, FIRST, 1, 0);
	build_row((struct thread_row){
		.identity = 1, .cpu_ns = 70, .set = set, .n = 1, .values = { 60 } });
	threads_total(1, clock, 100);
	load();
	check_value(&find(1)->unattributed, 30);
}

/* A hypervisor took 15 of the 75 that the rows' task-clock counted. */
static void stolen_time_is_not_in_descendants(void **state)
{
	uint64_t clock = set_of(clock_event);

	process(1, 0, FIRST, 1, 0);
	process(2, 1, PMC_PROCESS_COVERED, 2, 5);
	build_row((struct thread_row){ .identity = 2,
				       .cpu_ns = 25,
				       .flags = PMC_THREAD_MAIN,
				       .set = clock,
				       .n = 1,
				       .values = { 30 } });
	build_row((struct thread_row){
		.identity = 2, .seq = 1, .cpu_ns = 35, .set = clock, .n = 1, .values = { 45 } });
	/* Its start is in the CPU clock only. */
	build_row((struct thread_row){
		.identity = 2, .seq = 2, .cpu_ns = 12, .set = clock, .n = 1, .values = { 10 } });
	execs_total(1, clock, 100);
	load();
	check_value(&find(1)->descendants, 100 - 30 - 45 - 10);
	assert_int_equal(find(1)->descendants.cpu_ns, 100 - (5 + 30) - 45 - 12);
}

static void events_are_matched_by_what_they_count(void **state)
{
	const struct ev total_events[] = {
		{ .name = "a", .config = 1, .position = 0 },
		{ .name = "b", .config = 2, .position = 1 },
		{ .name = "a again", .config = 1, .position = 2 },
	};
	const struct ev row_events[] = {
		{ .name = "a", .config = 1, .position = 0 },
		{ .name = "a", .config = 1, .position = 1 },
	};
	const uint64_t totals[3] = { 100, 200, 300 };

	uint64_t total_set = build_set(total_events, 3, 1), set = build_set(row_events, 2, 1);
	const struct pmc_total_fixed fixed = { .kind = PMC_TOTAL_THREADS,
					       .n_groups = 1,
					       .eventset = total_set };

	process(1, 0, FIRST, 1, 0);
	build_row((struct thread_row){ .identity = 1, .set = set, .n = 2, .values = { 10, 20 } });
	pmc_frame_begin(&build, PMC_FRAME_TOTAL, id(1), 1, &fixed, sizeof(fixed));
	build_reading(100, 0, 3, totals);
	pmc_frame_end(&build);
	load();
	const struct pmc_p_remainder *rest = &find(1)->unattributed;

	assert_int_equal(pmc_count_value(&rest->counts[0]), 90);
	assert_int_equal(pmc_count_value(&rest->counts[1]), 200);
	assert_int_equal(pmc_count_value(&rest->counts[2]), 280);
}

/*
 * Parents: 1 of 2 and 4, 2 of 3 and 6, 4 of 5; 4 and 6 were forked and did not call exec. The exec
 * group counts 2, 3, 5, 6 and a static program (40), the thread group only 1.
 */
static void a_tree_three_deep(void **state)
{
	uint64_t set = set_of(cycles);

	process(1, 0, FIRST, 1, 0);
	process(2, 1, COVERED, 2, 0);
	process(3, 2, COVERED, 3, 0);
	process(4, 1, FORKED, 4, 0);
	process(5, 4, COVERED, 5, 0);
	process(6, 2, COVERED | FORKED, 6, 0);
	for (uint8_t i = 1; i <= 6; i++) {
		row(i, 0, set, 1000u * i);
		row(i, 1, set, 1);
	}
	threads_total(1, set, 1001 + 5);
	execs_total(1, set, 2001 + 3001 + 5001 + 6001 + 40);
	load();
	check_value(&find(1)->unattributed, 5);
	check_value(&find(1)->descendants, 40);
	for (uint8_t i = 2; i <= 6; i++) {
		assert_null(find(i)->unattributed.set);
		assert_null(find(i)->descendants.set);
	}
}

/* The same with lost PROCESS frames in between. */
static void a_broken_chain_is_mended_by_time(void **state)
{
	uint64_t set = set_of(cycles);

	process(1, 0, FIRST, 1, 0);
	process(3, 2, COVERED, 3, 0); /* 2 is missing */
	row(1, 0, set, 10);
	row(3, 0, set, 30);
	execs_total(1, set, 50);
	load();
	check_value(&find(1)->descendants, 20);
}

/* The first process calls exec: its next image is first, too, and starts new totals. */
static void an_exec_of_the_first_process_splits_the_tree(void **state)
{
	uint64_t set = set_of(cycles);

	process(1, 0, FIRST, 1, 0);
	process(2, 1, COVERED, 2, 0);
	process(3, 1, FIRST, 10, 0);
	process(4, 3, COVERED, 11, 0);
	process(5, 99, COVERED, 12, 0); /* by its start time, of the second image */
	for (uint8_t i = 1; i <= 5; i++)
		row(i, 0, set, 100u * i);
	threads_total(1, set, 101);
	execs_total(1, set, 202);
	threads_total(3, set, 303);
	execs_total(3, set, 404 + 500);
	load();
	check_value(&find(1)->unattributed, 1);
	check_value(&find(1)->descendants, 2);
	check_value(&find(3)->unattributed, 3);
	check_value(&find(3)->descendants, 4);
}

static void other_jobs_are_not_taken_off(void **state)
{
	struct pmc_process_fixed other = { .pid = 2, .flags = COVERED, .start_ns = 2 };

	uint64_t set = set_of(cycles);

	memcpy(other.job, id(8), 16);
	memcpy(other.parent_identity, id(1), 16);
	process(1, 0, FIRST, 1, 0);
	build_process(2, 1, &other, "other");
	row(2, 0, set, 10);
	execs_total(1, set, 50);
	load();
	check_value(&find(1)->descendants, 50);
}

/* Before Linux 5.13 the thread group's total includes forked children and the programs that they
 * exec. */
static void an_old_kernels_thread_group(void **state)
{
	for (unsigned with_exec = 0; with_exec < 2; with_exec++) {
		build_start();
		uint64_t set = set_of(cycles);

		process(1, 0, FIRST, 1, 0);
		process(2, 1, COVERED, 2, 0);
		process(4, 1, FORKED, 4, 0);
		for (uint8_t i = 1; i <= 4; i++)
			if (i != 3)
				row(i, 0, set, 100u * i);
		/* 3 of a raw thread, 40 of a static program after exec. */
		build_total(1, 1, PMC_TOTAL_THREADS, PMC_TOTAL_WITH_FORKS, set, 100,
			    100 + 200 + 400 + 3 + 40);
		if (with_exec)
			execs_total(1, set, 200 + 40);
		load();
		check_value(&find(1)->unattributed, with_exec ? 3 : 43);
		if (with_exec)
			check_value(&find(1)->descendants, 40);
		pmc_profile_free(&profile);
	}
}

/* enable_on_exec without an exec: a total that was never enabled is a valid 0. */
static void nobody_execd(void **state)
{
	const struct pmc_reading never = { .n = 1 };
	const uint64_t zero = 0;

	uint64_t set = set_of(cycles);
	const struct pmc_total_fixed fixed = { .kind = PMC_TOTAL_EXEC,
					       .n_groups = 1,
					       .eventset = set };

	process(1, 0, FIRST, 1, 0);
	pmc_frame_begin(&build, PMC_FRAME_TOTAL, id(1), 1, &fixed, sizeof(fixed));
	pmc_frame_bytes(&build, &never, sizeof(never));
	pmc_frame_bytes(&build, &zero, sizeof(zero));
	pmc_frame_end(&build);
	load();
	check_value(&find(1)->descendants, 0);
}

/* Without its PROCESS frame the rows to subtract are unknown: no value. */
static void an_orphaned_total(void **state)
{
	uint64_t set = set_of(cycles);

	row(1, 0, set, 10);
	threads_total(1, set, 15);
	execs_total(1, set, 50);
	load();
	check_value(&find(1)->unattributed, 5);
	assert_null(find(1)->descendants.set);
}

/* What rows have from clocks and getrusage, work outside them has from those of the process. */
static void accounts_of_the_process(void **state)
{
	const struct ev events[] = {
		{ .name = "task-clock", .type = 1, .config = 1, .flags = PMC_EVENT_ACCOUNTED },
		{ .name = "faults", .type = 1, .config = 2, .flags = PMC_EVENT_ACCOUNTED },
		{ .name = "cycles" },
	};
	struct pmc_process_fixed fixed = {
		.pid = 1,
		.flags = FIRST,
		.cpu_ns = 130,
		.minor_faults = 9,
		.major_faults = 2,
		.time_ns = 1000,
		.end_ns = 1000,
		.how_ended = PMC_ENDED_EXIT,
		.children_cpu_ns = 50,
	};
	const struct pmc_p_process *p;
	uint64_t set = build_set(events, 3, 1);

	memcpy(fixed.job, id(7), 16);
	build_process(1, 1, &fixed, "exe");
	build_row((struct thread_row){ .identity = 1,
				       .flags = PMC_THREAD_MAIN,
				       .cpu_ns = 100,
				       .set = set,
				       .n = 3,
				       .values = { 100, 0, 7 } });
	load();
	p = find(1);
	check_value(&p->unattributed, 30);
	assert_int_equal(p->unattributed.counts[1].raw, 11);
	assert_int_equal(p->unattributed.counts[1].state, PMC_COUNTED);
	/* Nothing counted cycles there: that is not 0. */
	assert_int_equal(p->unattributed.counts[2].state, PMC_NOT_COUNTED);
	/* wait4(2) has no more than the CPU time of children, here. */
	check_value(&p->descendants, 50);
	assert_int_equal(p->descendants.counts[1].state, PMC_NOT_COUNTED);
}

/* wait4(2) has faults and switches of a program together with those of the children that it waited
 * for. */
static void program_without_agent(void **state)
{
	static const struct {
		uint64_t max_rss_bytes, children_cpu_ns;
		bool child; /* with an agent */
		bool known;
	} cases[] = {
		{ 4096, 0, false, true },
		{ 4096, 1, false, false },
		{ 4096, 0, true, false },
		{ 0, 0, false, false }, /* no wait4(2), as of pmctl profile */
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pmc_process_fixed fixed = { .pid = 1,
						   .flags = FIRST,
						   .start_ns = 1,
						   .cpu_ns = 130,
						   .minor_faults = 9,
						   .involuntary_switches = 4,
						   .time_ns = 1000,
						   .end_ns = 1000,
						   .how_ended = PMC_ENDED_EXIT };
		struct pmc_usage rest = { .minor_faults = 0 };

		if (i) {
			profile_end(state);
			profile_begin(state);
		}
		fixed.max_rss_bytes = cases[i].max_rss_bytes;
		fixed.children_cpu_ns = cases[i].children_cpu_ns;
		memcpy(fixed.job, id(7), 16);
		build_process(1, 1, &fixed, "static");
		fixed.pid = 2;
		fixed.ppid = 1;
		fixed.start_ns = 2;
		fixed.end_ns = 500;
		fixed.flags = fixed.max_rss_bytes = fixed.children_cpu_ns = 0;
		memcpy(fixed.parent_identity, id(1), 16);
		if (cases[i].child)
			build_process(2, 1, &fixed, "exe");
		load();
		assert_int_equal(pmc_process_usage_rest(find(1), &rest), cases[i].known);
		if (cases[i].known) {
			assert_int_equal(rest.minor_faults, 9);
			assert_int_equal(rest.involuntary_switches, 4);
		}
	}
}

/* The root's wait4(2) has 300 of descendants; of one in the dump, which used 200, only if the root
 * or a process that it waited for did wait for it. */
static void descendants_that_nobody_waited_for(void **state)
{
	static const struct {
		uint32_t ppid, of_child;
		uint64_t end_ns;
		uint64_t rest, cpu_ns;
	} cases[] = {
		{ 10, 0, 500, 100, 200 },   /* a child */
		{ 10, 0, 500, 300, 30000 }, /* that used more than all that were waited for */
		{ 10, 0, 500, 0, 10000 },   /* or hardly more */
		{ 12, 0, 500, 100, 200 },   /* perhaps a child of a program without an agent */
		{ 10, 0, 0, 100, 200 },	    /* perhaps killed */
		{ 1, 0, 500, 300, 200 },    /* an orphan, of init */
		{ 5, 0, 500, 300, 200 },    /* and of a subreaper */
		{ 3, 0, 500, 300, 200 },    { 10, 0, 1500, 300, 200 }, /* it outlived the root */
		{ 1, 150, 500, 300, 200 },			       /* an orphan with a child */
		{ 10, 40, 500, 60, 200 },			       /* a child with a child */
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct ev clock = {
			.name = "task-clock", .type = 1, .config = 1, .flags = PMC_EVENT_ACCOUNTED
		};
		struct pmc_process_fixed fixed = {
			.pid = 10,
			.ppid = 5,
			.flags = FIRST,
			.start_ns = 1,
			.cpu_ns = 100,
			.time_ns = 1000,
			.end_ns = 1000,
			.how_ended = PMC_ENDED_EXIT,
			.children_cpu_ns = 300,
		};
		uint64_t set;

		if (i) {
			profile_end(state);
			profile_begin(state);
		}
		set = build_set(&clock, 1, 1);
		memcpy(fixed.job, id(7), 16);
		build_process(1, 1, &fixed, "exe");
		build_row((struct thread_row){ .identity = 1,
					       .flags = PMC_THREAD_MAIN,
					       .cpu_ns = 100,
					       .set = set,
					       .n = 1,
					       .values = { 100 } });
		fixed.flags = 0;
		fixed.children_cpu_ns = 0;
		fixed.pid = 11;
		fixed.ppid = cases[i].ppid;
		fixed.start_ns = 2;
		fixed.cpu_ns = cases[i].cpu_ns;
		fixed.end_ns = cases[i].end_ns;
		fixed.how_ended = fixed.end_ns ? PMC_ENDED_EXIT : PMC_RUNNING;
		build_process(2, 1, &fixed, "exe");
		if (cases[i].of_child) {
			fixed.pid = 13;
			fixed.ppid = 11;
			fixed.start_ns = 3;
			fixed.cpu_ns = cases[i].of_child;
			build_process(3, 1, &fixed, "exe");
		}
		load();
		check_value(&find(1)->descendants, cases[i].rest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROFILE_TEST(rows_come_off),
		PROFILE_TEST(accounts_of_the_process),
		PROFILE_TEST(program_without_agent),
		PROFILE_TEST(descendants_that_nobody_waited_for),
		PROFILE_TEST(the_newest_total_holds),
		PROFILE_TEST(a_little_below_is_none),
		PROFILE_TEST(scaled_is_unknown),
		PROFILE_TEST(a_lost_set_is_unknown),
		PROFILE_TEST(the_clock_stands_in),
		PROFILE_TEST(a_task_clock_of_equal_scope_is_used),
		PROFILE_TEST(stolen_time_is_not_in_descendants),
		PROFILE_TEST(events_are_matched_by_what_they_count),
		PROFILE_TEST(a_tree_three_deep),
		PROFILE_TEST(a_broken_chain_is_mended_by_time),
		PROFILE_TEST(an_exec_of_the_first_process_splits_the_tree),
		PROFILE_TEST(other_jobs_are_not_taken_off),
		PROFILE_TEST(an_old_kernels_thread_group),
		PROFILE_TEST(nobody_execd),
		PROFILE_TEST(an_orphaned_total),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
