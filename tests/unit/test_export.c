/* SPDX-License-Identifier: MIT */
/* test_export.c - exports of small dumps; tests/e2e/export.t has those of programs. */
#include "tests/unit/samples_report.h"
#include "tools/export/export.h"

/* As text, which the caller frees. */
static char *exported(struct pmc_profile *profile, void (*write)(struct export *))
{
	const size_t room = 16 << 20;
	struct export export = { .profile = profile };
	struct pmc_out out;
	char *text = malloc(room);

	assert_non_null(text);
	pmc_out_to_mem(&out, text, room);
	export.out = &out;
	export.names = report_names_new("/nonexistent");
	export_find_samples(&export);
	write(&export);
	assert_int_equal(out.error, 0);
	report_names_free(export.names);
	pmc_arena_free(&export.arena);
	return text;
}

/* ---- tests ------------------------------------------------------------------------------- */

/* A value with its scale that does not fit in the numbers of the formats. */
static void a_value_that_does_not_fit_is_none(void **state)
{
	const struct made_event events[] = {
		{ .name = "huge", .type = 1, .scale = 1e20 },
		{ .name = "half", .type = 1, .scale = 0.5 },
	};
	const struct made_value row = {
		.enabled = 9, .running = 9, .n = 2, .values = { UINT64_MAX, 7 }
	};
	struct pmc_profile profile;
	uint64_t set;
	char *text;

	made_begin();
	set = made_set(events, 2);
	made_process(1, &(struct pmc_process_fixed){ .pid = 1, .eventset = set }, "h", "x", "x");
	made_thread(1, (struct pmc_thread_fixed){ .tid = 1, .eventset = set }, "t", &row, 1);
	made_profile(&profile, false);
	text = exported(&profile, export_jsonl);
	assert_non_null(strstr(text, "{\"name\":\"huge\",\"value\":null,"));
	assert_non_null(strstr(text, "{\"name\":\"half\",\"value\":3.5"));
	free(text);
	text = exported(&profile, export_openmetrics);
	assert_null(strstr(text, "event=\"huge\""));
	assert_non_null(strstr(text, "event=\"half\""));
	free(text);
	pmc_profile_free(&profile);
}

/* The row of the thread with samples of task-clock is missing, as if it were damaged. */
static void folded_paths_need_rows(void **state)
{
	const struct pmc_sample one[] = { { 1, 1, 1 } };
	struct export export = { .event = "task-clock" };
	struct pmc_profile profile;
	uint64_t clock, fault;

	made_begin();
	clock = made_set(&clock_event, 1);
	fault = made_set(&faults_event, 1);
	made_process(1, &(struct pmc_process_fixed){ .pid = 7 }, "h", "/bin/app", "app");
	made_thread(1, (struct pmc_thread_fixed){ .flags = PMC_THREAD_MAIN }, "app", NULL, 0);
	made_samples(1, (struct pmc_samples_fixed){ .eventset = fault, .period = 1, .samples = 1 },
		     1, one, 1);
	made_samples(1,
		     (struct pmc_samples_fixed){
			     .seq = 1, .eventset = clock, .period = 1, .samples = 1 },
		     1, one, 1);
	made_profile(&profile, false);
	export.profile = &profile;
	export_find_samples(&export);
	assert_int_equal(export.n_events, 1);
	assert_false(export.has_rows);
	export = (struct export){ .profile = &profile };
	export_find_samples(&export);
	assert_int_equal(export.n_events, 2);
	assert_true(export.has_rows);
	free(exported(&profile, export_folded));
	pmc_profile_free(&profile);
}

/* 90 stacks of 600 frames with the same number of samples, in one thread. */
static void of_equal_boxes_some_stay(void **state)
{
	enum { STACKS = 90, DEPTH = 600, MOST = 50000 };
	const struct pmc_stacks_fixed fixed = { .n_modules = 1, .n_stacks = STACKS };
	static struct pmc_sample list[STACKS];
	static uint64_t frames[DEPTH];
	struct pmc_profile profile;
	uint64_t set, module, commas = 0;
	char *text, *boxes;

	made_begin();
	set = made_set(&clock_event, 1);
	made_process(1, &(struct pmc_process_fixed){ .pid = 1, .eventset = set }, "h", "x", "x");
	made_thread(1, (struct pmc_thread_fixed){ .tid = 1, .eventset = set }, "t", NULL, 0);
	module = made_module("/nonexistent/module", "id");
	pmc_frame_begin(&made, PMC_FRAME_STACKS, made_identity(1), ++made_snapshot, &fixed,
			sizeof(fixed));
	pmc_frame_bytes(&made, &module, sizeof(module));
	for (unsigned i = 0; i < STACKS; i++) {
		const struct pmc_stack_def def = { .id = i + 1, .depth = DEPTH };

		for (unsigned k = 0; k < DEPTH; k++)
			frames[k] = MADE_FRAME(0, 0x1000 + 64 * (i * DEPTH + k));
		pmc_put_stack(&made, &def, frames);
		list[i] = (struct pmc_sample){ .stack = i + 1, .count = 1, .weight = 1000 };
	}
	pmc_frame_end(&made);
	made_samples(
		1, (struct pmc_samples_fixed){ .eventset = set, .period = 1000, .samples = STACKS },
		STACKS * 1000, list, STACKS);
	made_profile(&profile, false);
	text = exported(&profile, export_html);
	boxes = strstr(text, "\"boxes\":[");
	assert_non_null(boxes);
	for (; *boxes && *boxes != ']'; boxes++)
		commas += *boxes == ',';
	assert_int_equal(commas, 5 * MOST - 1);
	free(text);
	pmc_profile_free(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_that_does_not_fit_is_none),
		cmocka_unit_test(folded_paths_need_rows),
		cmocka_unit_test(of_equal_boxes_some_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
