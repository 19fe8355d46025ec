/* SPDX-License-Identifier: MIT */
/* test_event_sample.c - which events are sampled how often, and the attr that asks for it. */
#include "lib/count/group.h"
#include "tests/unit/unit.h"

#include <string.h>

static const struct pmc_event task_clock = { .type = PERF_TYPE_SOFTWARE,
					     .config = PERF_COUNT_SW_TASK_CLOCK };
static const struct pmc_event cpu_clock = { .type = PERF_TYPE_SOFTWARE,
					    .config = PERF_COUNT_SW_CPU_CLOCK };
static const struct pmc_event faults = { .type = PERF_TYPE_SOFTWARE,
					 .config = PERF_COUNT_SW_PAGE_FAULTS };
static const struct pmc_event cycles = { .type = PERF_TYPE_HARDWARE,
					 .config = PERF_COUNT_HW_CPU_CYCLES };

static struct pmc_config_sample every(uint64_t period)
{
	return (struct pmc_config_sample){ .on = true, .period = period };
}

static struct pmc_config_sample hz(uint64_t frequency)
{
	return (struct pmc_config_sample){ .on = true, .frequency = frequency };
}

static bool refused(const struct pmc_event *event, struct pmc_config_sample asked, const char *part)
{
	char text[PMC_SAMPLE_WHY];
	const char *why = pmc_sample_refusal(event, &asked, text);

	if (why)
		assert_non_null(strstr(why, part));
	return why != NULL;
}

static void refusals(void **state)
{
	struct pmc_event other = cycles;

	assert_true(refused(&task_clock, every(1), "ns"));
	assert_true(refused(&task_clock, every(9999), "9999 ns"));
	assert_true(refused(&cpu_clock, every(1000), "1000 ns"));
	assert_false(refused(&task_clock, every(10000), ""));
	assert_false(refused(&task_clock, hz(PMC_SAMPLE_HZ_MOST), ""));
	assert_false(refused(&cycles, every(100), ""));
	assert_false(refused(&faults, every(1), ""));
	other.exclude_user = true;
	assert_true(refused(&other, hz(997), "kernel only"));
}

static uint64_t rate(const struct pmc_event *event, struct pmc_config_sample asked)
{
	return pmc_sample_rate(event, &asked);
}

static void rates(void **state)
{
	struct pmc_event big = cycles;

	big.config |= UINT64_C(4) << 32;
	assert_int_equal(rate(&task_clock, every(20000)), 50000);
	assert_int_equal(rate(&cpu_clock, every(1000000000)), 1);
	assert_int_equal(rate(&task_clock, hz(997)), 997);
	assert_int_equal(rate(&cycles, every(100)), 10000000);
	assert_int_equal(rate(&big, every(100)), 10000000);
	assert_int_equal(rate(&faults, every(1)), 0);
	assert_int_equal(rate(&faults, hz(50000)), 50000);
}

static struct perf_event_attr attr_of(const struct pmc_event *event, struct pmc_config_sample asked)
{
	struct pmc_attr attr;

	pmc_perf_sample_attr(event, &asked, &attr);
	assert_true(attr.base.disabled && attr.base.exclude_kernel && attr.base.exclude_hv);
	return attr.base;
}

static void attrs(void **state)
{
	struct perf_event_attr attr = attr_of(&task_clock, hz(1000));

	assert_true(!attr.freq && attr.sample_period == 1000000);
	attr = attr_of(&cycles, hz(1000));
	assert_true(attr.freq && attr.sample_freq == 1000);
	attr = attr_of(&cycles, every(5));
	assert_true(!attr.freq && attr.sample_period == 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals),
		cmocka_unit_test(rates),
		cmocka_unit_test(attrs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
