/* SPDX-License-Identifier: MIT */
/* test_plan_counters.c - plans on PMUs with dead counters, and whether all groups fit twice. */
#include "tests/unit/plan_try.h"

/* Six counters of which one is dead: groups of five, which must not be scheduled two at a time. */
static void takes_no_counter_that_does_not_count(void **state)
{
	struct pmc_events events = hardware(&arena, 6);

	kernel.alive = 5;
	make_plan(&events);
	assert_int_equal(plan.groups, 2);
	assert_int_equal(plan.first[1], 5);
	assert_int_equal(plan.opened, 6);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(plan.events[i].flags, PMC_EVENT_EXCLUSIVE);
		assert_int_equal(plan.attrs[i].base.exclusive, i == 0 || i == 5);
	}
	/* Five events leave one counter free. */
	events.count = 5;
	make_plan(&events);
	assert_int_equal(plan.groups, 1);
	assert_int_equal(plan.events[0].flags, 0);
	/* Two groups of three would use all six. */
	events.count = 3;
	make_plan(&events);
	assert_false(pmc_plan_fits_twice(&plan, fake_open));
	events.count = 2;
	make_plan(&events);
	assert_true(pmc_plan_fits_twice(&plan, fake_open));
}

/* An event that never counts is not taken for a dead counter, and its group stays whole. */
static void tells_a_counter_from_an_event(void **state)
{
	struct pmc_events events = hardware(&arena, 6);

	for (unsigned i = 0; i < 6; i++)
		events.list[i].config = PERF_COUNT_HW_CPU_CYCLES + i;
	/* A hypervisor that emulates instructions may increment the dead counter slightly. */
	kernel.alive = 5;
	kernel.emulated = 5;
	make_plan(&events);
	assert_int_equal(plan.groups, 2);
	assert_int_equal(plan.events[0].flags, PMC_EVENT_EXCLUSIVE);
	assert_false(pmc_plan_fits_twice(&plan, fake_open));
	kernel.opens = kernel.alive = 0;
	kernel.blocked = PERF_COUNT_HW_CACHE_MISSES;
	make_plan(&events);
	/* Each alone, all as one group, and six known events. */
	assert_int_equal(kernel.opens, 6 + 6 + 6);
	assert_int_equal(plan.groups, 1);
	assert_int_equal(plan.events[0].flags, 0);
	/* A group of which no event counts does not show a dead counter. */
	kernel.alive = 0;
	kernel.emulated = 0;
	kernel.blocked = UINT64_MAX;
	make_plan(&events);
	assert_int_equal(plan.groups, 1);
}

/* Two groups that each leave a counter free use the dead one when both are scheduled. */
static void finds_a_dead_counter_behind_braces(void **state)
{
	struct pmc_events events = hardware(&arena, 6);

	kernel.alive = 5;
	for (unsigned i = 0; i < 6; i++)
		events.list[i].brace = i / 3;
	make_plan(&events);
	assert_int_equal(plan.groups, 2);
	assert_int_equal(plan.opened, 6);
	assert_int_equal(plan.events[0].flags, PMC_EVENT_EXCLUSIVE);
	kernel.alive = 0;
	make_plan(&events);
	assert_int_equal(plan.events[0].flags, 0);
}

/* Events of topdown open only with slots as leader. */
static void keeps_an_event_behind_its_leader(void **state)
{
	struct pmc_events events = hardware(&arena, 6);

	kernel.led = 105;
	kernel.leads = 100;
	make_plan(&events);
	assert_int_equal(plan.groups, 1);
	assert_int_equal(plan.opened, 6);
	/* Another group, with another leader. */
	kernel.alive = 5;
	make_plan(&events);
	assert_int_equal(plan.opened, 5);
	assert_int_equal(plan.events[5].event.config, 105);
	assert_int_equal(plan.events[5].state, PMC_NOT_SUPPORTED);
	kernel.leads = 101;
	kernel.alive = 0;
	make_plan(&events);
	assert_int_equal(plan.opened, 5);
	assert_int_equal(plan.events[5].state, PMC_NOT_SUPPORTED);
	/* In braces with its leader an event does not depend on other events. */
	events.list[1].brace = events.list[5].brace = 0;
	make_plan(&events);
	assert_int_equal(plan.opened, 6);
}

static void knows_whether_it_fits_twice(void **state)
{
	struct pmc_events events = hardware(&arena, 3);

	make_plan(&events);
	assert_true(pmc_plan_fits_twice(&plan, fake_open));
	kernel.counters = 5;
	assert_false(pmc_plan_fits_twice(&plan, fake_open));
	/* Two groups, each of which fits, but not both at once. */
	events.list[2].brace = 0;
	make_plan(&events);
	assert_int_equal(plan.groups, 2);
	assert_false(pmc_plan_fits_twice(&plan, fake_open));
	kernel.counters = 6;
	assert_true(pmc_plan_fits_twice(&plan, fake_open));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAN_TEST(takes_no_counter_that_does_not_count),
		PLAN_TEST(tells_a_counter_from_an_event),
		PLAN_TEST(finds_a_dead_counter_behind_braces),
		PLAN_TEST(keeps_an_event_behind_its_leader),
		PLAN_TEST(knows_whether_it_fits_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
