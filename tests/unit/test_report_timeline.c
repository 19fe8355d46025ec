/* SPDX-License-Identifier: MIT */
/* test_report_timeline.c - rates over time as lines of characters, for threads and groups. */
#include "tests/unit/report_profile.h"
#include "tests/unit/unit.h"

#define MS 1000000ull

/* A snapshot of a thread that was created at 1 s. */
static void snapshot(uint64_t seq, const char *name, uint64_t at_ms, uint64_t cpu_ms, uint64_t set,
		     uint64_t count)
{
	const struct made_value value = {
		.enabled = at_ms * MS, .running = at_ms * MS, .n = 1, .values = { count }
	};
	const struct pmc_thread_fixed fixed = { .seq = seq,
						.tid = (uint32_t)(10 + seq),
						.flags = seq ? 0 : PMC_THREAD_MAIN,
						.start_ns = 1000 * MS,
						.time_ns = (1000 + at_ms) * MS,
						.cpu_ns = cpu_ms * MS,
						.eventset = set,
						.created_by = PMC_NO_SEQ };

	made_thread(1, fixed, name, &value, 1);
}

/* The first thread computes for one second of two, the others half of the time in turn. The last
 * one ends with the given name. */
static char *report_renamed(const struct pmc_report_options *options, const char *name)
{
	const struct pmc_process_fixed process = { .pid = 10,
						   .rank = -1,
						   .start_ns = 1000 * MS,
						   .end_ns = 3000 * MS,
						   .time_ns = 3000 * MS,
						   .flags = PMC_PROCESS_FIRST };
	const struct made_event event = { .name = "cycles" };
	struct pmc_profile profile;
	uint64_t set;
	char *text;
	int result;

	made_begin();
	set = made_set(&event, 1);
	made_process(1, &process, "h", "/bin/app", "app");
	snapshot(0, "app", 1000, 1000, set, 8000);
	snapshot(0, "app", 2000, 1000, set, 8000);
	snapshot(1, "pool-1", 1000, 0, set, 0);
	snapshot(1, "pool-1", 2000, 500, set, 1000);
	snapshot(2, "pool-2", 1000, 500, set, 1000);
	snapshot(2, name, 2000, 501, set, 1000);
	made_profile(&profile, true);
	text = made_report(&profile, options, &result, NULL);
	assert_int_equal(result, 0);
	pmc_profile_free(&profile);
	return text;
}

static char *report(const struct pmc_report_options *options)
{
	return report_renamed(options, "pool-2");
}

static void lines_of_threads(void **state)
{
	const struct pmc_report_options options = {
		.by = PMC_BY_THREAD, .timeline = true, .top = -1, .screen = { .width = 58 }
	};
	char *text = report(&options);

	/* The highest rate of each column is the full block. */
	has(text, "(main) 10  1  █████       1.00  █████       8,000\n");
	has(text, "pool-1 11  1       ▅▅▅▅▅  0.50       ▂▂▂▂▂  1,000\n");
}

static void lines_of_pools(void **state)
{
	const struct pmc_report_options options = { .by = PMC_BY_POOL,
						    .timeline = true,
						    .top = 1,
						    .screen = { .width = 60, .ascii = true } };
	char *text = report(&options);

	has(text, "2.00 s CPU");
	has(text, "pool-*    2  +++++++++++++  0.50");
	has(text, "(1 more)");
}

static void threads_are_counted_under_each_name(void **state)
{
	struct pmc_report_options options = { .by = PMC_BY_NAME,
					      .timeline = true,
					      .top = -1,
					      .screen = { .width = 58, .ascii = true } };
	char *text = report_renamed(&options, "step");

	has(text, "pool-2  1  +++");
	has(text, "step    1        ...");
	options.by = PMC_BY_THREAD;
	text = report_renamed(&options, "step");
	has(text, "step 12    1  +++");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_threads),
		cmocka_unit_test(lines_of_pools),
		cmocka_unit_test(threads_are_counted_under_each_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
