/* SPDX-License-Identifier: MIT */
/* test_mac_counts.c - counts of macOS against a double of its system calls: sources, plans, kperf.
 */
#include "lib/plan/mac_plan.h"
#include "tests/unit/mac_double.h"
#include "tests/unit/unit.h"

const struct pmc_mac_calls pmc_mac_system = DOUBLE_CALLS(double_usage);

static struct pmc_mac mac;
static struct pmc_mac_reading reading;

static void levels_are_told_apart(void **state)
{
	double_reset(2);
	mac_double.work[5] = 1000;
	pmc_mac_open(&mac);
	assert_true(mac.counts);
	assert_int_equal(mac.levels, 2);
	assert_int_equal(pmc_mac_read(&mac, 1005, false, &reading), 0);
	assert_int_equal(reading.counts_error, 0);
	assert_int_equal(reading.level[0].instructions, 990);
	assert_int_equal(reading.level[0].cycles, 1980);
	assert_int_equal(reading.level[1].instructions, 10);
	/* 24 units of 125/3 ns for each instruction. */
	assert_true(reading.has_cpu);
	assert_int_equal(reading.cpu_ns, 1000 * 1000);
	assert_string_equal(reading.name, "worker-1005-wit");
	/* kperf is not in use. */
	assert_int_equal(reading.kpc_error, PMC_REASON_OWN_THREAD);
}

static void an_ended_thread_has_no_reading(void **state)
{
	double_reset(2);
	mac_double.ended[7] = true;
	pmc_mac_open(&mac);
	assert_int_equal(pmc_mac_read(&mac, 1007, false, &reading), -ESRCH);
	mac_double.levels_error = -EINVAL;
	pmc_mac_open(&mac);
	assert_int_equal(pmc_mac_read(&mac, 1007, false, &reading), -ESRCH);
}

static void before_macos_13_a_thread_reads_itself(void **state)
{
	double_reset(2);
	mac_double.work[0] = 500;
	mac_double.levels_error = -EINVAL;
	pmc_mac_open(&mac);
	assert_true(mac.counts);
	assert_int_equal(mac.levels, 0);
	assert_int_equal(pmc_mac_read(&mac, 1000, true, &reading), 0);
	assert_int_equal(reading.counts_error, 0);
	assert_int_equal(reading.level[0].instructions, 500);
	assert_int_equal(reading.cpu_ns, 8000);
	assert_int_equal(pmc_mac_read(&mac, 1001, false, &reading), 0);
	assert_int_equal(reading.counts_error, PMC_REASON_OWN_THREAD);
	assert_int_equal(reading.level[0].instructions, 0);
	assert_int_equal(reading.cpu_ns, 8000);
}

static void a_virtual_machine_leaves_cpu_time(void **state)
{
	double_reset(1);
	mac_double.self_error = -ENOTSUP;
	pmc_mac_open(&mac);
	assert_false(mac.counts);
	assert_int_equal(mac.no_counts, PMC_REASON_NO_COUNTERS);
	assert_int_equal(pmc_mac_read(&mac, 1000, true, &reading), 0);
	assert_int_equal(reading.counts_error, PMC_REASON_NO_COUNTERS);
	assert_int_equal(reading.level[0].cycles, 0);
	assert_true(reading.has_cpu);
	assert_int_equal(reading.cpu_ns, 8000);
}

/* Replies that are too short, or of another number of levels than before, are not used. */
static void a_reply_of_another_shape_is_refused(void **state)
{
	double_reset(2);
	pmc_mac_open(&mac);
	mac_double.short_reply = 8 + 40;
	assert_int_equal(pmc_mac_read(&mac, 1000, true, &reading), 0);
	assert_int_equal(reading.counts_error, EINVAL);
	assert_int_equal(reading.level[0].instructions, 0);
	mac_double.short_reply = 0;
	mac_double.levels = 1;
	pmc_mac_read(&mac, 1000, true, &reading);
	assert_int_equal(reading.counts_error, EINVAL);
	for (int bytes = 1; bytes < 8; bytes++) {
		mac_double.short_reply = bytes;
		pmc_mac_open(&mac);
		assert_int_equal(mac.levels, 0);
	}
	double_reset(9);
	pmc_mac_open(&mac);
	assert_int_equal(mac.levels, 0);
}

/* Under Rosetta: CPU time in nanoseconds of another call. */
static void units_of_time_may_be_unknown(void **state)
{
	double_reset(2);
	mac_double.no_timebase = true;
	mac_double.work[5] = 1000;
	pmc_mac_open(&mac);
	assert_int_equal(pmc_mac_read(&mac, 1005, false, &reading), 0);
	assert_int_equal(reading.level[0].instructions, 990);
	assert_true(reading.has_cpu);
	assert_int_equal(reading.cpu_ns, 8000);
	pmc_mac_read_process(&mac, &reading);
	assert_int_equal(reading.counts_error, 0);
	assert_false(reading.has_cpu);
	assert_int_equal(reading.cpu_ns, 0);
}

/* ---- the whole process -------------------------------------------------------------------- */
static void the_process_is_read(unsigned levels, int version)
{
	double_reset(levels);
	mac_double.usage_version = version;
	mac_double.work[5] = 1000;
	mac_double.work[6] = 500;
	mac_double.ended[6] = true;
	pmc_mac_open(&mac);
	pmc_mac_read_process(&mac, &reading);
	assert_int_equal(reading.kpc_error, PMC_REASON_OWN_THREAD);
	assert_true(reading.has_cpu);
	assert_int_equal(reading.cpu_ns, 1500 * 1000);
}

static void a_process_has_counts_of_ended_threads(void **state)
{
	the_process_is_read(2, 6);
	assert_int_equal(reading.counts_error, 0);
	assert_int_equal(reading.level[0].instructions, 1480);
	assert_int_equal(reading.level[0].cycles, 2960);
	assert_int_equal(reading.level[1].instructions, 20);
	assert_int_equal(reading.level[1].cycles, 40);
	the_process_is_read(1, 4);
	assert_int_equal(reading.counts_error, 0);
	assert_int_equal(reading.level[0].instructions, 1500);
	assert_int_equal(reading.level[1].instructions, 0);
	/* Rows have levels, the process has none, or of two only. */
	the_process_is_read(2, 4);
	assert_int_equal(reading.counts_error, PMC_REASON_NO_SOURCE);
	the_process_is_read(3, 6);
	assert_int_equal(reading.counts_error, PMC_REASON_NO_SOURCE);
}

static void a_process_may_not_be_readable(void **state)
{
	double_reset(2);
	mac_double.usage_error = -EPERM;
	pmc_mac_open(&mac);
	pmc_mac_read_process(&mac, &reading);
	assert_int_equal(reading.counts_error, EPERM);
	assert_false(reading.has_cpu);
	assert_int_equal(reading.cpu_ns, 0);
	assert_int_equal(reading.level[0].cycles, 0);
	mac_double.usage_error = 0;
	mac_double.self_error = -ENOTSUP;
	pmc_mac_open(&mac);
	pmc_mac_read_process(&mac, &reading);
	assert_int_equal(reading.counts_error, PMC_REASON_NO_COUNTERS);
	assert_true(reading.has_cpu);
}

/* ---- kperf -------------------------------------------------------------------------------- */
static unsigned open_kpc(const char *const *names, unsigned n, bool attach, uint32_t *reasons)
{
	struct pmc_mac_event events[8] = { { .user_only = false } };
	unsigned counted;

	for (unsigned i = 0; i < n; i++)
		events[i].name = names[i];
	pmc_mac_open(&mac);
	counted = pmc_mac_kpc_open(&mac, events, n, attach);
	for (unsigned i = 0; i < n; i++)
		reasons[i] = events[i].reason;
	return counted;
}

static void released(void)
{
	assert_int_equal(mac_double.forced, 0);
	assert_int_equal(mac_double.counting, 0);
	assert_int_equal(mac_double.thread_counting, 0);
	assert_int_equal(mac_double.live_db, 0);
	assert_int_equal(mac_double.live_config, 0);
	assert_false(mac_double.order_broken);
	assert_false(mac.kpc);
}

static void kperf_counts_in_the_order_of_the_map(void **state)
{
	static const char *const names[] = { "INST_ALL", "NO_SUCH", "FIXED_CYCLES", "CLASH_A" };
	uint32_t reasons[4];

	double_reset(2);
	mac_double.root = true;
	mac_double.work[0] = 3;
	assert_int_equal(open_kpc(names, 4, false, reasons), 2);
	assert_int_equal(reasons[0], 0);
	assert_int_equal(reasons[1], PMC_REASON_NO_EVENT);
	assert_int_equal(reasons[2], 0);
	assert_int_equal(reasons[3], PMC_REASON_CONFLICT);
	assert_false(mac_double.order_broken);
	assert_int_equal(pmc_mac_read(&mac, 1000, true, &reading), 0);
	assert_int_equal(reading.kpc_error, 0);
	assert_int_equal(reading.kpc[0], 301); /* INST_ALL: counter 1 */
	assert_int_equal(reading.kpc[1], 300); /* FIXED_CYCLES: counter 0 */
	assert_int_equal(pmc_mac_read(&mac, 1001, false, &reading), 0);
	assert_int_equal(reading.kpc_error, PMC_REASON_OWN_THREAD);
	mac_double.read_errno = EINVAL;
	pmc_mac_read(&mac, 1000, true, &reading);
	assert_int_equal(reading.kpc_error, EINVAL);
	assert_int_equal(reading.kpc[0], 0);
	/* Whoever closes may be a signal handler: there is nothing left to free. */
	assert_int_equal(mac_double.live_db, 0);
	assert_int_equal(mac_double.live_config, 0);
	pmc_mac_close(&mac);
	released();
	pmc_mac_close(&mac);
}

/* A failure at each step: the reason of both events, and nothing is kept. */
static void kperf_failures_have_reasons(void **state)
{
	static const char *const names[] = { "INST_ALL", "FIXED_CYCLES" };
	static const struct {
		bool user, no_kperf, no_symbol;
		int db, force, map, force_errno, config_errno, error;
		uint32_t reason;
	} cases[] = {
		{ .user = true, .reason = EPERM },
		{ .no_kperf = true, .reason = PMC_REASON_NO_KPERF },
		{ .no_symbol = true, .reason = PMC_REASON_NO_KPERF },
		{ .db = 13, .reason = PMC_REASON_NO_KPERF },
		{ .db = 15, .error = ENOENT, .reason = ENOENT },
		{ .db = 15, .error = EPERM, .reason = EPERM },
		{ .db = 15, .error = 0, .reason = PMC_REASON_NO_KPERF },
		{ .db = 99, .reason = PMC_REASON_NO_KPERF },
		{ .force = 13, .reason = PMC_REASON_NO_KPERF },
		{ .map = 15, .error = EPERM, .reason = EPERM },
		{ .map = -1, .reason = PMC_REASON_NO_KPERF },
		{ .force_errno = EBUSY, .reason = EBUSY },
		{ .force_errno = EACCES, .reason = EBUSY },
		{ .force_errno = EPERM, .reason = EPERM },
		{ .config_errno = EPERM, .reason = EPERM },
		{ .config_errno = EINVAL, .reason = PMC_REASON_NO_KPERF },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t reasons[2];

		double_reset(2);
		mac_double.root = !cases[i].user;
		mac_double.no_kperf = cases[i].no_kperf;
		mac_double.no_symbol = cases[i].no_symbol;
		mac_double.db_error = cases[i].db;
		mac_double.force_error = cases[i].force;
		mac_double.map_error = cases[i].map;
		mac_double.force_errno = cases[i].force_errno;
		mac_double.config_errno = cases[i].config_errno;
		mac_double.error = cases[i].error;
		if (open_kpc(names, 2, false, reasons) != 0 || reasons[0] != cases[i].reason ||
		    reasons[1] != cases[i].reason)
			fail_msg("case %u: reasons %u and %u", i, reasons[0], reasons[1]);
		released();
		/* Cycles and instructions do not depend on it. */
		assert_true(mac.counts);
	}
}

/* Those that macOS permits are counted beside the one that it does not. */
static void one_refused_event_is_found(void **state)
{
	static const char *const names[] = { "INST_ALL", "INST_SECRET_A", "NO_SUCH", "FIXED_CYCLES",
					     "INST_SECRET_B" };
	uint32_t reasons[5];

	double_reset(2);
	mac_double.root = true;
	mac_double.work[0] = 3;
	assert_int_equal(open_kpc(names, 5, false, reasons), 2);
	assert_int_equal(reasons[0], 0);
	assert_int_equal(reasons[1], EPERM);
	assert_int_equal(reasons[2], PMC_REASON_NO_EVENT);
	assert_int_equal(reasons[3], 0);
	assert_int_equal(reasons[4], EPERM);
	assert_false(mac_double.order_broken);
	assert_int_equal(mac_double.live_config, 0);
	pmc_mac_read(&mac, 1000, true, &reading);
	assert_int_equal(reading.kpc_error, 0);
	assert_int_equal(reading.kpc[0], 301);
	assert_int_equal(reading.kpc[1], 300);
	pmc_mac_close(&mac);
	released();
	/* None is left. */
	double_reset(2);
	mac_double.root = true;
	assert_int_equal(open_kpc(&names[1], 1, false, reasons), 0);
	assert_int_equal(reasons[0], EPERM);
	released();
}

/* Another process of the job has programmed the counters and gives them back. */
static void a_descendant_only_reads(void **state)
{
	static const char *const names[] = { "INST_ALL" };
	struct pmc_mac_event event = { .name = "INST_ALL" };
	uint32_t reason;

	double_reset(2);
	mac_double.root = true;
	mac_double.forced = mac_double.configured = 1;
	mac_double.counting = mac_double.thread_counting = 3;
	assert_int_equal(open_kpc(names, 1, true, &reason), 1);
	pmc_mac_read(&mac, 1000, true, &reading);
	assert_int_equal(reading.kpc_error, 0);
	/* Somebody has stopped counting: the kernel still gives the counts up to then. */
	mac_double.thread_counting = 0;
	pmc_mac_read(&mac, 1000, true, &reading);
	assert_int_equal(reading.kpc_error, PMC_REASON_NO_KPERF);
	assert_int_equal(reading.kpc[0], 0);
	mac_double.thread_counting = 3;
	mac_double.counting = 0;
	pmc_mac_read(&mac, 1000, true, &reading);
	assert_int_equal(reading.kpc_error, PMC_REASON_NO_KPERF);
	pmc_mac_close(&mac);
	assert_int_equal(mac_double.forced, 1);
	assert_int_equal(mac_double.thread_counting, 3);
	mac.refused_above = true;
	assert_int_equal(pmc_mac_kpc_open(&mac, &event, 1, true), 0);
	assert_int_equal(event.reason, EPERM);
	assert_false(mac.kpc);
}

/* ---- plans -------------------------------------------------------------------------------- */
static void plans_name_levels_and_refusals(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_event list[] = {
		{ .name = "cycles",
		  .type = PERF_TYPE_HARDWARE,
		  .config = PERF_COUNT_HW_CPU_CYCLES },
		{ .name = "INST_ALL:u",
		  .type = PMC_TYPE_KPEP,
		  .exclude_kernel = true,
		  .asked_scope = true },
		{ .name = "cache-misses",
		  .type = PERF_TYPE_HARDWARE,
		  .config = PERF_COUNT_HW_CACHE_MISSES },
		{ .name = "instructions:u",
		  .type = PERF_TYPE_HARDWARE,
		  .config = PERF_COUNT_HW_INSTRUCTIONS,
		  .exclude_kernel = true,
		  .asked_scope = true },
		{ .name = "task-clock",
		  .type = PERF_TYPE_SOFTWARE,
		  .config = PERF_COUNT_SW_TASK_CLOCK },
		{ .name = "CLASH_B", .type = PMC_TYPE_KPEP },
	};
	const struct pmc_events events = { .list = list, .count = 6 };
	struct pmc_plan plan;

	for (unsigned i = 0; i < 6; i++) {
		list[i].unit = list[i].pmu = "";
		list[i].scale = 1;
		list[i].brace = PMC_NO_BRACE;
		list[i].position = i;
	}
	double_reset(2);
	mac_double.root = true;
	pmc_mac_open(&mac);
	assert_int_equal(pmc_mac_plan_make(&mac, &events, false, &arena, &plan), 0);
	/* Cycles of both levels, the clock, INST_ALL; then what is not counted. */
	assert_int_equal(plan.count, 7);
	assert_int_equal(plan.opened, 4);
	assert_int_equal(plan.groups, 2);
	assert_int_equal(plan.first[1], 3);
	assert_string_equal(plan.events[0].event.core_type, "Performance");
	assert_string_equal(plan.events[1].event.core_type, "Efficiency");
	assert_string_equal(plan.events[3].event.name, "INST_ALL:u");
	assert_int_equal(plan.events[3].scope, PMC_SCOPE_USER);
	assert_string_equal(mac_double.added[0], "INST_ALL");
	assert_int_equal(plan.events[4].error, PMC_REASON_NO_SOURCE);
	assert_int_equal(plan.events[4].state, PMC_NOT_SUPPORTED);
	assert_int_equal(plan.events[5].error, PMC_REASON_NO_SOURCE);
	assert_int_equal(plan.events[6].error, PMC_REASON_CONFLICT);
	assert_int_equal(plan.events[6].state, PMC_NOT_COUNTED);
	assert_non_null(plan.frame);
	pmc_mac_close(&mac);
	released();
	pmc_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_are_told_apart),
		cmocka_unit_test(an_ended_thread_has_no_reading),
		cmocka_unit_test(before_macos_13_a_thread_reads_itself),
		cmocka_unit_test(a_virtual_machine_leaves_cpu_time),
		cmocka_unit_test(a_reply_of_another_shape_is_refused),
		cmocka_unit_test(units_of_time_may_be_unknown),
		cmocka_unit_test(a_process_has_counts_of_ended_threads),
		cmocka_unit_test(a_process_may_not_be_readable),
		cmocka_unit_test(kperf_counts_in_the_order_of_the_map),
		cmocka_unit_test(kperf_failures_have_reasons),
		cmocka_unit_test(one_refused_event_is_found),
		cmocka_unit_test(a_descendant_only_reads),
		cmocka_unit_test(plans_name_levels_and_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
