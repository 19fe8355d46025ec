/* SPDX-License-Identifier: MIT */
/* test_plan_counters.c - plans where not every counter counts, and what fits twice. */
#include "agent/core/plan/plan.h"
#include "tests/unit/fake_pmu.h"

/* Six run and one of them stays at 0: five at a time, and never two groups of together six. */
static void takes_no_counter_that_does_not_count(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events = hardware(&arena, 6);
	struct pmc_plan plan;
	unsigned before = open_fds();

	(void)state;
	kernel.alive = 5;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.groups, 2);
	assert_int_equal(plan.first[1], 5);
	assert_int_equal(plan.opened, 6);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(plan.events[i].flags, PMC_EVENT_ALONE);
		assert_int_equal(plan.own[i].base.exclusive, i == 0 || i == 5);
	}
	/* Those that leave one free are as they would be anywhere. */
	events.count = 5;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.groups, 1);
	assert_int_equal(plan.events[0].flags, 0);
	/* As many again would take the last. */
	events.count = 3;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_false(pmc_plan_fits_twice(&plan, fake_open));
	events.count = 2;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_true(pmc_plan_fits_twice(&plan, fake_open));
	assert_int_equal(open_fds(), before);
	pmc_arena_free(&arena);
}

/* The default events: the last counter is given to branches, whose silence is that counter's.
 * What else did not count with the others is asked alone, and no more than that. */
static void tells_a_counter_from_an_event(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events = hardware(&arena, 6);
	struct pmc_plan plan;
	unsigned before = open_fds();

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		events.list[i].config = PERF_COUNT_HW_CPU_CYCLES + i;
	/* What its hypervisor emulates moves a counter that does not count. */
	kernel.alive = 5;
	kernel.emulated = 5;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(kernel.opens, 6);
	assert_int_equal(plan.groups, 2);
	assert_int_equal(plan.events[0].flags, PMC_EVENT_ALONE);
	assert_false(pmc_plan_fits_twice(&plan, fake_open));
	assert_int_equal(kernel.opens, 6);
	events.list[0].config = events.list[1].config = events.list[4].config =
		PERF_COUNT_HW_CACHE_REFERENCES;
	kernel.opens = 0;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(kernel.opens, 6 + 1);
	assert_int_equal(plan.groups, 2);
	for (unsigned i = 0; i < 6; i++)
		events.list[i].config = PERF_COUNT_HW_CPU_CYCLES + i;
	/* An event that never counts says nothing of the counters. */
	kernel.opens = kernel.alive = 0;
	kernel.blocked = PERF_COUNT_HW_CACHE_MISSES;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(kernel.opens, 6 + 1 + 6);
	assert_int_equal(plan.groups, 1);
	assert_int_equal(plan.events[0].flags, 0);
	/* Nor does one that may have had nothing to count. */
	kernel.opens = 0;
	kernel.blocked = events.list[5].config = PERF_COUNT_HW_BUS_CYCLES;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(kernel.opens, 6 + 6);
	assert_int_equal(plan.groups, 1);
	/* What counts user mode only is as sure. */
	kernel.opens = 0;
	kernel.alive = 5;
	kernel.blocked = UINT64_MAX;
	for (unsigned i = 0; i < 6; i++) {
		events.list[i].config = PERF_COUNT_HW_CPU_CYCLES + i;
		events.list[i].exclude_kernel = true;
	}
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(kernel.opens, 6);
	assert_int_equal(plan.groups, 2);
	for (unsigned i = 0; i < 6; i++)
		events.list[i].exclude_kernel = false;
	kernel.alive = 0;
	/* A group whose first event counts user mode has the others ask for what they need. */
	kernel.opens = 0;
	events.list[0].exclude_kernel = events.list[0].asked_scope = true;
	kernel.user_only = true;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.events[0].scope, PMC_SCOPE_USER);
	assert_int_equal(plan.events[1].flags, PMC_EVENT_FELL_BACK);
	assert_int_equal(open_fds(), before);
	pmc_arena_free(&arena);
}

/* Topdown's events want slots for their leader: a group that ran under another leader than it would
 * have for a thread says nothing, nor does one for the groups that its events end in. */
static void asks_with_the_leader_that_it_will_be(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events = hardware(&arena, 6);
	struct pmc_plan plan;
	unsigned before = open_fds();

	(void)state;
	for (unsigned i = 1; i < 6; i++)
		events.list[i].type = CORE;
	events.list[0].config = (uint64_t)CORE << 32 | PERF_COUNT_HW_INSTRUCTIONS;
	kernel.leads = 101;
	kernel.led = 102;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.opened, 5);
	assert_int_equal(plan.events[5].event.config, 102);
	assert_int_equal(plan.events[5].state, PMC_NOT_SUPPORTED);
	/* Behind its leader it runs, but the next group has another one. */
	events = hardware(&arena, 6);
	for (unsigned i = 0; i < 6; i++)
		events.list[i].type = CORE;
	kernel.leads = 100;
	kernel.led = 105;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.groups, 1);
	assert_int_equal(plan.opened, 6);
	kernel.alive = 5;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.opened, 5);
	assert_int_equal(plan.events[5].event.config, 105);
	assert_int_equal(plan.events[5].state, PMC_NOT_SUPPORTED);
	assert_int_equal(open_fds(), before);
	pmc_arena_free(&arena);
}

static void knows_whether_it_fits_twice(void **state)
{
	struct pmc_arena arena = { 0 };
	struct pmc_events events = hardware(&arena, 3);
	struct pmc_plan plan;
	unsigned before = open_fds();

	(void)state;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_true(pmc_plan_fits_twice(&plan, fake_open));
	kernel.counters = 5;
	assert_false(pmc_plan_fits_twice(&plan, fake_open));
	/* Two groups, each of which fits, but not both. */
	events.list[2].brace = 0;
	assert_int_equal(pmc_plan_make(&events, fake_open, &arena, &plan), 0);
	assert_int_equal(plan.groups, 2);
	assert_false(pmc_plan_fits_twice(&plan, fake_open));
	kernel.counters = 6;
	assert_true(pmc_plan_fits_twice(&plan, fake_open));
	assert_int_equal(open_fds(), before);
	pmc_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(takes_no_counter_that_does_not_count, fake_reset),
		cmocka_unit_test_setup(tells_a_counter_from_an_event, fake_reset),
		cmocka_unit_test_setup(asks_with_the_leader_that_it_will_be, fake_reset),
		cmocka_unit_test_setup(knows_whether_it_fits_twice, fake_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
