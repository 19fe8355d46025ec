/* SPDX-License-Identifier: MIT */
/* test_trace_summary.c - times of threads in --summary, from switches without sched_switch. */
#include "tools/trace/trace.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

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

/* Some lines have the module of the function. */
static void kernel_stacks(void **state)
{
	char nfsd[] = "[<0>] svc_recv+0x8f/0x2a0 [sunrpc]\n[<0>] nfsd+0xd5/0x190 [nfsd]\n"
		      "[<0>] kthread+0xda/0x100\n[<0>] ret_from_fork+0x22/0x30";
	char sleep[] = "[<0>] hrtimer_nanosleep+0x99/0x120\n"
		       "[<0>] __x64_sys_nanosleep+0xb6/0xf0\n"
		       "[<0>] do_syscall_64+0x3b/0x90\n"
		       "[<0>] entry_SYSCALL_64_after_hwframe+0x44/0xae";
	char none[] = "", entry[] = "[<0>] kthread+0xda/0x100\n";

	assert_string_equal(trace_reason_in(&summary, 'S', nfsd), "nfsd");
	assert_string_equal(trace_reason_in(&summary, 'D', sleep), "nanosleep (D)");
	assert_string_equal(trace_reason_in(&summary, 'D', none), "disk");
	assert_string_equal(trace_reason_in(&summary, 'I', entry), "idle");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(both_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_the_next_thread, set_up, tear_down),
		cmocka_unit_test_setup_teardown(recorded_switches, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ended_threads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_wake_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(kernel_stacks, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
