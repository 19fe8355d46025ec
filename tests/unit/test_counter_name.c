/* SPDX-License-Identifier: MIT */
/* test_counter_name.c - lookup of event names in made-up sysfs and tracefs trees, and texts of
 * refusals. */
#include "lib/counter/counter.h"
#include "lib/event/source.h"
#include "tests/unit/counter_try.h"
#include "tests/unit/event_tree.h"

static struct pmc_failure failure;

#define must(call)                                                                                 \
	do {                                                                                       \
		if ((call) != 0)                                                                   \
			fail_msg("%s: %s: %s", #call, failure.what, failure.advice);               \
	} while (0)

/* tracefs mounted alone, under debugfs, or not at all. */
static void test_tracepoint_places(void **state)
{
	struct pmc_event_roots roots = tree_roots;
	struct pmc_counter_event event;
	char text[PMC_PATH_MAX];

	counter_roots = &roots;
	must(pmc_counter_event_tracepoint(&event, "sched", "sched_switch", &failure));
	assert_int_equal(event.config, 316);
	roots.tracefs = "nowhere";
	assert_int_equal(pmc_counter_event_tracepoint(&event, "sched", "sched_switch", &failure),
			 -ENODEV);
	assert_int_equal(failure.error, ENODEV);
	assert_non_null(strstr(failure.advice, "mount -t tracefs"));
	counter_roots = &tree_roots;
	/* chmod of the directory permits nothing where only its files are not readable. */
	assert_int_equal(event_tracefs_error(&tree_roots, -EACCES, text), -EACCES);
	assert_non_null(strstr(text, "; run as root"));
	roots.tracefs = "/dev/null";
	assert_int_equal(event_tracefs_error(&roots, -EACCES, text), -EACCES);
	assert_non_null(strstr(text, "chmod a+rx /dev/null"));
}

/* Split fields, config3, hexadecimal and decimal; fields that are not given stay 0. */
static void test_pmu_fields(void **state)
{
	const struct pmc_counter_field split[] = { { "event", 0x1c0 }, { "umask", 0x41 } };
	const struct pmc_counter_field wide[] = { { "wide", UINT64_MAX }, { "split", 0x1f } };
	const struct pmc_counter_field none[] = { { "nonesuch", 1 } };
	const struct pmc_counter_field large[] = { { "umask", 256 } };
	const struct pmc_counter_field evil[] = { { "umask=1,event", 2 } };
	struct pmc_counter_event event;

	must(pmc_counter_event_pmu(&event, "cpu", split, 2, &failure));
	assert_int_equal(event.type, 4);
	assert_int_equal(event.config, UINT64_C(0x1000041c0));
	assert_int_equal(event.config1 | event.config2 | event.config3, 0);
	must(pmc_counter_event_pmu(&event, "cpu", wide, 2, &failure));
	assert_int_equal(event.config3, UINT64_MAX);
	assert_int_equal(event.config2, 0x10f0);
	assert_int_equal(event.config, 0);
	must(pmc_counter_event_pmu(&event, "cpu", NULL, 0, &failure));
	assert_int_equal(event.type, 4);

	assert_int_equal(pmc_counter_event_pmu(&event, "cpu", none, 1, &failure), -ENOENT);
	assert_non_null(strstr(failure.advice, "nonesuch"));
	assert_int_equal(pmc_counter_event_pmu(&event, "cpu", large, 1, &failure), -EINVAL);
	assert_int_equal(pmc_counter_event_pmu(&event, "cpu", evil, 1, &failure), -EINVAL);
	assert_int_equal(pmc_counter_event_pmu(&event, "gpu", NULL, 0, &failure), -ENOENT);
	assert_string_equal(failure.what, "gpu");
	assert_int_equal(pmc_counter_event_pmu(&event, "../cpu", NULL, 0, &failure), -EINVAL);
}

static void test_scale_and_unit(void **state)
{
	struct pmc_counter_event event;

	must(pmc_counter_event_parse(&event, "power/energy-pkg/", &failure));
	assert_int_equal(event.type, 9);
	assert_string_equal(event.unit, "Joules");
	assert_true(event.scale > 2.3e-10 && event.scale < 2.4e-10);
}

static void test_text(void **state)
{
	struct pmc_counter_event event;

	counter_roots = NULL;
	must(pmc_counter_event_parse(&event, "instructions:u", &failure));
	assert_int_equal(event.type, PERF_TYPE_HARDWARE);
	assert_int_equal(event.config, PERF_COUNT_HW_INSTRUCTIONS);
	assert_true(event.exclude_kernel);
	assert_false(event.exclude_user);
	must(pmc_counter_event_parse(&event, "r1c2:k", &failure));
	assert_int_equal(event.config, 0x1c2);
	assert_true(event.exclude_user);
	assert_false(event.exclude_kernel);
	assert_true(event.scale == 1.0);
	must(pmc_counter_event_parse(&event, "task-clock:D", &failure));
	assert_true(event.pinned);
	assert_string_equal(event.unit, "ns");

	assert_int_equal(pmc_counter_event_parse(&event, "instructons", &failure), -ENOENT);
	assert_string_equal(failure.what, "instructons");
	assert_non_null(strstr(failure.advice, "instructions"));
	assert_int_equal(pmc_counter_event_parse(&event, "cycles,instructions", &failure), -EINVAL);
	assert_non_null(strstr(failure.advice, "2 events"));
	assert_int_equal(pmc_counter_event_parse(&event, "cycles:x", &failure), -EINVAL);
	assert_int_equal(pmc_counter_event_parse(&event, "", NULL), -EINVAL);
}

/* With two types of cores no PMU covers both; the failure lists the PMUs. */
static void test_hybrid(void **state)
{
	const struct pmc_event_roots roots = { "hybrid", "trace", true };
	struct pmc_counter_event event;

	counter_roots = &roots;
	assert_int_equal(pmc_counter_event_parse(&event, "cycles", &failure), -EINVAL);
	assert_string_equal(failure.what, "cycles");
	assert_non_null(strstr(failure.advice, "cpu_core/"));
	assert_non_null(strstr(failure.advice, "cpu_atom/"));
	must(pmc_counter_event_parse(&event, "cpu_atom/event=0x3c/", &failure));
	assert_int_equal(event.type, 10);
	assert_int_equal(event.config, 0x3c);
	/* Events that do not depend on the type of core are single events there, too. */
	must(pmc_counter_event_parse(&event, "page-faults", &failure));
	assert_int_equal(event.type, PERF_TYPE_SOFTWARE);
	counter_roots = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tracepoint_places),
		cmocka_unit_test(test_pmu_fields),
		cmocka_unit_test(test_scale_and_unit),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_hybrid),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
