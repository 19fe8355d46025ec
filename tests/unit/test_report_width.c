/* SPDX-License-Identifier: MIT */
/* test_report_width.c - what tables leave out on a narrow screen. */
#include "tests/unit/report_process.h"
#include "tests/unit/report_profile.h"
#include "tests/unit/samples_made.h"
#include "tools/report/report.h"
#include "tests/unit/unit.h"

static const struct made_event event = {
	.name = "task-clock", .type = 1, .config = 1, .unit = "ns"
};

/* Columns are left out before a function's name is cut. */
static void names_are_cut_last(void **state)
{
	static const struct made_stack one = { 1, 0, 1, { MADE_FRAME(0, 0x1000) } };
	const struct pmc_sample sample = { 1, 5, 5000000 };
	struct pmc_report_options options = { .by = PMC_BY_PATH,
					      .top = -1,
					      .screen = { .width = 80 },
					      .fold_samples = report_fold_samples,
					      .path_of = report_path_of };
	const struct pmc_process_fixed process = { .pid = 7,
						   .rank = -1,
						   .time_ns = 90000000,
						   .cpu_ns = 50000000,
						   .flags = PMC_PROCESS_FIRST };
	struct report_names *names;
	struct pmc_profile profile;
	uint64_t clock, module;
	char *tree, *start;
	int result;

	made_begin();
	clock = made_set(&event, 1);
	made_process(1, &process, "elsewhere", "/bin/app", "app");
	made_thread(1, (struct pmc_thread_fixed){ .flags = PMC_THREAD_MAIN, .cpu_ns = 30000000 },
		    "app", NULL, 0);
	made_thread(1,
		    (struct pmc_thread_fixed){ .seq = 1, .cpu_ns = 20000000, .created_stack = 1 },
		    "pool-1", NULL, 0);
	module = made_module("/opt/none/library_with_a_long_file_name.so", "id");
	made_stacks(1, &module, 1, &one, 1);
	made_samples(1, (struct pmc_samples_fixed){ .eventset = clock, .period = 1, .samples = 5 },
		     5000000, &sample, 1);
	made_profile(&profile, false);
	names = report_names_new(NULL);
	options.names_arg = names;
	tree = made_report(&profile, &options, &result, NULL);
	options.by = PMC_BY_START;
	start = made_report(&profile, &options, &result, NULL);
	has(tree, "  library_with_a_long_file_name.so+0x1000 ");
	has(tree, "not shown: n, module");
	has(start, "  (unknown) < library_wi…g_file_name.so+0x1000 ");
	has(start, "not shown: page-faults (--wide)");
	report_names_free(names);
	pmc_profile_free(&profile);
}

/* Requested events stay before accounting columns, but not before one that was requested, too. */
static void requested_events_stay(void **state)
{
	static const struct made_event events[] = {
		{ .name = "raw_syscalls:sys_enter", .type = 2, .config = 1 },
		{ .name = "kmem:mm_page_alloc", .type = 2, .config = 2 },
		{ .name = "page-faults", .type = 1, .config = 2 },
	};
	struct made_value value = { 600 * MS, 600 * MS, 0, 3, { 10, 20, 300 } };
	struct pmc_report_options options = { .screen = { .width = 92 } };
	struct pmc_profile profile;
	const char *text;

	made_begin();
	made_process(1, &process_like, "", "/usr/bin/ls", "ls /");
	made_thread(1, thread_like(0, 20 * MS, made_set(events, 3)), "ls", &value, 1);
	made_profile(&profile, false);
	text = table_of(&profile, options);
	has(text, " raw_syscalls:sys_enter  kmem:mm_page_alloc  page-faults\n");
	has(text, " not shown: vol, invol (--wide)\n");
	options.wide = true;
	text = table_of(&profile, options);
	has_not(text, "not shown");
	pmc_profile_free(&profile);
}

/* pmctl run names the dump that it has kept. */
static void hint_of_a_kept_run(void **state)
{
	static const struct made_event events[] = {
		{ .name = "raw_syscalls:sys_enter", .type = 2, .config = 1 },
	};
	struct made_value value = { 600 * MS, 600 * MS, 0, 1, { 10 } };
	const char *const dump = "a b";
	struct pmc_report_options options = {
		.screen = { .width = 200 }, .no_flags = true, .dumps = &dump, .n_dumps = 1
	};
	struct pmc_profile profile;
	const char *text;

	made_begin();
	made_process(1, &process_like, "", "/usr/bin/ls", "ls /");
	made_thread(1, thread_like(0, 20 * MS, made_set(events, 1)), "ls", &value, 1);
	made_profile(&profile, false);
	text = table_of(&profile, options);
	has_not(text, "--wide");
	options.screen.width = 60;
	text = table_of(&profile, options);
	has(text, "pmctl report --wide 'a");
	pmc_profile_free(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requested_events_stay),
		cmocka_unit_test(hint_of_a_kept_run),
		cmocka_unit_test(names_are_cut_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
