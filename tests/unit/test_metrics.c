/* SPDX-License-Identifier: MIT */
/* test_metrics.c - the arithmetic of each metric, and each case in which it must be null. */
#include "tools/rows/metrics.h"
#include "tests/unit/unit.h"

#include <linux/perf_event.h>
#include <string.h>

#define HW    PERF_TYPE_HARDWARE
#define CACHE PERF_TYPE_HW_CACHE
#define RAW   PERF_TYPE_RAW

static unsigned metric(const char *name)
{
	for (unsigned i = 0; i < pmc_n_metrics; i++)
		if (!strcmp(pmc_metrics[i].name, name))
			return i;
	fail_msg("there is no metric '%s'", name);
	return 0;
}

static struct pmc_p_event event(uint32_t type, uint64_t config)
{
	return (struct pmc_p_event){ .def = { .type = type, .config = config, .scale = 1.0 },
				     .name = "",
				     .unit = "",
				     .core_type = "" };
}

static struct pmc_count counted(uint64_t value)
{
	return (struct pmc_count){ .raw = value, .enabled_ns = 1000, .running_ns = 1000 };
}

static void take(const char *name, const struct pmc_p_set_view *set, const struct pmc_count *counts,
		 struct pmc_ratio *ratio)
{
	struct pmc_metric_events pair;

	if (pmc_metric_events(metric(name), set, NULL, &pair))
		pmc_ratio_take(metric(name), &pair, set, counts, ratio);
}

static double value_of(const char *name, const struct pmc_ratio *ratio)
{
	double value = 12345;

	if (pmc_ratio_value(metric(name), ratio, &value))
		return value;
	assert_true(value == 12345);
	return -1;
}

/* The metric of two events with these counts; -1: null. */
static double of(const char *name, const struct pmc_p_event events[2],
		 const struct pmc_count counts[2])
{
	const struct pmc_p_set_view set = { .count = 2, .events = events };
	struct pmc_ratio ratio = { 0 };

	take(name, &set, counts, &ratio);
	return value_of(name, &ratio);
}

static double pair(const char *name, uint32_t a_type, uint64_t a_config, uint64_t a,
		   uint32_t b_type, uint64_t b_config, uint64_t b)
{
	const struct pmc_p_event events[] = { event(a_type, a_config), event(b_type, b_config) };
	const struct pmc_count counts[] = { counted(a), counted(b) };
	const struct pmc_p_event swapped[] = { events[1], events[0] };
	const struct pmc_count swapped_counts[] = { counts[1], counts[0] };
	const struct pmc_p_set_view set = { .count = 2, .events = events };
	double value = of(name, events, counts);

	assert_true(pmc_metric_applies(metric(name), &set));
	assert_true(of(name, swapped, swapped_counts) == value);
	return value;
}

static void arithmetic(void **state)
{
	assert_true(pair("ipc", HW, 1, 300, HW, 0, 200) == 1.5);
	assert_true(pair("cache_miss_ki", HW, 3, 5, HW, 1, 2000) == 2.5);
	assert_true(pair("cache_miss_pct", HW, 3, 5, HW, 2, 20) == 25);
	assert_true(pair("branch_miss_pct", HW, 5, 1, HW, 4, 200) == 0.5);
	assert_true(pair("branch_miss_ki", HW, 5, 1, HW, 1, 4000) == 0.25);
	assert_true(pair("l1d_miss_pct", CACHE, 0x10000, 1, CACHE, 0, 4) == 25);
	assert_true(pair("l1d_miss_ki", CACHE, 0x10000, 1, HW, 1, 500) == 2);
	assert_true(pair("llc_miss_pct", CACHE, 0x10002, 1, CACHE, 2, 4) == 25);
	assert_true(pair("llc_miss_ki", CACHE, 0x10002, 1, HW, 1, 500) == 2);
	assert_true(pair("dtlb_miss_pct", CACHE, 0x10003, 1, CACHE, 3, 4) == 25);
	assert_true(pair("dtlb_miss_ki", CACHE, 0x10003, 1, HW, 1, 500) == 2);
	assert_true(pair("itlb_miss_pct", CACHE, 0x10004, 1, CACHE, 4, 4) == 25);
	assert_true(pair("itlb_miss_ki", CACHE, 0x10004, 1, HW, 1, 500) == 2);
	assert_true(pair("stall_frontend_pct", HW, 7, 1, HW, 0, 4) == 25);
	assert_true(pair("stall_backend_pct", HW, 8, 1, HW, 0, 4) == 25);
	assert_true(pair("stall_bound_pct", HW, 0, 200, HW, 1, 50) == 75);
	assert_true(pair("stall_bound_pct", HW, 0, 200, HW, 1, 700) == 0);
	/* A measured 0 is a 0. */
	assert_true(pair("ipc", HW, 1, 0, HW, 0, 200) == 0);
}

static void zero_divisor(void **state)
{
	assert_true(pair("ipc", HW, 1, 300, HW, 0, 0) == -1);
	assert_true(pair("ipc", HW, 1, 0, HW, 0, 0) == -1);
	assert_true(pair("cache_miss_ki", HW, 3, 5, HW, 1, 0) == -1);
	assert_true(pair("stall_bound_pct", HW, 0, 0, HW, 1, 50) == -1);
}

static void scaled_counts_are_scaled_first(void **state)
{
	const struct pmc_p_event events[] = { event(HW, 1), event(HW, 0) };
	struct pmc_count counts[] = {
		{ .raw = 100, .enabled_ns = 4000, .running_ns = 1000, .state = PMC_SCALED },
		counted(200),
	};

	assert_true(of("ipc", events, counts) == 2.0);
	counts[0].state = PMC_COUNTED;
	assert_true(of("ipc", events, counts) == 0.5);
}

static void not_counted_is_null(void **state)
{
	static const enum pmc_state without[] = { PMC_PARTIAL, PMC_NOT_COUNTED, PMC_NOT_SUPPORTED,
						  PMC_NOT_PERMITTED };
	const struct pmc_p_event events[] = { event(HW, 1), event(HW, 0) };

	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		for (int side = 0; side < 2; side++) {
			struct pmc_count counts[] = { counted(300), counted(200) };

			counts[side].state = without[i];
			assert_true(of("ipc", events, counts) == -1);
		}
	}
}

static void missing_events(void **state)
{
	const struct pmc_p_event events[] = { event(HW, 1), event(HW, 9) };
	const struct pmc_count counts[] = { counted(300), counted(200) };
	const struct pmc_p_set_view set = { .count = 2, .events = events };
	struct pmc_ratio ratio = { 0 };

	assert_true(of("ipc", events, counts) == -1);
	assert_false(pmc_metric_applies(metric("ipc"), &set));
	assert_false(pmc_metric_applies(metric("ipc"), NULL));
	take("ipc", &set, NULL, &ratio);
	assert_true(value_of("ipc", &ratio) == -1);
	assert_false(pmc_metric_applies(pmc_n_metrics, &set));
}

static void mixed_scopes_are_no_pair(void **state)
{
	struct pmc_p_event events[] = { event(HW, 1), event(HW, 0) };
	const struct pmc_count counts[] = { counted(300), counted(200) };
	const struct pmc_p_set_view set = { .count = 2, .events = events };

	events[0].def.scope = PMC_SCOPE_USER;
	assert_true(of("ipc", events, counts) == -1);
	assert_false(pmc_metric_applies(metric("ipc"), &set));
	events[1].def.scope = PMC_SCOPE_USER;
	assert_true(of("ipc", events, counts) == 1.5);
	assert_true(pmc_metric_applies(metric("ipc"), &set));
	events[1].def.scope = PMC_SCOPE_KERNEL;
	assert_true(of("ipc", events, counts) == -1);
}

static void core_types_are_not_mixed(void **state)
{
	struct pmc_p_event events[] = { event(HW, 1 | 4ull << 32), event(HW, 8ull << 32) };
	const struct pmc_count counts[] = { counted(300), counted(200) };

	events[0].core_type = "cpu_core";
	events[1].core_type = "cpu_atom";
	assert_true(of("ipc", events, counts) == -1);
	events[1].core_type = "cpu_core";
	assert_true(of("ipc", events, counts) == 1.5);
	events[0].core_type = events[1].core_type = NULL;
	assert_true(of("ipc", events, counts) == 1.5);
}

/* If an event occurs more than once, the first valid pair with values is used. */
static void the_first_pair_with_values(void **state)
{
	struct pmc_p_event events[] = { event(HW, 1), event(HW, 0), event(HW, 1), event(HW, 0) };
	struct pmc_count counts[] = { counted(300), counted(100), counted(80), counted(40) };
	const struct pmc_p_set_view set = { .count = 4, .events = events };
	struct pmc_ratio first = { 0 }, second = { 0 }, third = { 0 };

	take("ipc", &set, counts, &first);
	assert_true(value_of("ipc", &first) == 3);
	counts[0].state = PMC_NOT_COUNTED;
	counts[1].state = PMC_NOT_COUNTED;
	take("ipc", &set, counts, &second);
	assert_true(value_of("ipc", &second) == 2);
	counts[0].state = counts[1].state = PMC_COUNTED;
	events[0].def.scope = PMC_SCOPE_USER;
	events[3].def.scope = PMC_SCOPE_USER;
	take("ipc", &set, counts, &third);
	assert_true(value_of("ipc", &third) == 7.5);
}

/* A ratio of sums is formed over the rows that have both events. */
static void rows_that_have_both(void **state)
{
	const struct pmc_p_event both[] = { event(HW, 1), event(HW, 0) };
	const struct pmc_p_event one[] = { event(HW, 1) }, other[] = { event(HW, 0) };
	const struct pmc_p_set_view sets[] = {
		{ .count = 2, .events = both },
		{ .count = 1, .events = one },
		{ .count = 1, .events = other },
	};
	const struct pmc_count rows[][2] = {
		{ counted(300), counted(200) },
		{ counted(100), counted(200) },
	};
	const struct pmc_count lone = counted(97000);
	struct pmc_ratio ratio = { 0 }, more = { 0 };

	take("ipc", &sets[1], &lone, &ratio);
	take("ipc", &sets[2], &lone, &ratio);
	assert_true(value_of("ipc", &ratio) == -1);
	take("ipc", &sets[0], rows[0], &ratio);
	assert_true(value_of("ipc", &ratio) == 1.5);
	take("ipc", &sets[0], rows[1], &more);
	pmc_ratio_add(&ratio, &more);
	assert_true(value_of("ipc", &ratio) == 1);
	assert_int_equal(ratio.state, PMC_RATIO_EXACT);
}

static void states_of_ratios(void **state)
{
	struct pmc_p_event events[] = { event(HW, 0), event(HW, 1) };
	struct pmc_count counts[] = {
		{ .raw = 200, .enabled_ns = 4000, .running_ns = 1000, .state = PMC_SCALED },
		{ .raw = 50, .enabled_ns = 4000, .running_ns = 1000, .state = PMC_SCALED },
	};
	const struct pmc_p_set_view set = { .count = 2, .events = events };
	struct pmc_ratio scaled = { 0 }, mixed = { 0 }, bound = { 0 };

	take("ipc", &set, counts, &scaled);
	assert_int_equal(scaled.state, PMC_RATIO_SCALED);
	assert_true(of("stall_bound_pct", events, counts) == 75);
	events[1].def.group = 1;
	take("ipc", &set, counts, &mixed);
	assert_int_equal(mixed.state, PMC_RATIO_MIXED);
	/* Two groups give no bound. */
	take("stall_bound_pct", &set, counts, &bound);
	assert_true(value_of("stall_bound_pct", &bound) == -1);
	counts[0] = counted(200);
	counts[1] = counted(50);
	take("ipc", &set, counts, &scaled);
	assert_int_equal(scaled.state, PMC_RATIO_MIXED);
}

/* A sum over types of cores is of one group if it is so on each type. */
static void groups_of_hybrid_sums(void **state)
{
	struct pmc_p_event events[] = { event(HW, 1), event(HW, 1), event(HW, 1),
					event(HW, 0), event(HW, 0), event(HW, 0) };
	const struct pmc_count counts[] = { counted(900), counted(600), counted(300),
					    counted(450), counted(200), counted(250) };
	const struct pmc_p_set_view set = { .count = 6, .events = events };
	struct pmc_ratio exact = { 0 }, mixed = { 0 };

	for (unsigned i = 0; i < 6; i++) {
		events[i].def.position = i / 3;
		events[i].def.flags = i % 3 ? 0 : PMC_EVENT_SUM;
		events[i].core_type = i % 3 == 0 ? "" : i % 3 == 1 ? "cpu_core" : "cpu_atom";
		events[i].def.group = i % 3 == 2;
	}
	take("ipc", &set, counts, &exact);
	assert_true(value_of("ipc", &exact) == 2);
	assert_int_equal(exact.state, PMC_RATIO_EXACT);
	events[5].def.group = 2;
	take("ipc", &set, counts, &mixed);
	assert_int_equal(mixed.state, PMC_RATIO_MIXED);
}

/* A PMU-specific event of the same name means something else on another PMU. */
static void topdown(void **state)
{
	struct pmc_p_event events[] = { event(RAW, 0x8000), event(RAW, 0x400) };
	const struct pmc_count counts[] = { counted(25), counted(100) };

	assert_true(of("td_retiring_pct", events, counts) == -1);
	events[0].name = "cpu/topdown-retiring/u";
	events[1].name = "cpu/slots/u";
	assert_true(of("td_retiring_pct", events, counts) == 25);
	events[0].def.config1 = 1;
	assert_true(of("td_retiring_pct", events, counts) == -1);
}

static void accounting(void **state)
{
	struct pmc_ratio ratio = { .a = 500000000, .b = 2000000000, .known = true };
	double value;

	assert_true(pmc_metric_applies(metric("cpu_pct"), NULL));
	assert_true(pmc_metric_applies(metric("switches_per_s"), NULL));
	assert_true(pmc_ratio_value(metric("cpu_pct"), &ratio, &value) && value == 25);
	ratio.a = 7;
	assert_true(pmc_ratio_value(metric("switches_per_s"), &ratio, &value) && value == 3.5);
	ratio.b = 0;
	assert_false(pmc_ratio_value(metric("cpu_pct"), &ratio, &value));
	assert_false(pmc_ratio_value(metric("switches_per_s"), &ratio, &value));
}

static void the_table(void **state)
{
	char shown[128] = "";

	for (unsigned i = 0; i < pmc_n_metrics; i++) {
		for (unsigned j = 0; j < i; j++) {
			assert_string_not_equal(pmc_metrics[i].name, pmc_metrics[j].name);
			assert_string_not_equal(pmc_metrics[i].column, pmc_metrics[j].column);
		}
		assert_true(strlen(pmc_metrics[i].doc) > 0);
		if (pmc_metrics[i].table)
			strcat(strcat(shown, pmc_metrics[i].column), ";");
	}
	assert_string_equal(shown, "IPC;cache-miss/ki;br-miss %;");
	assert_non_null(strstr(pmc_metrics[metric("stall_bound_pct")].doc, "lower bound"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arithmetic),
		cmocka_unit_test(zero_divisor),
		cmocka_unit_test(scaled_counts_are_scaled_first),
		cmocka_unit_test(not_counted_is_null),
		cmocka_unit_test(missing_events),
		cmocka_unit_test(mixed_scopes_are_no_pair),
		cmocka_unit_test(core_types_are_not_mixed),
		cmocka_unit_test(the_first_pair_with_values),
		cmocka_unit_test(rows_that_have_both),
		cmocka_unit_test(states_of_ratios),
		cmocka_unit_test(groups_of_hybrid_sums),
		cmocka_unit_test(topdown),
		cmocka_unit_test(accounting),
		cmocka_unit_test(the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
