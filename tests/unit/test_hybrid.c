/* SPDX-License-Identifier: MIT */
/* test_hybrid.c - types of cores and machine-wide PMUs: from a made-up sysfs to the plan. */
#include "lib/event/event.h"
#include "lib/plan/plan.h"
#include "tests/unit/event_tree.h"
#include "tests/unit/fake_pmu.h"

#include <errno.h>

static const struct pmc_event_roots hybrid = { "hybrid", "trace", true };
static const struct pmc_event_roots clusters = { "clusters", "trace", true };
static const struct pmc_event_roots alike = { "alike", "trace", true };

static struct pmc_arena arena;
static struct pmc_events events;
static struct pmc_plan plan;

static int setup(void **state)
{
	return fake_reset(state);
}

static int teardown(void **state)
{
	pmc_arena_free(&arena);
	memset(&arena, 0, sizeof(arena));
	return 0;
}

static void parse(const struct pmc_event_roots *roots, const char *text)
{
	struct pmc_parse_error error;

	if (pmc_events_parse(text, roots, &arena, &events, &error) != 0)
		fail_msg("%s: %s", text, error.text);
}

static void make(const struct pmc_event_roots *roots, const char *text)
{
	unsigned before = open_fds();

	parse(roots, text);
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(open_fds(), before);
}

static void is_event(unsigned i, const char *name, const char *core_type, uint32_t type,
		     uint64_t config, unsigned position)
{
	const struct pmc_event *event = &events.list[i];

	assert_string_equal(event->name, name);
	assert_string_equal(event->core_type ? event->core_type : "", core_type);
	assert_int_equal(event->type, type);
	assert_int_equal(event->config, config);
	assert_int_equal(event->position, position);
}

#define ON(pmu, config) ((uint64_t)(pmu) << 32 | (config))

static void each_type_of_core_counts(void **state)
{
	parse(&hybrid, "cycles,L1-dcache-load-misses:u,r1c2,cs,cpu_atom/event=0x3c/");
	assert_int_equal(events.count, 8);
	is_event(0, "cycles", "cpu_core", PERF_TYPE_HARDWARE, ON(CORE, 0), 0);
	is_event(1, "cycles", "cpu_atom", PERF_TYPE_HARDWARE, ON(ATOM, 0), 0);
	is_event(2, "L1-dcache-load-misses:u", "cpu_core", PERF_TYPE_HW_CACHE, ON(CORE, 0x10000),
		 1);
	is_event(3, "L1-dcache-load-misses:u", "cpu_atom", PERF_TYPE_HW_CACHE, ON(ATOM, 0x10000),
		 1);
	assert_true(events.list[3].exclude_kernel);
	/* A raw code goes to the PMU of its type of core. */
	is_event(4, "r1c2", "cpu_core", CORE, 0x1c2, 2);
	is_event(5, "r1c2", "cpu_atom", ATOM, 0x1c2, 2);
	is_event(6, "cs", "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 3);
	is_event(7, "cpu_atom/event=0x3c/", "cpu_atom", ATOM, 0x3c, 4);
}

static void arm_clusters_by_type_number(void **state)
{
	parse(&clusters, "instructions");
	assert_int_equal(events.count, 2);
	is_event(0, "instructions", "armv8_cortex_a72", PERF_TYPE_HARDWARE, ON(7, 1), 0);
	is_event(1, "instructions", "armv8_cortex_a53", PERF_TYPE_HARDWARE, ON(8, 1), 0);
}

static void cores_that_are_alike_are_one(void **state)
{
	parse(&alike, "cycles,r11,armv8_pmuv3_0/config=8/");
	assert_int_equal(events.count, 3);
	is_event(0, "cycles", "", PERF_TYPE_HARDWARE, 0, 0);
	is_event(1, "r11", "", PERF_TYPE_RAW, 0x11, 1);
	is_event(2, "armv8_pmuv3_0/config=8/", "", 8, 8, 2);
	/* The tree used by other tests has a PMU "cpu". */
	parse(&tree_roots, "cycles");
	assert_int_equal(events.count, 1);
}

static void what_is_named_twice_is_two_pairs(void **state)
{
	parse(&hybrid, "cycles,@default,cycles");
	assert_int_equal(events.count, 2 * 7);
	is_event(12, "cycles", "cpu_core", PERF_TYPE_HARDWARE, ON(CORE, 0), 6);
	is_event(13, "cycles", "cpu_atom", PERF_TYPE_HARDWARE, ON(ATOM, 0), 6);
}

/* Groups of the plan as text, e.g. "cpu_core:2 cpu_atom:2". */
static const char *groups(void)
{
	static char text[256];
	size_t len = 0;

	text[0] = '\0';
	for (unsigned g = 0; g < plan.groups; g++) {
		const char *type = plan.events[plan.first[g]].event.core_type;

		for (unsigned i = plan.first[g]; i < plan.first[g + 1]; i++)
			assert_string_equal(plan.events[i].event.core_type ?
						    plan.events[i].event.core_type :
						    "",
					    type ? type : "");
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s:%u", g ? " " : "",
					type ? type : "", plan.first[g + 1] - plan.first[g]);
	}
	return text;
}

static void types_share_no_group(void **state)
{
	make(&hybrid, "@default,cs");
	assert_string_equal(groups(), "cpu_core:6 cpu_atom:6 :1");
	kernel.atom_counters = 4;
	make(&hybrid, "@default,cs");
	assert_string_equal(groups(), "cpu_core:6 cpu_atom:4 cpu_atom:2 :1");
	/* Braces give one group for each type of core; a group that does not fit is not counted. */
	make(&hybrid, "{cycles,instructions,branches,branch-misses,cache-misses},r11");
	assert_string_equal(groups(), "cpu_core:5 cpu_core:1 cpu_atom:1");
	for (unsigned i = plan.opened; i < plan.count; i++) {
		assert_string_equal(plan.events[i].event.core_type, "cpu_atom");
		assert_int_equal(plan.events[i].error, PMC_REASON_BRACE);
	}
}

static void ratios_stay_together_on_each_type(void **state)
{
	kernel.counters = 2;
	make(&hybrid, "cycles,branches,instructions,branch-misses");
	assert_string_equal(groups(), "cpu_core:2 cpu_atom:2 cpu_core:2 cpu_atom:2");
	for (unsigned g = 0; g < plan.groups; g++) {
		uint64_t a = plan.events[plan.first[g]].event.config & 0xff,
			 b = plan.events[plan.first[g] + 1].event.config & 0xff;

		assert_true((a == 0 && b == 1) || (a == 4 && b == 5));
	}
}

static void one_type_may_lack_an_event(void **state)
{
	kernel.missing = ON(ATOM, PERF_COUNT_HW_BUS_CYCLES);
	make(&hybrid, "bus-cycles,cycles");
	assert_string_equal(groups(), "cpu_core:2 cpu_atom:1");
	assert_int_equal(plan.count, 4);
	assert_int_equal(plan.events[3].state, PMC_NOT_SUPPORTED);
	assert_int_equal(plan.events[3].error, ENOENT);
	assert_string_equal(plan.events[3].event.core_type, "cpu_atom");
}

/* ---- the whole machine ------------------------------------------------------------------ */

static void what_counts_for_the_machine_is_no_threads(void **state)
{
	make(&hybrid, "cs,power/energy-pkg/");
	assert_int_equal(plan.opened, 1);
	assert_int_equal(plan.count, 2);
	assert_true(pmc_event_is_uncore(&plan.events[1].event));
	assert_int_equal(plan.events[1].group, PMC_NO_GROUP);
	assert_int_equal(plan.events[1].state, PMC_NOT_COUNTED);
	assert_int_equal(plan.events[1].error, PMC_REASON_UNCORE);
	assert_true(plan.events[1].event.scale == 0.25);
	assert_string_equal(plan.events[1].event.unit, "Joules");
	assert_string_equal(plan.events[1].event.cpus, "0,4-5");
}

static void the_machine_is_its_cpus(void **state)
{
	static const int want[] = { 0, 4, 5 };
	struct pmc_plan machine;
	int cpus[PMC_EVENTS_MAX];

	make(&hybrid, "cs,power/energy-pkg/");
	assert_int_equal(pmc_plan_uncore(&plan, &arena, &machine, cpus), 0);
	assert_int_equal(machine.count, 3);
	for (unsigned i = 0; i < 3; i++) {
		char name[8];

		snprintf(name, sizeof(name), "%d", want[i]);
		assert_int_equal(cpus[i], want[i]);
		assert_string_equal(machine.events[i].event.core_type, name);
		assert_int_equal(machine.events[i].flags, PMC_EVENT_UNCORE);
		assert_int_equal(machine.events[i].state, PMC_COUNTED);
	}
	/* Events of a PMU with 65 CPUs exceed the size of a set: none is opened, as a part of them
	 * would look like the total. */
	make(&hybrid, "power/energy-pkg/,uncore_large/event=1/");
	assert_int_equal(pmc_plan_uncore(&plan, &arena, &machine, cpus), 0);
	assert_int_equal(machine.count, PMC_EVENTS_MAX);
	for (unsigned i = 0; i < machine.count; i++)
		assert_int_equal(machine.events[i].error, i < 3 ? 0 : PMC_REASON_UNCORE_FULL);
	make(&hybrid, "cycles");
	assert_int_equal(pmc_plan_uncore(&plan, &arena, &machine, cpus), 0);
	assert_int_equal(machine.count, 0);
}

static void lists_of_cpus_that_make_no_sense(void **state)
{
	static const struct {
		const char *cpus;
		unsigned n;
	} rows[] = { { "0", 1 },   { "0-3,8", 5 }, { "2,0", 2 }, { "3-1", 0 },
		     { "1-", 0 },  { "x", 0 },	   { "1,", 1 },	 { "0,,2", 1 },
		     { "0-0", 1 }, { "7 ", 1 },	   { "-", 0 },	 { "99999999999", 0 } };
	struct pmc_plan machine;
	int cpus[PMC_EVENTS_MAX];

	make(&hybrid, "power/energy-pkg/");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		plan.events[0].event.cpus = rows[i].cpus;
		assert_int_equal(pmc_plan_uncore(&plan, &arena, &machine, cpus), 0);
		if (machine.count != rows[i].n)
			fail_msg("'%s' is %u CPUs", rows[i].cpus, machine.count);
	}
}

static void the_machine_has_no_modes_and_no_groups(void **state)
{
	static const struct {
		const char *text;
		int error;
	} rows[] = {
		{ "power/energy-pkg/u", -EINVAL },
		{ "power/energy-pkg/:k", -EINVAL },
		{ "{cs,power/energy-pkg/}", -EINVAL },
	};
	struct pmc_parse_error error;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(pmc_events_parse(rows[i].text, &hybrid, &arena, &events, &error),
				 -EINVAL);
		assert_int_equal(error.error, rows[i].error);
		assert_non_null(strstr(error.text, "whole machine"));
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_type_of_core_counts),
		TEST(arm_clusters_by_type_number),
		TEST(cores_that_are_alike_are_one),
		TEST(what_is_named_twice_is_two_pairs),
		TEST(types_share_no_group),
		TEST(ratios_stay_together_on_each_type),
		TEST(one_type_may_lack_an_event),
		TEST(what_counts_for_the_machine_is_no_threads),
		TEST(the_machine_is_its_cpus),
		TEST(lists_of_cpus_that_make_no_sense),
		TEST(the_machine_has_no_modes_and_no_groups),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
