/* SPDX-License-Identifier: MIT */
/*
 * test_mac_threads.c - rows of the threads of a process on macOS, against a double of its system
 * calls: threads that start, end, are many, and end during snapshots.
 */
#include "lib/dump/frame.h"
#include "tools/rows/profile.h"
#include "agent/thread/mac_threads.h"
#include "agent/thread/thread.h"
#include "tests/unit/mac_double.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

const struct pmc_mac_calls pmc_mac_system = DOUBLE_CALLS(double_usage);

/* What the agent appends to its dump. */
static struct {
	pthread_mutex_t lock;
	uint8_t *bytes;
	size_t len;
} dump = { .lock = PTHREAD_MUTEX_INITIALIZER };

void agent_file_append(const void *frames, size_t len)
{
	pthread_mutex_lock(&dump.lock);
	dump.bytes = realloc(dump.bytes, dump.len + len);
	memcpy(dump.bytes + dump.len, frames, len);
	dump.len += len;
	pthread_mutex_unlock(&dump.lock);
}

void agent_file_begin(void)
{
}

static unsigned looked_up;

bool agent_find_place(const void *address, struct agent_place *place)
{
	looked_up++;
	*place = (struct agent_place){ "/lib/app.dylib", "routine", 16 };
	return true;
}

static struct pmc_arena arena;

static void start(unsigned levels, int self_error, int levels_error)
{
	static struct pmc_event list[2] = {
		{ .name = "cycles", .config = PERF_COUNT_HW_CPU_CYCLES },
		{ .name = "instructions", .config = PERF_COUNT_HW_INSTRUCTIONS, .position = 1 },
	};
	const struct pmc_events events = { .list = list, .count = 2 };

	for (unsigned i = 0; i < 2; i++) {
		list[i].unit = list[i].pmu = "";
		list[i].scale = 1;
		list[i].brace = PMC_NO_BRACE;
	}
	double_reset(levels);
	mac_double.self_error = self_error;
	mac_double.levels_error = levels_error;
	memset(agent.identity, 7, 16);
	memset(agent.job, 9, 16);
	agent.start_ns = 1;
	dump.len = 0;
	mac_threads_forget();
	atomic_store(&pmc_agent_control.snapshot, 1);
	pmc_mac_open(&mac_job.mac);
	assert_int_equal(pmc_mac_plan_make(&mac_job.mac, &events, false, &arena, &agent.plan), 0);
	assert_int_equal(pmc_mac_plan_totals(&agent.plan, &arena, &mac_job.totals), 0);
	mac_totals_begin();
	agent_file_append(agent.plan.frame, agent.plan.frame_bytes);
}

void agent_buf_room(struct pmc_frame_buf *buf, size_t bytes)
{
	if (buf->cap - buf->len >= bytes)
		return;
	agent_file_append(buf->data, buf->len);
	buf->len = 0;
}

static void snapshot(uint64_t self)
{
	static uint64_t room[2048];
	struct pmc_frame_buf buf;
	uint64_t number;

	pmc_frame_buf_init(&buf, room, sizeof(room));
	number = atomic_fetch_add(&pmc_agent_control.snapshot, 1) + 1;
	mac_threads_rows(&buf, number, self, PMC_THREAD_LIVE);
	mac_totals_frame(&buf, number);
	agent_buf_room(&buf, SIZE_MAX);
}

static void finish(struct pmc_profile *profile)
{
	const struct pmc_process_text text = { "mac", "", "app", "app", "" };
	const struct pmc_process_fixed fixed = { .pid = 1, .eventset = agent.plan.hash };
	static uint64_t room[512];
	struct pmc_frame_buf buf;

	pmc_frame_buf_init(&buf, room, sizeof(room));
	pmc_build_process(&buf, agent.identity, pmc_agent_control.snapshot + 1, &fixed, &text);
	agent_buf_room(&buf, SIZE_MAX);
	pmc_profile_init(profile, NULL);
	pmc_profile_add_buffer(profile, dump.bytes, dump.len);
	pmc_profile_finish(profile);
	assert_int_equal(profile->damaged_frames, 0);
}

static const struct pmc_count *count_of(const struct pmc_p_thread *thread, const char *name,
					const char *core)
{
	for (unsigned i = 0; i < thread->set->count; i++)
		if (strcmp(thread->set->events[i].name, name) == 0 &&
		    strcmp(thread->set->events[i].core_type, core) == 0)
			return &thread->counts[i];
	fail_msg("no event %s of core type '%s'", name, core);
	return NULL;
}

static void a_thread_has_its_row(void **state)
{
	struct pmc_profile profile;
	struct pmc_thread_buf buf;
	const struct pmc_p_thread *thread;

	start(2, 0, 0);
	assert_true(mac_thread_begin(1000, true));
	assert_false(mac_thread_begin(1000, false));
	assert_true(mac_thread_begin(1003, false));
	mac_double.work[3] = 100;
	snapshot(1000);
	mac_double.work[3] = 300;
	double_be(1003);
	mac_thread_end(1003, PMC_THREAD_EXITED);
	mac_double.ended[3] = true;
	mac_thread_end(1003, PMC_THREAD_EXITED);
	mac_double.work[0] = 50;
	snapshot(1000);
	finish(&profile);
	assert_int_equal(profile.n_threads, 2);
	thread = pmc_profile_thread(&profile, profile.threads[0], &buf);
	assert_int_equal(thread->fixed.flags & PMC_THREAD_MAIN, PMC_THREAD_MAIN);
	assert_int_equal(thread->fixed.state, PMC_THREAD_LIVE);
	assert_int_equal(count_of(thread, "instructions", "Performance")->raw, 40);
	thread = pmc_profile_thread(&profile, profile.threads[1], &buf);
	assert_int_equal(thread->fixed.tid, 1003);
	assert_int_equal(thread->fixed.state, PMC_THREAD_EXITED);
	assert_int_equal(count_of(thread, "instructions", "Performance")->raw, 290);
	assert_int_equal(count_of(thread, "instructions", "Efficiency")->raw, 10);
	assert_int_equal(count_of(thread, "cycles", "")->raw, 600);
	assert_int_equal(count_of(thread, "cycles", "")->state, PMC_COUNTED);
	assert_int_equal(thread->fixed.cpu_ns, 300 * 1000);
	pmc_profile_free(&profile);
}

/* A thread with the number in `self`, as libpthread starts it. */
struct created {
	uint64_t self;
	void *(*begin)(void *);
	void *arg;
};

static void *created(void *argument)
{
	const struct created *thread = argument;

	double_be(thread->self);
	assert_true(mac_thread_begin(thread->self, false));
	return thread->begin(thread->arg);
}

static void *routine(void *arg)
{
	mac_thread_end(1000 + (uint64_t)(uintptr_t)arg, PMC_THREAD_EXITED);
	return arg;
}

static void run_thread(uint64_t self)
{
	struct created thread = { self, mac_start_run,
				  mac_start_take(routine, (void *)(uintptr_t)(self - 1000)) };
	pthread_t id;
	void *result;

	assert_non_null(thread.arg);
	assert_int_equal(pthread_create(&id, NULL, created, &thread), 0);
	pthread_join(id, &result);
	assert_int_equal((uintptr_t)result, self - 1000);
}

static void start_routine_and_creator_are_known(void **state)
{
	struct pmc_profile profile;
	struct pmc_thread_buf buf;
	const struct pmc_p_thread *thread;
	struct mac_start *starts[1024];
	unsigned n = 0;

	start(1, 0, 0);
	looked_up = 0;
	assert_true(mac_thread_begin(1000, true));
	run_thread(1002);
	assert_true(mac_thread_begin(1005, false));
	double_be(1005);
	run_thread(1006);
	/* Once for each routine. */
	assert_int_equal(looked_up, 1);
	/* All are being created: the next thread runs without. None is lost when they are done. */
	for (unsigned i = 0; i < 4096 && n < 1024; i++) {
		starts[n] = mac_start_take(routine, NULL);
		n += starts[n] != NULL;
	}
	assert_int_equal(n, 1024);
	assert_null(mac_start_take(routine, NULL));
	while (n)
		mac_start_drop(starts[--n]);
	double_be(1000);
	run_thread(1007);
	snapshot(1000);
	finish(&profile);
	assert_int_equal(profile.n_threads, 5);
	thread = pmc_profile_thread(&profile, profile.threads[0], &buf);
	assert_int_equal(thread->fixed.created_by, PMC_NO_SEQ);
	assert_string_equal(thread->symbol, "");
	thread = pmc_profile_thread(&profile, profile.threads[1], &buf);
	assert_int_equal(thread->fixed.created_by, 0);
	assert_string_equal(thread->symbol, "routine");
	assert_string_equal(thread->module, "/lib/app.dylib");
	thread = pmc_profile_thread(&profile, profile.threads[3], &buf);
	assert_int_equal(thread->fixed.created_by, 2);
	pmc_profile_free(&profile);
	/* In a forked child the dump of which lacks the frame. */
	agent_start_routines_forked();
	mac_start_drop(mac_start_take(routine, NULL));
	assert_int_equal(looked_up, 2);
}

static const struct pmc_count *unattributed(const struct pmc_profile *profile, const char *name,
					    const char *core)
{
	const struct pmc_p_remainder *rest = &profile->processes[0]->unattributed;

	assert_non_null(rest->set);
	for (unsigned i = 0; i < rest->set->count; i++)
		if (strcmp(rest->set->events[i].name, name) == 0 &&
		    strcmp(rest->set->events[i].core_type, core) == 0)
			return &rest->counts[i];
	fail_msg("no event %s of core type '%s'", name, core);
	return NULL;
}

/* The process's counts before this image (exec) are in neither; those of a thread whose start was
 * not seen remain. */
static void work_outside_the_rows_is_unattributed(void **state)
{
	struct pmc_profile profile;

	start(2, 0, 0);
	mac_double.earlier = 5000;
	mac_double.work[0] = 30;
	mac_totals_begin();
	mac_thread_begin(1000, true);
	mac_thread_begin(1001, false);
	mac_double.work[0] = 130;
	mac_double.work[1] = 200;
	mac_double.work[2] = 400;
	double_be(1001);
	mac_thread_end(1001, PMC_THREAD_EXITED);
	mac_double.ended[1] = true;
	snapshot(1000);
	finish(&profile);
	assert_int_equal(profile.n_threads, 2);
	assert_int_equal(unattributed(&profile, "instructions", "Performance")->raw, 390);
	assert_int_equal(unattributed(&profile, "instructions", "Efficiency")->raw, 10);
	assert_int_equal(unattributed(&profile, "cycles", "")->raw, 800);
	assert_int_equal(unattributed(&profile, "cycles", "")->state, PMC_COUNTED);
	pmc_profile_free(&profile);
}

/* Never 0 in place of unknown. */
static void totals_that_cannot_be_read_are_unknown(void **state)
{
	struct pmc_profile profile;

	start(2, 0, 0);
	mac_thread_begin(1000, true);
	mac_double.usage_version = 4;
	snapshot(1000);
	finish(&profile);
	assert_int_equal(unattributed(&profile, "cycles", "Performance")->state, PMC_NOT_COUNTED);
	pmc_profile_free(&profile);
	start(1, -ENOTSUP, 0);
	mac_thread_begin(1000, true);
	snapshot(1000);
	finish(&profile);
	assert_null(profile.processes[0]->unattributed.set);
	pmc_profile_free(&profile);
}

/* Without counters: CPU time, and a reason in place of counts. */
static void a_virtual_machine_has_rows(void **state)
{
	struct pmc_profile profile;
	struct pmc_thread_buf buf;
	const struct pmc_p_thread *thread;

	start(1, -ENOTSUP, 0);
	mac_thread_begin(1000, true);
	mac_thread_end(1000, PMC_THREAD_EXITED);
	finish(&profile);
	assert_int_equal(profile.n_threads, 1);
	thread = pmc_profile_thread(&profile, profile.threads[0], &buf);
	assert_int_equal(thread->fixed.cpu_ns, 8000);
	assert_int_equal(count_of(thread, "cycles", "")->state, PMC_NOT_SUPPORTED);
	pmc_profile_free(&profile);
}

static void before_macos_13_live_threads_have_no_counts(void **state)
{
	struct pmc_profile profile;
	struct pmc_thread_buf buf;
	const struct pmc_p_thread *thread;

	start(1, 0, -EINVAL);
	mac_thread_begin(1000, true);
	mac_thread_begin(1001, false);
	mac_double.work[0] = 5;
	snapshot(1000);
	finish(&profile);
	thread = pmc_profile_thread(&profile, profile.threads[0], &buf);
	assert_int_equal(count_of(thread, "instructions", "")->raw, 5);
	thread = pmc_profile_thread(&profile, profile.threads[1], &buf);
	assert_int_equal(count_of(thread, "instructions", "")->state, PMC_NOT_COUNTED);
	assert_int_equal(thread->fixed.reason, PMC_REASON_OWN_THREAD);
	pmc_profile_free(&profile);
}

/* ---- many threads, while snapshots are taken ---------------------------------------------- */
enum { WORKERS = 8, ROUNDS = 250 };

static _Atomic unsigned running;

static void *work(void *arg)
{
	const unsigned worker = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		const uint64_t tid = 1001 + worker * ROUNDS + i;

		double_be(tid);
		assert_true(mac_thread_begin(tid, false));
		mac_double.work[tid - 1000] = 11;
		sched_yield();
		mac_double.work[tid - 1000] = tid;
		mac_thread_end(tid, PMC_THREAD_EXITED);
		mac_double.ended[tid - 1000] = true;
	}
	running--;
	return NULL;
}

static void each_of_many_threads_has_its_last_row(void **state)
{
	pthread_t threads[WORKERS];
	struct pmc_profile profile;
	struct pmc_thread_buf buf;

	start(1, 0, 0);
	mac_thread_begin(1000, true);
	running = WORKERS;
	for (unsigned i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i), 0);
	while (running)
		snapshot(1000);
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	snapshot(1000);
	finish(&profile);
	assert_int_equal(profile.n_threads, WORKERS * ROUNDS + 1);
	for (uint64_t i = 1; i < profile.n_threads; i++) {
		const struct pmc_p_thread *thread =
			pmc_profile_thread(&profile, profile.threads[i], &buf);

		assert_int_equal(thread->fixed.state, PMC_THREAD_EXITED);
		assert_int_equal(count_of(thread, "instructions", "")->raw, thread->fixed.tid);
	}
	pmc_profile_free(&profile);
}

/* Numbers that meet in the table, more than it searches: noted, no row, nothing is overwritten. */
static void a_full_table_refuses_threads(void **state)
{
	struct pmc_profile profile;
	unsigned taken = 0;

	start(1, 0, 0);
	for (uint64_t i = 0; i < 100; i++)
		taken += mac_thread_begin(1000 + i * MAC_THREADS, false);
	assert_int_equal(taken, 64);
	mac_thread_end(1000 + 99 * MAC_THREADS, PMC_THREAD_EXITED);
	mac_thread_end(1000, PMC_THREAD_EXITED);
	assert_true(mac_thread_begin(1000 + 99 * MAC_THREADS, false));
	finish(&profile);
	assert_int_equal(profile.n_threads, 1);
	pmc_profile_free(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_has_its_row),
		cmocka_unit_test(start_routine_and_creator_are_known),
		cmocka_unit_test(work_outside_the_rows_is_unattributed),
		cmocka_unit_test(totals_that_cannot_be_read_are_unknown),
		cmocka_unit_test(a_virtual_machine_has_rows),
		cmocka_unit_test(before_macos_13_live_threads_have_no_counts),
		cmocka_unit_test(each_of_many_threads_has_its_last_row),
		cmocka_unit_test(a_full_table_refuses_threads),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	pmc_arena_free(&arena);
	free(dump.bytes);
	return failed;
}
