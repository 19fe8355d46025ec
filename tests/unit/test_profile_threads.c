/* SPDX-License-Identifier: MIT */
/* test_off_cpu.c - waits by switch records. */
#include "tools/offcpu/private.h"
#include "tests/unit/unit.h"

/* ---- switches ----------------------------------------------------------------------------- */

static void take(struct off_cpu *off, uint32_t type, uint64_t time, uint32_t tid, bool out)
{
	struct pmc_record record = { .type = type, .time = time, .pid = 1, .tid = tid };

	if (type == PERF_RECORD_LOST)
		record.lost.lost = 7;
	else
		record.context_switch.out = out;
	off_take(off, &record);
}

static void is_thread(const struct off_cpu *off, uint32_t tid, uint64_t waits, uint64_t ns,
		      uint64_t lost)
{
	const struct off_thread *thread = off->last;

	while (thread && thread->tid != tid)
		thread = thread->next;
	assert_non_null(thread);
	assert_int_equal(thread->n_waits, waits);
	assert_int_equal(thread->wait_ns, ns);
	assert_int_equal(thread->lost, lost);
}

static void a_loss_ends_waits_without_time(void **state)
{
	struct off_cpu off = { .lost = 0 };

	unwind_init(&off.unwind, false);

	/* Thread 1 waits once before and once after the loss, 2 and 3 during it. */
	take(&off, PERF_RECORD_SWITCH, 10, 1, true);
	take(&off, PERF_RECORD_SWITCH, 20, 2, true);
	take(&off, PERF_RECORD_SWITCH, 30, 1, false);
	take(&off, PERF_RECORD_SWITCH, 40, 3, true);
	take(&off, PERF_RECORD_LOST, 1000, 2, false);
	take(&off, PERF_RECORD_SWITCH, 1010, 1, true);
	take(&off, PERF_RECORD_SWITCH, 1020, 2, false);
	take(&off, PERF_RECORD_SWITCH, 1040, 1, false);
	/* The next wait of 2 is whole. */
	take(&off, PERF_RECORD_SWITCH, 1050, 2, true);
	off.stop_ns = 1100;
	off_settle(&off);
	is_thread(&off, 1, 2, 20 + 30, 0);
	is_thread(&off, 2, 1, 50, 1);
	is_thread(&off, 3, 0, 0, 1);
	assert_int_equal(off.lost, 7);
	unwind_free(&off.unwind);
	pmc_arena_free(&off.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loss_ends_waits_without_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
