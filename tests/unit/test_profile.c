/* SPDX-License-Identifier: MIT */
/* test_profile.c - the profile: newest frames win, and each count has its state. */
#include "tests/unit/profile_try.h"

#include <errno.h>

static void the_newest_holds(void **state)
{
	const struct pmc_process_fixed old = { .pid = 1 }, new = { .pid = 2 };

	build_process(1, 7, &new, "/bin/new");
	build_process(1, 3, &old, "/bin/old");
	build_row((struct thread_row){ .identity = 1, .snapshot = 5, .seq = 0, .cpu_ns = 50 });
	build_row((struct thread_row){ .identity = 1, .snapshot = 6, .seq = 0, .cpu_ns = 60 });
	build_row((struct thread_row){ .identity = 1, .snapshot = 4, .seq = 0, .cpu_ns = 40 });
	build_row((struct thread_row){ .identity = 1, .snapshot = 2, .seq = 9, .cpu_ns = 9 });
	build_note(1, 3, 8, 30, "text");
	build_note(1, 5, 8, 50, "text");
	build_note(1, 4, 8, 40, "text");
	build_note(1, 1, 8, 10, "another text");
	load();
	assert_int_equal(profile.n_processes, 1);
	assert_true(profile.processes[0]->known);
	assert_int_equal(profile.processes[0]->fixed.pid, 2);
	assert_string_equal(profile.processes[0]->exe, "/bin/new");
	assert_string_equal(profile.processes[0]->host, "host");
	assert_int_equal(profile.n_threads, 2);
	assert_int_equal(unpack_row(&profile, profile.threads[0])->fixed.cpu_ns, 60);
	assert_int_equal(unpack_row(&profile, profile.threads[1])->fixed.seq, 9);
	assert_int_equal(profile.processes[0]->n_threads, 2);
	assert_ptr_equal(profile.processes[0]->threads[1], profile.threads[1]);
	assert_int_equal(profile.processes[0]->attributed_cpu_ns, 69);
	assert_int_equal(profile.processes[0]->n_notes, 2);
	assert_string_equal(profile.processes[0]->notes[0].text, "another text");
	assert_int_equal(profile.processes[0]->notes[1].fixed.count, 50);
	assert_int_equal(profile.frames, 10);
	assert_int_equal(profile.damaged_frames, 0);
}

static void timeline_keeps_all(void **state)
{
	const struct pmc_profile_options options = { .timeline = true };

	for (uint64_t snapshot = 40; snapshot > 0; snapshot--) {
		for (uint64_t seq = 0; seq < 3; seq++)
			build_row((struct thread_row){ .identity = 1,
						       .snapshot = snapshot,
						       .seq = seq,
						       .cpu_ns = snapshot * 10 + seq });
		/* A repeated frame is counted once. */
		build_row((struct thread_row){ .identity = 1,
					       .snapshot = snapshot,
					       .seq = 2,
					       .cpu_ns = snapshot * 10 + 2 });
	}
	load_with(&options);
	assert_int_equal(profile.n_threads, 3);
	assert_int_equal(profile.n_timeline, 120);
	for (uint64_t i = 0; i < 120; i++) {
		assert_int_equal(unpack_row(&profile, profile.timeline[i])->fixed.seq, i / 40);
		assert_int_equal(profile.timeline[i]->snapshot, i % 40 + 1);
	}
	assert_int_equal(unpack_row(&profile, profile.threads[2])->fixed.cpu_ns, 402);
}

/* Of a thread that starts at 1000: CPU time and run delay in ms at snapshots 100 ms apart, as the
 * kernel has added them, and how long it waited until then. */
struct delayed {
	unsigned cpu, added, waited;
};

static void build_delays(const struct delayed *list, unsigned n, uint64_t seq, uint64_t set,
			 uint64_t reset_ms)
{
	for (unsigned i = 0; i < n; i++) {
		const uint64_t delay_ns = list[i].added * 1000000ull, at_ms = 1100 + i * 100;
		const uint64_t values[2] = { 7, delay_ns };
		const struct pmc_thread_fixed fixed = {
			.seq = seq,
			.start_ns = 1000000000,
			.time_ns = at_ms * 1000000,
			.reset_ns = reset_ms && at_ms > reset_ms ? reset_ms * 1000000 : 0,
			.cpu_ns = list[i].cpu * 1000000ull,
			.flags = set && seq ? 0 : PMC_THREAD_DELAY,
			.delay_ns = delay_ns,
			.eventset = set,
			.n_groups = set ? 2 : 0,
		};

		pmc_begin_thread(&build, id(1), i + 1, &fixed);
		if (set) {
			build_reading(100, 0, 1, values);
			build_reading(100, 0, 2, values);
		}
		pmc_frame_end(&build);
	}
}

/* The wait that ends in an interval, of 450 ms, began before the three ahead of it. */
static void waits_are_of_the_intervals_in_which_they_were(void **state)
{
	static const struct ev events[] = {
		{ .name = "cycles" },
		{ .name = "other", .group = 1 },
		{ .name = "run-delay",
		  .type = PMC_TYPE_OS,
		  .config = PMC_OS_RUN_DELAY,
		  .group = 1,
		  .flags = PMC_EVENT_ACCOUNTED },
	};
	static const struct delayed list[] = { { 20, 0, 70 },	{ 20, 0, 170 },	  { 20, 0, 270 },
					       { 20, 0, 370 },	{ 40, 450, 450 }, { 50, 450, 450 },
					       { 60, 480, 480 } };
	static const struct delayed reset[] = { { 20, 0, 0 }, { 10, 250, 250 } };
	enum { N = sizeof(list) / sizeof(list[0]) };
	const uint64_t set = build_set(events, 3, 2);

	build_delays(list, N, 0, set, 0);
	build_delays(list, N, 1, set, 0);
	build_delays(list, N, 2, 0, 0);
	build_delays(reset, 2, 3, 0, 1150);
	load_with(&(struct pmc_profile_options){ .timeline = true });
	assert_int_equal(profile.n_timeline, 3 * N + 2);
	for (unsigned i = 0; i < profile.n_timeline; i++) {
		const struct pmc_p_thread *row = unpack_row(&profile, profile.timeline[i]);
		const uint64_t ns = i < 3 * N ? list[i % N].waited * 1000000ull :
						reset[i - 3 * N].waited * 1000000ull;

		assert_int_equal(row->fixed.seq, i / N);
		if (row->set) {
			assert_int_equal(row->counts[0].raw, 7);
			assert_int_equal(row->counts[1].raw, 7);
			assert_int_equal(row->counts[2].raw, ns);
		}
		if (row->fixed.flags & PMC_THREAD_DELAY)
			assert_int_equal(row->fixed.delay_ns, ns);
	}
	assert_int_equal(unpack_row(&profile, profile.threads[0])->counts[2].raw, 480000000);
}

static void orphans_are_kept(void **state)
{
	build_row((struct thread_row){ .identity = 3,
				       .snapshot = 1,
				       .cpu_ns = 5,
				       .set = 0x1234,
				       .n = 1,
				       .values = { 7 } });
	load();
	assert_int_equal(profile.n_processes, 1);
	assert_false(profile.processes[0]->known);
	assert_string_equal(profile.processes[0]->exe, "");
	assert_int_equal(profile.n_threads, 1);
	assert_null(unpack_row(&profile, profile.threads[0])->set);
	assert_null(unpack_row(&profile, profile.threads[0])->counts);
	assert_int_equal(profile.processes[0]->threads_counted, 0);
	assert_int_equal(profile.processes[0]->n_uncounted, 1);
	assert_int_equal(profile.processes[0]->uncounted[0].reason, PMC_REASON_SET_LOST);
}

/* Later snapshots omit a live thread that did not run. */
static void a_live_row_is_valid_until_the_newest_snapshot(void **state)
{
	const struct pmc_process_fixed process = { .time_ns = 500 };
	struct pmc_thread_fixed thread = { .start_ns = 100, .time_ns = 200 };

	build_process(1, 9, &process, "a");
	pmc_begin_thread(&build, id(1), 2, &thread);
	pmc_frame_end(&build);
	thread.seq = 1;
	thread.state = PMC_THREAD_EXITED;
	thread.end_ns = thread.time_ns = 300;
	pmc_begin_thread(&build, id(1), 3, &thread);
	pmc_frame_end(&build);
	load();
	assert_int_equal(profile.n_threads, 2);
	assert_int_equal(pmc_thread_until(unpack_row(&profile, profile.threads[0])), 500);
	assert_int_equal(pmc_thread_until(unpack_row(&profile, profile.threads[1])), 300);
}

static void each_answer_is_its_own(void **state)
{
	const struct ev events[] = {
		{ .name = "second", .group = 0, .position = 1 },
		{ .name = "fourth", .group = 0, .position = 3 },
		{ .name = "first", .group = 1, .position = 0 },
		{ .name = "failed", .group = 2, .position = 4 },
		{ .name = "denied", .group = 3, .position = 5 },
		{ .name = "never", .group = 4, .position = 6 },
		{ .name = "nothing", .group = 5, .position = 7 },
		{ .name = "third",
		  .group = PMC_NO_GROUP,
		  .position = 2,
		  .state = PMC_NOT_SUPPORTED,
		  .error = ENOENT },
		{ .name = "refused",
		  .group = PMC_NO_GROUP,
		  .position = 8,
		  .state = PMC_NOT_PERMITTED,
		  .error = EACCES },
	};
	const uint64_t two[2] = { 20, 40 }, ten = 10;
	const struct pmc_reading never = { .enabled_ns = 100, .n = 1 }, nothing = { .n = 1 };

	uint64_t set = build_set(events, 9, 6);
	const struct pmc_thread_fixed row = { .n_groups = 6, .eventset = set };

	pmc_frame_begin(&build, PMC_FRAME_THREAD, id(1), 1, &row, sizeof(row));
	build_reading(100, 0, 2, two);
	build_reading(40, 0, 1, &ten);
	build_reading(0, EMFILE, 0, NULL);
	build_reading(0, EACCES, 0, NULL);
	pmc_frame_bytes(&build, &never, sizeof(never));
	pmc_frame_bytes(&build, &ten, sizeof(ten));
	pmc_frame_bytes(&build, &nothing, sizeof(nothing));
	pmc_frame_bytes(&build, &ten, sizeof(ten));
	pmc_frame_end(&build);
	load();

	static const struct {
		const char *name;
		enum pmc_state state;
		uint32_t error;
		uint64_t value;
	} want[] = {
		{ "first", PMC_SCALED, 0, 25 },
		{ "second", PMC_COUNTED, 0, 20 },
		{ "third", PMC_NOT_SUPPORTED, ENOENT, 0 },
		{ "fourth", PMC_COUNTED, 0, 40 },
		{ "failed", PMC_NOT_COUNTED, EMFILE, 0 },
		{ "denied", PMC_NOT_PERMITTED, EACCES, 0 },
		{ "never", PMC_NOT_COUNTED, PMC_REASON_NEVER_RAN, 0 },
		{ "nothing", PMC_NOT_COUNTED, PMC_REASON_NOT_STARTED, 0 },
		{ "refused", PMC_NOT_PERMITTED, EACCES, 0 },
	};

	assert_int_equal(unpack_row(&profile, profile.threads[0])->set->count, 9);
	for (unsigned i = 0; i < 9; i++) {
		const struct pmc_count *count = count_of(i);
		const bool has = want[i].state == PMC_COUNTED || want[i].state == PMC_SCALED;

		assert_string_equal(unpack_row(&profile, profile.threads[0])->set->events[i].name,
				    want[i].name);
		assert_int_equal(count->state, want[i].state);
		assert_int_equal(count->error, want[i].error);
		assert_int_equal(pmc_count_has_value(count), has);
		if (has)
			assert_int_equal(pmc_count_value(count), want[i].value);
	}
	assert_int_equal(profile.processes[0]->threads_counted, 1);
}

static void scaling_is_exact(void **state)
{
	static const struct {
		uint64_t raw, enabled, running, value;
	} table[] = {
		{ 10, 100, 40, 25 },
		{ 1, 3, 2, 2 }, /* 1.5 */
		{ 1, 4, 3, 1 }, /* 1.33 */
		{ 0, 100, 1, 0 },
		{ UINT64_MAX, 2, 1, UINT64_MAX },
		{ UINT64_MAX / 2, UINT64_MAX, UINT64_MAX - 1, 1ull << 63 }, /* factor near 1 */
		{ 1ull << 62, 3ull << 61, 3ull << 60, 1ull << 63 },
		{ 12345678901234567, 10000000000, 9999999999, 12345678902469135 },
	};

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct pmc_count count = { .raw = table[i].raw,
						 .enabled_ns = table[i].enabled,
						 .running_ns = table[i].running,
						 .state = PMC_SCALED };

		assert_true(pmc_count_value(&count) == table[i].value);
	}
}

static void coverage_names_its_reasons(void **state)
{
	uint64_t set = one_event();

	build_row((struct thread_row){ .identity = 1, .seq = 0, .cpu_ns = 1, .set = set, .n = 1 });
	build_row((struct thread_row){
		.identity = 1, .seq = 1, .cpu_ns = 2, .set = set, .error = EMFILE });
	build_row((struct thread_row){
		.identity = 1, .seq = 2, .cpu_ns = 4, .set = set, .error = EMFILE });
	build_row((struct thread_row){ .identity = 1,
				       .seq = 3,
				       .cpu_ns = 8,
				       .set = set,
				       .flags = PMC_THREAD_ADOPTED,
				       .error = PMC_REASON_ADOPTED });
	build_row((struct thread_row){
		.identity = 1, .seq = 4, .cpu_ns = 16, .flags = PMC_THREAD_NO_CPU });
	load();
	struct pmc_p_process *process = profile.processes[0];

	assert_int_equal(process->attributed_cpu_ns, 15);
	assert_int_equal(process->threads_counted, 2);
	assert_int_equal(process->n_uncounted, 2);
	assert_int_equal(process->uncounted[0].reason, EMFILE);
	assert_int_equal(process->uncounted[0].count, 2);
	assert_int_equal(process->uncounted[1].reason, PMC_REASON_ADOPTED);
	assert_int_equal(process->uncounted[1].count, 1);
}

static void processes_are_ordered_by_start(void **state)
{
	struct pmc_process_fixed a = { .pid = 1, .start_ns = 30 };
	struct pmc_process_fixed b = { .pid = 2, .start_ns = 20 };
	struct pmc_process_fixed c = { .pid = 3, .start_ns = 10 };

	build_process(1, 1, &a, "a");
	build_process(2, 1, &b, "b");
	build_process(3, 1, &c, "c");
	load();
	assert_int_equal(profile.n_processes, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(profile.processes[i]->fixed.pid, 3 - i);
}

static void one_job_alone(void **state)
{
	struct pmc_process_fixed mine = { .pid = 1 }, other = { .pid = 2 };
	struct pmc_profile_options options = { .only_job = NULL };
	uint8_t job[16] = { 5 };

	memcpy(mine.job, job, 16);
	options.only_job = job;
	build_process(1, 1, &mine, "mine");
	build_process(2, 1, &other, "other");
	build_row((struct thread_row){ .identity = 1, .cpu_ns = 1 });
	build_row((struct thread_row){ .identity = 2, .cpu_ns = 2 });
	build_note(2, 1, 1, 1, "of the other");
	load_with(&options);
	assert_int_equal(profile.n_processes, 1);
	assert_int_equal(profile.n_threads, 1);
	assert_int_equal(unpack_row(&profile, profile.threads[0])->fixed.cpu_ns, 1);
}

static void sites_are_resolved(void **state)
{
	const struct pmc_site_fixed site = { .offset = 0x40 };
	struct pmc_thread_fixed row = { .seq = 1 };

	size_t before = build.len;

	/* The row comes first: frames may come in any order. */
	pmc_frame_begin(&build, PMC_FRAME_SITE, NULL, 0, &site, sizeof(site));
	build_str("/lib/x.so");
	build_str("start");
	row.start_site = pmc_frame_end(&build);
	build.len = before;
	pmc_frame_begin(&build, PMC_FRAME_THREAD, id(1), 1, &row, sizeof(row));
	pmc_frame_end(&build);
	pmc_frame_begin(&build, PMC_FRAME_SITE, NULL, 0, &site, sizeof(site));
	build_str("/lib/x.so");
	build_str("start");
	pmc_frame_end(&build);
	load();
	assert_string_equal(unpack_row(&profile, profile.threads[0])->module, "/lib/x.so");
	assert_string_equal(unpack_row(&profile, profile.threads[0])->symbol, "start");
	assert_int_equal(unpack_row(&profile, profile.threads[0])->offset, 0x40);
}

static void what_does_not_parse_is_damage(void **state)
{
	const struct pmc_eventset_fixed many = { .n_events = 65 };
	const struct pmc_eventset_fixed one = { .n_events = 1 };
	const struct pmc_event_def scope = { .group = PMC_NO_GROUP, .scope = 200 };
	const struct pmc_thread_fixed row = { .n_groups = 2 };
	const struct pmc_reading lies = { .n = UINT32_MAX };

	pmc_frame_begin(&build, PMC_FRAME_EVENTSET, NULL, 0, &many, sizeof(many));
	pmc_frame_end(&build);
	pmc_frame_begin(&build, PMC_FRAME_EVENTSET, NULL, 0, &one, sizeof(one));
	pmc_frame_bytes(&build, &scope, sizeof(scope));
	for (int i = 0; i < 3; i++)
		build_str("");
	pmc_frame_end(&build);
	pmc_frame_begin(&build, PMC_FRAME_THREAD, id(1), 1, &row, sizeof(row));
	pmc_frame_bytes(&build, &lies, sizeof(lies));
	pmc_frame_end(&build);
	pmc_frame_begin(&build, PMC_FRAME_PROCESS, id(1), 1, NULL, 0);
	pmc_frame_end(&build);
	load_with(NULL);
	assert_int_equal(profile.damaged_frames, 4);
	assert_int_equal(profile.frames, 0);
	assert_int_equal(profile.n_processes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROFILE_TEST(the_newest_holds),
		PROFILE_TEST(timeline_keeps_all),
		PROFILE_TEST(waits_are_of_the_intervals_in_which_they_were),
		PROFILE_TEST(a_live_row_is_valid_until_the_newest_snapshot),
		PROFILE_TEST(orphans_are_kept),
		PROFILE_TEST(each_answer_is_its_own),
		PROFILE_TEST(scaling_is_exact),
		PROFILE_TEST(coverage_names_its_reasons),
		PROFILE_TEST(processes_are_ordered_by_start),
		PROFILE_TEST(one_job_alone),
		PROFILE_TEST(sites_are_resolved),
		PROFILE_TEST(what_does_not_parse_is_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
