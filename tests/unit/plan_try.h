/* SPDX-License-Identifier: MIT */
/* plan_try.h - plans on a fake PMU, one test each: none may leave a descriptor open. */
#ifndef PMC_TESTS_UNIT_PLAN_TRY_H
#define PMC_TESTS_UNIT_PLAN_TRY_H

#include "lib/plan/plan.h"
#include "tests/unit/fake_pmu.h"

static struct pmc_arena arena;
static struct pmc_plan plan;
static unsigned fds_before;

static inline void make_plan(const struct pmc_events *events)
{
	assert_int_equal(pmc_plan_make(events, fake_open, &arena, &plan), 0);
}

static inline int plan_begin(void **state)
{
	fds_before = open_fds();
	return fake_reset(state);
}

static inline int plan_end(void **state)
{
	pmc_arena_free(&arena);
	return open_fds() == fds_before ? 0 : -1;
}

#define PLAN_TEST(function) cmocka_unit_test_setup_teardown(function, plan_begin, plan_end)

#endif
