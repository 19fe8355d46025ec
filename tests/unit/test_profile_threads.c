/* SPDX-License-Identifier: MIT */
/* test_profile_threads.c - CPU time and waits by switch records. */
#include "lib/base/proc.h"
#include "tools/profile/private.h"
#include "tests/unit/unit.h"

#include <sched.h>
#include <unistd.h>

/* ---- switches ----------------------------------------------------------------------------- */

static void take(struct prof *prof, uint32_t type, uint64_t time, uint32_t tid, bool out)
{
	struct pmc_record record = {
		.type = type, .time = time, .pid = 1, .tid = tid, .cpu = tid % 8
	};

	if (type == PERF_RECORD_LOST)
		record.lost.lost = 7;
	else
		record.context_switch.out = out;
	prof_take(prof, &record);
}

static void is_thread(const struct prof *prof, uint32_t tid, uint64_t waits, uint64_t ns,
		      uint64_t lost)
{
	const struct prof_thread *thread = prof->last;

	while (thread && thread->tid != tid)
		thread = thread->next;
	assert_non_null(thread);
	assert_int_equal(thread->off.n, waits);
	assert_int_equal(thread->off.ns, ns);
	assert_int_equal(thread->lost, lost);
}

static void a_loss_ends_waits_without_time(void **state)
{
	struct prof prof = { .lost = 0 };

	unwind_init(&prof.unwind, false);

	/* Thread 1 waits once before and once after the loss, 2 and 3 during it. */
	take(&prof, PERF_RECORD_SWITCH, 10, 1, true);
	take(&prof, PERF_RECORD_SWITCH, 20, 2, true);
	take(&prof, PERF_RECORD_SWITCH, 30, 1, false);
	take(&prof, PERF_RECORD_SWITCH, 40, 3, true);
	take(&prof, PERF_RECORD_LOST, 1000, 2, false);
	take(&prof, PERF_RECORD_SWITCH, 1010, 1, true);
	take(&prof, PERF_RECORD_SWITCH, 1020, 2, false);
	take(&prof, PERF_RECORD_SWITCH, 1040, 1, false);
	/* The next wait of 2 is whole. */
	take(&prof, PERF_RECORD_SWITCH, 1050, 2, true);
	prof.stop_ns = 1100;
	prof_settle(&prof);
	is_thread(&prof, 1, 2, 20 + 30, 0);
	is_thread(&prof, 2, 1, 50, 1);
	is_thread(&prof, 3, 0, 0, 1);
	assert_int_equal(prof.lost, 7);
	prof_free(&prof);
}

/* Waits and preemptions are apart, each with its longest one; those of about one length together.
 */
static void lengths(void **state)
{
	struct prof prof = { .lost = 0 };
	const struct prof_thread *thread;
	uint64_t now = 1000;

	unwind_init(&prof.unwind, false);
	for (unsigned i = 0; i < 10; i++) {
		struct pmc_record out = { .type = PERF_RECORD_SWITCH,
					  .time = now,
					  .pid = 1,
					  .tid = 1,
					  .context_switch = { .out = true, .preempted = i % 2 } };

		prof_take(&prof, &out);
		now += i == 4 ? 7000 : 1000 + i;
		take(&prof, PERF_RECORD_SWITCH, now, 1, false);
		now += 5;
	}
	HASH_FIND_INT(prof.threads, &(int){ 1 }, thread);
	assert_int_equal(thread->off.n, 5);
	assert_int_equal(thread->off.longest_ns, 7000);
	assert_int_equal(thread->off.longest->n, 1);
	assert_int_equal(thread->off.list->next->n, 4);
	assert_int_equal(thread->off.list->next->ns, 4 * 1000 + 2 + 6 + 8);
	assert_int_equal(thread->delays.n, 5);
	assert_int_equal(thread->delays.longest_ns, 1009);
	assert_int_equal(thread->delays.list->n, 5);
	assert_null(thread->delays.list->next);
	prof_free(&prof);
}

/* A thread that ran before its first record, and one that did not. */
static void cpu_time_is_between_switches(void **state)
{
	struct prof prof = { .start_ns = 100 };
	const struct prof_thread *thread;

	unwind_init(&prof.unwind, false);
	prof_thread_add(&prof, 1, 1, 0);
	prof_thread_add(&prof, 1, 2, 0);
	take(&prof, PERF_RECORD_SWITCH, 130, 1, true);
	take(&prof, PERF_RECORD_SWITCH, 140, 2, false);
	take(&prof, PERF_RECORD_SWITCH, 150, 1, false);
	take(&prof, PERF_RECORD_SWITCH_CPU_WIDE, 165, 2, true);
	prof.stop_ns = 200;
	prof_settle(&prof);
	HASH_FIND_INT(prof.threads, &(int){ 1 }, thread);
	assert_int_equal(thread->row.cpu_ns, 30 + 50);
	assert_int_equal(thread->row.voluntary_switches, 1);
	HASH_FIND_INT(prof.threads, &(int){ 2 }, thread);
	assert_int_equal(thread->row.cpu_ns, 25);
	prof_free(&prof);
}

/* Records from 140 until the report of the loss, at 200, are missing: threads 1 and 2 may have been
 * off a CPU meanwhile, 3 had ended. /proc knows the CPU time of 1, which is this thread. */
static void cpu_time_where_records_were_lost(void **state)
{
	const uint32_t self = (uint32_t)gettid(), none = INT32_MAX, ended = none - 1;
	struct prof prof = { .start_ns = 100 };
	struct prof_thread *thread[3] = {
		prof_thread_add(&prof, self, self, 0),
		prof_thread_add(&prof, none, none, 0),
		prof_thread_add(&prof, none, ended, 0),
	};

	unwind_init(&prof.unwind, false);
	for (unsigned i = 0; i < 3; i++) {
		thread[i]->before.known = true;
		take(&prof, PERF_RECORD_SWITCH, 110 + i, thread[i]->tid, true);
		take(&prof, PERF_RECORD_SWITCH, 120, thread[i]->tid, false);
	}
	prof_take(&prof, &(struct pmc_record){ .type = PERF_RECORD_EXIT,
					       .task = { .tid = ended, .time = 139 } });
	assert_int_equal(thread[2]->row.cpu_ns, 12 + 19);
	prof_lose(&prof, 5, 140, 200);
	take(&prof, PERF_RECORD_SWITCH, 210, none, true);
	sched_yield(); /* which updates what /proc has */
	prof_read_again(&prof);
	assert_int_equal(prof.lost, 5);
	assert_int_equal(thread[1]->row.cpu_ns, 11);
	assert_true(thread[1]->least_cpu);
	assert_false(thread[2]->least_cpu || thread[0]->least_cpu);
	/* What it does after the reading is added. */
	assert_in_range(thread[0]->row.cpu_ns, 1000, UINT64_C(3600000000000));
	take(&prof, PERF_RECORD_SWITCH, thread[0]->read_ns - 1, self, true);
	take(&prof, PERF_RECORD_SWITCH, thread[0]->read_ns + 50, self, false);
	const uint64_t cpu_ns = thread[0]->row.cpu_ns;
	take(&prof, PERF_RECORD_SWITCH, thread[0]->read_ns + 70, self, true);
	assert_int_equal(thread[0]->row.cpu_ns, cpu_ns + 20);
	prof_free(&prof);
}

/* A chain of processes that live for less than the time until their records are taken. */
static void ends_when_no_thread_starts_either(void **state)
{
	struct prof prof = { .makes_rows = true };

	unwind_init(&prof.unwind, false);
	for (uint32_t i = 0; i < 3; i++) {
		prof_thread_add(&prof, INT32_MAX - i, INT32_MAX - i, 100);
		prof.read_ns = 0;
		assert_true(prof_read_again(&prof));
	}
	prof.read_ns = 0;
	assert_false(prof_read_again(&prof));
	prof_free(&prof);
}

/* From one thread to the next on a CPU, what the switch takes is CPU time of the latter alone;
 * after a thread without records, that of the last switch is. */
static void a_switch_is_not_in_the_wait(void **state)
{
	struct prof prof = { .start_ns = 100 };
	struct prof_thread *a = prof_thread_add(&prof, 1, 8, 0),
			   *b = prof_thread_add(&prof, 1, 16, 0);

	unwind_init(&prof.unwind, false);
	take(&prof, PERF_RECORD_SWITCH, 1000, 16, true);
	take(&prof, PERF_RECORD_SWITCH, 1005, 8, false);
	take(&prof, PERF_RECORD_SWITCH, 9000, 8, true);
	take(&prof, PERF_RECORD_SWITCH, 9007, 16, false);
	assert_int_equal(b->off.ns, 8000);
	take(&prof, PERF_RECORD_SWITCH, 9500, 16, true);
	assert_int_equal(b->row.cpu_ns, 900 + 500);
	take(&prof, PERF_RECORD_SWITCH, 99000, 8, false);
	assert_int_equal(a->off.ns, 90000 - 7);
	prof.stop_ns = 100000;
	prof_settle(&prof);
	assert_int_equal(a->row.cpu_ns + a->off.ns, 100000 - 1000);
	assert_int_equal(b->row.cpu_ns + b->off.ns, 100000 - 100);
	prof_free(&prof);
}

static struct prof_reading reading_of(uint64_t cpu_ns, uint64_t delay_ns)
{
	return (struct prof_reading){
		.known = true, .state = 'R', .cpu_ns = cpu_ns, .delay_ns = delay_ns
	};
}

static struct prof_thread *add_runnable(struct prof *prof, uint32_t tid,
					const struct prof_reading *before)
{
	struct prof_thread *thread = prof_thread_add(prof, tid, tid, 0);

	thread->before = *before;
	thread->no_record = true;
	live_delay_begin(&thread->delay, before->cpu_ns, before->delay_ns, true);
	return thread;
}

/* Of three threads without a record, one waits for a CPU, one runs, and one had begun to sleep. */
static void waits_for_a_cpu_throughout(void **state)
{
	const struct prof_reading at_start = reading_of(50, 7000);
	struct prof prof = { .start_ns = 1000, .stop_ns = 2000 };
	struct prof_thread *waits = add_runnable(&prof, 1, &at_start),
			   *runs = add_runnable(&prof, 2, &at_start),
			   *slept = add_runnable(&prof, 3, &at_start);

	unwind_init(&prof.unwind, false);
	waits->after = at_start;
	runs->after = reading_of(1040, 7000);
	slept->after = at_start;
	slept->after.usage.voluntary_switches = 1;
	prof_settle(&prof);
	assert_int_equal(waits->delays.ns, 1000);
	assert_int_equal(waits->queued_ns, 1000);
	assert_int_equal(runs->delays.n + runs->queued_ns + slept->delays.n + slept->queued_ns, 0);
	prof_free(&prof);
}

/* A thread waits since 9 us before the start until 1300, and again at the stop. The kernel has
 * added the first wait, and no part of the other. */
static void waits_for_a_cpu_at_start_and_stop(void **state)
{
	const uint32_t self = (uint32_t)gettid();
	struct prof prof = { .start_ns = 1000, .stop_ns = 2000 };
	struct pmc_record out = { .type = PERF_RECORD_SWITCH,
				  .time = 1500,
				  .pid = self,
				  .tid = self,
				  .context_switch = { .out = true, .preempted = true } };
	struct prof_reading before = reading_of(50, 0);
	struct prof_thread *thread;
	uint64_t delay_ns;

	unwind_init(&prof.unwind, false);
	assert_true(pmc_run_delay(self, &delay_ns));
	before.delay_ns = delay_ns - 9300;
	thread = add_runnable(&prof, self, &before);
	take(&prof, PERF_RECORD_SWITCH, 1300, self, false);
	assert_int_equal(thread->delay.delay_ns, 300);
	assert_int_equal(thread->delays.ns, 300);
	prof_take(&prof, &out);
	assert_int_equal(thread->row.cpu_ns, 200);
	prof_settle(&prof);
	assert_int_equal(thread->delays.ns, 300 + 500);
	assert_int_equal(thread->queued_ns, 500);
	/* A thread that was asleep until its first record. */
	before.delay_ns = delay_ns;
	thread = add_runnable(&prof, self, &before);
	take(&prof, PERF_RECORD_SWITCH, UINT64_C(3600000000000), self, false);
	assert_int_equal(thread->delays.n, 0);
	prof_free(&prof);
}

static void sample(struct prof *prof, uint64_t time, uint32_t tid, bool by_cpu)
{
	const struct pmc_record record = { .type = PERF_RECORD_SAMPLE,
					   .time = time,
					   .pid = tid,
					   .tid = tid,
					   .present = PERF_SAMPLE_PERIOD |
						      (by_cpu ? PERF_SAMPLE_STREAM_ID : 0),
					   .sample.period = 10 };

	prof_take(prof, &record);
}

/* Clocks of CPUs count from 1000 to 2000: no time is counted by two clocks, and none of others. */
static void samples_by_clocks_of_cpus(void **state)
{
	struct prof prof = { .throttle = { .beside = true, .by_cpu = true, .switched_ns = 1000 } };
	const struct prof_thread *thread = prof_thread_add(&prof, 1, 1, 0);

	unwind_init(&prof.unwind, false);
	for (int by_cpu = 0; by_cpu < 2; by_cpu++) {
		sample(&prof, 900, 1, by_cpu);
		sample(&prof, 1100, 1, by_cpu);
		sample(&prof, 1200, 2, by_cpu);
	}
	assert_int_equal(thread->n_samples, 2);
	prof.throttle.by_cpu = false;
	prof.throttle.switched_ns = 2000;
	for (int by_cpu = 0; by_cpu < 2; by_cpu++) {
		sample(&prof, 1900, 1, by_cpu);
		sample(&prof, 2100, 1, by_cpu);
	}
	assert_int_equal(thread->n_samples, 4);
	assert_ptr_equal(prof.last, thread);
	/* The kernel still works for it; later, its number is another's. */
	prof_take(&prof, &(struct pmc_record){ .type = PERF_RECORD_EXIT,
					       .task = { .pid = 1, .tid = 1, .time = 2200 } });
	sample(&prof, 2300, 1, false);
	sample(&prof, 3000002200, 1, false);
	assert_int_equal(thread->n_samples, 5);
	assert_int_equal(thread->weight, 50);
	prof_free(&prof);
}

/* The thread that calls exec goes on with the number of the main one; its own gets no record. */
static void another_thread_than_the_main_one_calls_exec(void **state)
{
	const uint32_t pid = INT32_MAX - 10, tid = pid + 1, other = pid + 2;
	struct prof prof = { .start_ns = 100, .makes_rows = true };
	struct prof_thread *main_one = prof_thread_add(&prof, pid, pid, 100),
			   *caller = prof_thread_add(&prof, pid, tid, 100),
			   *beside = prof_thread_add(&prof, other, other, 100);
	const struct prof_thread *thread;

	unwind_init(&prof.unwind, false);
	prof_thread_add(&prof, other, other + 1, 100);
	caller->before.cpu_ns = 7;
	take(&prof, PERF_RECORD_SWITCH, 110, pid, true);
	take(&prof, PERF_RECORD_SWITCH, 120, other, false);
	take(&prof, PERF_RECORD_SWITCH, 160, tid, true);
	take(&prof, PERF_RECORD_SWITCH, 200, tid, false);
	prof_take(&prof, &(struct pmc_record){ .type = PERF_RECORD_EXIT,
					       .task = { .pid = pid, .tid = pid, .time = 300 } });
	prof_take(&prof, &(struct pmc_record){
				 .type = PERF_RECORD_COMM,
				 .time = 310,
				 .comm = { .pid = pid, .tid = pid, .comm = "new", .exec = true } });
	take(&prof, PERF_RECORD_SWITCH, 350, pid, true);
	prof.stop_ns = 1000;
	prof_settle(&prof);
	assert_int_equal(main_one->row.end_ns, 300);
	assert_int_equal(caller->row.end_ns, 310);
	assert_int_equal(caller->row.cpu_ns, 60 + 110);
	assert_true(caller->image->replaced);
	assert_int_equal(caller->image->fixed.end_ns, 310);
	assert_int_equal(beside->row.end_ns, 0);
	HASH_FIND_INT(prof.threads, &pid, thread);
	assert_int_equal(thread->row.cpu_ns, 40);
	assert_int_equal(thread->before.cpu_ns, 7 + 60 + 110);
	assert_int_equal(thread->before.usage.voluntary_switches, 1);
	assert_int_equal(thread->life, caller->life);
	assert_string_equal(thread->row.name, "new");
	prof_free(&prof);
}

/* The command as a whole used `more_ns` than its main thread, which /proc had, and 100 others. */
static void check_ends(uint64_t more_ns, uint64_t of_main, uint64_t of_each, bool least)
{
	const uint32_t pid = INT32_MAX - 1000;
	struct prof prof = { .start_ns = 100, .makes_rows = true };
	struct prof_writing w;

	unwind_init(&prof.unwind, false);
	for (uint32_t i = 0; i <= 100; i++) {
		struct prof_thread *thread = prof_thread_add(&prof, pid, pid + i, 100);

		thread->state = PROF_OFF;
		thread->row.cpu_ns = i ? 20000 : 1000000;
		thread->row.voluntary_switches = thread->read_switches = i ? 0 : 100;
	}
	for (uint32_t i = 101; i--;)
		prof_take(&prof,
			  &(struct pmc_record){
				  .type = PERF_RECORD_EXIT,
				  .task = { .pid = pid, .tid = pid + i, .time = 1000 - i } });
	prof.stop_ns = 2000;
	prof.command_cpu_ns = 3000000 + more_ns;
	prof_write_begin(&w, &prof, -1);
	prof_write_rows(&w);
	for (const struct prof_thread *t = prof.last; t; t = t->next) {
		assert_int_equal(t->row.cpu_ns,
				 t->tid == pid ? 1000000 + of_main : 20000 + of_each);
		assert_int_equal(t->least_cpu, least);
	}
	prof_write_end(&w);
	prof_free(&prof);
}

static void what_ends_of_threads_take_is_theirs(void **state)
{
	check_ends(104 * 10000, 4 * 10000, 10000, false);
	check_ends(UINT64_C(1000000000), 0, 0, true);
}

/* The command, with a child if it is another process, used 50 ms more than the two rows. */
static void check_missing(uint32_t other, uint64_t of_main, uint64_t of_children)
{
	const uint32_t pid = INT32_MAX - 1000;
	struct prof prof = { .start_ns = 100, .makes_rows = true, .command_cpu_ns = 60000000 };
	struct prof_writing w;

	unwind_init(&prof.unwind, false);
	prof_thread_add(&prof, pid, pid, 100)->row.cpu_ns = 3000000;
	prof_thread_add(&prof, other, pid + 1, 200)->row.cpu_ns = 7000000;
	for (struct prof_thread *thread = prof.last; thread; thread = thread->next)
		thread->row.end_ns = thread->image->fixed.end_ns = 1000 - thread->row.start_ns;
	prof.stop_ns = 2000;
	prof_write_begin(&w, &prof, -1);
	prof_write_rows(&w);
	for (const struct prof_image *image = prof.last_image; image; image = image->next)
		if (image->fixed.flags & PMC_PROCESS_FIRST) {
			assert_int_equal(image->fixed.cpu_ns, of_main);
			assert_int_equal(image->fixed.children_cpu_ns, of_children);
		} else {
			assert_int_equal(image->fixed.cpu_ns, 7000000);
			assert_int_equal(image->fixed.children_cpu_ns, 0);
		}
	prof_write_end(&w);
	prof_free(&prof);
}

static void what_rows_lack_is_in_the_first_process(void **state)
{
	check_missing(INT32_MAX - 1000, 60000000, 0);
	check_missing(INT32_MAX - 999, 3000000, 57000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_time_is_between_switches),
		cmocka_unit_test(cpu_time_where_records_were_lost),
		cmocka_unit_test(ends_when_no_thread_starts_either),
		cmocka_unit_test(a_switch_is_not_in_the_wait),
		cmocka_unit_test(samples_by_clocks_of_cpus),
		cmocka_unit_test(another_thread_than_the_main_one_calls_exec),
		cmocka_unit_test(what_ends_of_threads_take_is_theirs),
		cmocka_unit_test(what_rows_lack_is_in_the_first_process),
		cmocka_unit_test(waits_for_a_cpu_throughout),
		cmocka_unit_test(waits_for_a_cpu_at_start_and_stop),
		cmocka_unit_test(a_loss_ends_waits_without_time),
		cmocka_unit_test(lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
