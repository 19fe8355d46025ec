/* SPDX-License-Identifier: MIT */
/* test_trace_summary.c - times of threads in --summary, from switches without sched_switch. */
#include "tools/trace/trace.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct trace trace;
static struct trace_summary summary;

static int set_up(void **state)
{
	summary = (struct trace_summary){ .trace = &trace, .start_ns = 1000 };
	unwind_init(&trace.unwind, false);
	summary.by_tid = calloc(TRACE_TIDS, sizeof(struct trace_thread *));
	summary.cpus = calloc(TRACE_SUMMARY_CPUS, sizeof(*summary.cpus));
	trace.summary = &summary;
	return summary.by_tid && summary.cpus ? 0 : -1;
}

static int tear_down(void **state)
{
	free(summary.cpus);
	free(summary.by_tid);
	unwind_free(&trace.unwind);
	pmc_arena_free(&trace.arena);
	return 0;
}

enum kind { IN, OUT, OUT_PREEMPTED };

static void take(uint64_t ns, enum kind kind, int from, int to)
{
	struct pmc_record record = { .type = PERF_RECORD_SWITCH_CPU_WIDE, .time = ns, .cpu = 3 };

	record.tid = (uint32_t)(kind == IN ? to : from);
	record.context_switch.out = kind != IN;
	record.context_switch.preempted = kind == OUT_PREEMPTED;
	record.context_switch.other_tid = (uint32_t)(kind == IN ? from : to);
	trace_summary_switch(&trace, &record);
}

static void both_records(void **state)
{
	const struct trace_thread *a, *b;

	take(2000, OUT, 0, 10);
	take(2001, IN, 0, 10);
	take(5000, OUT_PREEMPTED, 10, 11);
	take(5001, IN, 10, 11);
	take(9000, OUT, 11, 10);
	take(9001, IN, 11, 10);
	take(9500, OUT, 10, 0);
	take(9501, IN, 10, 0);
	a = summary.by_tid[10];
	b = summary.by_tid[11];
	assert_int_equal(a->oncpu_ns, 3500);
	assert_int_equal(a->delay_ns, 1000 + 4000);
	assert_int_equal(a->preempted, 1);
	assert_int_equal(a->waited, 1);
	assert_int_equal(a->state, THREAD_BLOCKED);
	assert_int_equal(b->oncpu_ns, 4000);
	assert_int_equal(b->waited, 1);
	assert_int_equal(a->unseen + b->unseen, 0);
}

/* The kernel drops all events of some threads: such a thread left when the next one began to run.
 */
static void only_the_next_thread(void **state)
{
	const struct trace_thread *a, *b;

	take(2000, IN, 0, 10);
	take(5000, IN, 10, 11);
	take(7000, OUT, 11, 0);
	a = summary.by_tid[10];
	b = summary.by_tid[11];
	assert_int_equal(a->oncpu_ns, 3000);
	assert_int_equal(a->unseen, 1);
	assert_int_equal(b->oncpu_ns, 2000);
	assert_int_equal(b->unseen, 0);
}

/* sched_switch was there. */
static void recorded_switches(void **state)
{
	take(2000, IN, 0, 10);
	summary.cpus[3] = (struct trace_cpu){ .tid = 11, .time_ns = 5000, .last = SWITCHED };
	take(5001, OUT, 10, 11);
	take(5002, IN, 10, 11);
	assert_int_equal(summary.by_tid[10]->state, THREAD_RUNNING);
	assert_null(summary.by_tid[11]);
	/* Then one without it, to the same thread again. */
	take(6000, OUT, 11, 0);
	take(7000, OUT, 0, 11);
	assert_int_equal(summary.by_tid[11]->state, THREAD_RUNNING);
}

static void ended_threads(void **state)
{
	const struct trace_thread *a;

	take(2000, OUT, 0, 10);
	a = summary.by_tid[10];
	take(5000, OUT, -1, 0);
	take(5001, IN, -1, 0);
	assert_int_equal(a->oncpu_ns, 3000);
	assert_int_equal(a->state, THREAD_GONE);
	assert_null(summary.by_tid[10]);
	/* Another one with its ID. */
	take(6000, OUT, 0, 10);
	assert_ptr_not_equal(summary.by_tid[10], a);
	assert_int_equal(summary.by_tid[10]->unseen, 0);
}

/* It slept when the trace began; the kernel drops the record of its wake-up. */
static void no_wake_up(void **state)
{
	struct trace_thread *a = trace_thread_add(&summary, 10, true);

	a->reason = "sleep";
	take(5000, OUT, 0, 10);
	take(6000, OUT, 10, 0);
	assert_int_equal(a->oncpu_ns, 1000);
	assert_int_equal(a->delay_ns, 0);
	/* One that did not sleep was ready to run. */
	a = trace_thread_add(&summary, 11, true);
	take(7000, OUT, 0, 11);
	assert_int_equal(a->delay_ns, 6000);
}

/* Three threads without a record, which could run at the start: this one, as one that has used a
 * CPU throughout, and none of it; one whose time is not known. */
static void no_record(void **state)
{
	enum { RUNS, WAITS, UNKNOWN };
	static const uint64_t cpu_ns[] = { 0, UINT64_MAX - 1, UINT64_MAX };
	static const enum trace_thread_state becomes[] = { THREAD_RUNNING, THREAD_RUNNABLE,
							   THREAD_UNKNOWN };

	for (unsigned i = RUNS; i <= UNKNOWN; i++) {
		struct trace_thread *a = trace_thread_add(&summary, gettid(), true);

		a->cpu_ns = cpu_ns[i];
		summary.some = i & 1;
		trace.rings.stopped_ns = summary.start_ns + 1000;
		trace_summary_find_still(&trace);
		assert_int_equal(a->state, becomes[i]);
		assert_int_equal(trace_is_row(a), i != UNKNOWN);
		assert_int_equal(a->pid, i == UNKNOWN ? 0 : getpid());
		trace_thread_settle(&summary, a, trace.rings.stopped_ns);
		assert_int_equal(a->oncpu_ns, i == RUNS ? 1000 : 0);
		assert_int_equal(a->delay_ns, i == WAITS ? 1000 : 0);
	}
}

static void check_reason(char state, const char *lines, const char *reason, enum live_cause cause)
{
	struct trace_thread *a = trace_thread_add(&summary, 10, true);
	char stack[256];

	snprintf(stack, sizeof(stack), "%s", lines);
	trace_reason_in(&summary, a, state, stack);
	assert_string_equal(a->reason, reason);
	assert_int_equal(a->cause, cause);
}

/* Some lines have the module of the function. */
static void kernel_stacks(void **state)
{
	check_reason('S',
		     "[<0>] svc_recv+0x8f/0x2a0 [sunrpc]\n[<0>] nfsd+0xd5/0x190 [nfsd]\n"
		     "[<0>] kthread+0xda/0x100\n[<0>] ret_from_fork+0x22/0x30",
		     "nfsd", CAUSE_OTHER);
	check_reason('D',
		     "[<0>] hrtimer_nanosleep+0x99/0x120\n"
		     "[<0>] __x64_sys_nanosleep+0xb6/0xf0\n"
		     "[<0>] do_syscall_64+0x3b/0x90\n"
		     "[<0>] entry_SYSCALL_64_after_hwframe+0x44/0xae",
		     "nanosleep (D)", CAUSE_TIMER);
	check_reason('S',
		     "[<0>] pipe_read+0x2f/0x90\n[<0>] vfs_read+0x1/0x2\n[<0>] ksys_read+0x1/0x2",
		     "read", CAUSE_PIPE);
	/* The outermost function that shows a cause. */
	check_reason('D', "[<0>] mutex_lock+0x1/0x2\n[<0>] exc_page_fault+0x1/0x2",
		     "page fault (D)", CAUSE_PAGE_FAULT);
	check_reason('D', "", "disk", CAUSE_DISK);
	check_reason('S', "[<0>] sk_wait_data+0x1/0x2\n[<0>] __sys_recvfrom+0x1/0x2", "recvfrom",
		     CAUSE_SOCKET);
	check_reason('I', "[<0>] kthread+0xda/0x100\n", "idle", CAUSE_OTHER);
}

/* Thread 10 waits from 2000 to 5000, 6000 to 7000 and 8000 to 8500; thread 11 wakes it twice, and
 * runs until 3000, and from 4000 on. */
static void waits_by_waker(void **state)
{
	struct trace_thread *a, *b;
	const struct trace_wait *by;

	trace.by = TRACE_BY_WAKER;
	take(1500, OUT, 0, 10);
	take(2000, OUT, 10, 11);
	take(3000, OUT, 11, 0);
	take(4000, OUT, 0, 11);
	a = summary.by_tid[10];
	b = summary.by_tid[11];
	a->waker = b;
	take(5000, OUT_PREEMPTED, 11, 10);
	take(6000, OUT, 10, 11);
	a->waker = b;
	take(7000, OUT_PREEMPTED, 11, 10);
	take(8000, OUT, 10, 11);
	take(8500, OUT_PREEMPTED, 11, 10);
	by = a->waits;
	assert_ptr_equal(by->key.waker, &summary.no_thread[BY_UNKNOWN]);
	assert_int_equal(by->ns, 500);
	by = by->next;
	assert_null(by->next);
	assert_ptr_equal(by->key.waker, b);
	assert_int_equal(by->lengths.n, 2);
	assert_int_equal(by->lengths.most, 3000);
	assert_int_equal(by->ns, 3000 + 1000);
	assert_int_equal(by->waker_ns[0], 1000 + 1000 + 1000);
	assert_int_equal(by->waker_ns[1], 0);
	assert_int_equal(by->waker_ns[2], 1000);
	assert_int_equal(a->blocked_ns, by->ns + 500);
	trace.by = TRACE_BY_DEFAULT;
}

/* Thread 10 waits while thread 11 runs for half of each 100 ns, in far more turns than are kept. */
static void long_past(void **state)
{
	struct trace_thread *a;
	uint64_t ns = 10000;

	trace.by = TRACE_BY_WAKER;
	take(1500, OUT, 0, 10);
	take(2000, OUT, 10, 11);
	for (; ns < 1000000; ns += 100) {
		take(ns, OUT, 11, 0);
		take(ns + 50, OUT, 0, 11);
	}
	a = summary.by_tid[10];
	a->waker = summary.by_tid[11];
	take(ns, OUT, 11, 10);
	assert_int_equal(a->waits->ns, 998000);
	/* To a hundredth of the length of the wait. */
	assert_in_range(a->waits->waker_ns[0], 503000 - 9980, 503000 + 9980);
	assert_in_range(a->waits->waker_ns[2], 495000 - 9980, 495000 + 9980);
	a->since_ns = 500000;
	a->state = THREAD_BLOCKED;
	a->waker = summary.by_tid[11];
	trace_thread_settle(&summary, a, ns);
	assert_in_range(a->waits->waker_ns[0], 503000 + 250000 - 5000, 503000 + 250000 + 5000);
	trace.by = TRACE_BY_DEFAULT;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(both_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_the_next_thread, set_up, tear_down),
		cmocka_unit_test_setup_teardown(recorded_switches, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ended_threads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_wake_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_record, set_up, tear_down),
		cmocka_unit_test_setup_teardown(kernel_stacks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(waits_by_waker, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_past, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
