/* SPDX-License-Identifier: MIT */
/* test_region.c - REGION frames in the profile and the views: the cost of marking is subtracted,
 * the newest frame is used, invalid frames are harmless. */

#include "tests/unit/report_profile.h"
#include "tests/unit/unpack.h"
#include "tests/unit/unit.h"

static const struct made_event two[] = { { .name = "instructions", .group = 0 },
					 { .name = "cycles", .group = 0 } };

/* enabled, running, two values: inclusive, exclusive; cost inside and around a pair. */
struct sums {
	uint64_t enabled, running, a, b;
};

static void made_region(unsigned id, struct pmc_region_fixed fixed, const char *name, size_t len,
			const struct sums sums[4])
{
	fixed.n_groups = 1;
	pmc_frame_begin(&made, PMC_FRAME_REGION, made_identity(id), ++made_snapshot, &fixed,
			sizeof(fixed));
	pmc_frame_str(&made, name, len);
	for (unsigned i = 0; i < 4; i++) {
		struct made_value value = { .enabled = sums[i].enabled,
					    .running = sums[i].running,
					    .n = 2,
					    .values = { sums[i].a, sums[i].b } };

		made_readings(&value, 1);
	}
	assert_true(pmc_frame_end(&made) != 0);
}

static struct pmc_region_fixed region_of(uint64_t set, uint64_t seq, uint64_t calls)
{
	return (struct pmc_region_fixed){ .seq = seq,
					  .calls = calls,
					  .outermost = calls,
					  .eventset = set,
					  .flags = PMC_REGION_CPU | PMC_REGION_COST,
					  .cpu_ns = 5000,
					  .self_cpu_ns = 3000,
					  .inside_cpu_ns = 10,
					  .around_cpu_ns = 30 };
}

static uint64_t begin_made(void)
{
	struct pmc_process_fixed process = { .pid = 7, .rank = -1, .flags = PMC_PROCESS_FIRST };
	struct made_value values[1] = { { 9000, 9000, 0, 2, { 100000, 200000 } } };
	uint64_t set;

	made_begin();
	set = made_set(two, 2);
	process.eventset = set;
	made_process(1, &process, "host", "/bin/prog", "prog");
	for (unsigned seq = 0; seq < 2; seq++)
		made_thread(1,
			    (struct pmc_thread_fixed){
				    .seq = seq, .tid = 70 + seq, .eventset = set, .cpu_ns = 9000 },
			    "thread", values, 1);
	return set;
}

static const struct sums plain[4] = {
	{ 5000, 5000, 1000, 2000 }, { 3000, 3000, 600, 900 }, { 10, 10, 4, 6 }, { 30, 30, 20, 50 }
};

static void cost(void **state)
{
	uint64_t set = begin_made();
	struct pmc_region_fixed fixed = region_of(set, 1, 10);
	const struct pmc_p_region *region;
	struct pmc_profile profile;

	fixed.outermost = 8;
	fixed.nested = 5;
	fixed.direct = 3;
	made_region(1, fixed, "r", 1, plain);
	made_profile(&profile, false);
	assert_int_equal(profile.n_regions, 1);
	assert_int_equal(profile.damaged_frames, 0);
	region = profile.regions[0];
	assert_int_equal(unpack_row(&profile, region->row)->fixed.tid, 71);
	/* inclusive - outermost * inside - nested * around */
	assert_int_equal(pmc_count_value(&region->counts[0]), 1000 - 8 * 4 - 5 * 20);
	assert_int_equal(pmc_count_value(&region->counts[1]), 2000 - 8 * 6 - 5 * 50);
	assert_int_equal(region->fixed.cpu_ns, 5000 - 8 * 10 - 5 * 30);
	/* exclusive - calls * inside - direct * (around - inside) */
	assert_int_equal(pmc_count_value(&region->self_counts[0]), 600 - 10 * 4 - 3 * 16);
	assert_int_equal(region->fixed.self_cpu_ns, 3000 - 10 * 10 - 3 * 20);
	assert_int_equal(region->counts[0].state, PMC_COUNTED);
	pmc_profile_free(&profile);
}

static void scaled(void **state)
{
	const struct sums half[4] = { { 5000, 2500, 1000, 10 },
				      { 5000, 2500, 1000, 10 },
				      { 10, 10, 40, 40 },
				      { 30, 30, 90, 90 } };
	uint64_t set = begin_made();
	struct pmc_profile profile;

	made_region(1, region_of(set, 0, 10), "half", 4, half);
	made_profile(&profile, false);
	/* 1,000 raw scale to 2,000, of which 400 are the cost of marking; never below 0. */
	assert_int_equal(profile.regions[0]->counts[0].state, PMC_SCALED);
	assert_int_equal(pmc_count_value(&profile.regions[0]->counts[0]), 1600);
	assert_int_equal(pmc_count_value(&profile.regions[0]->counts[1]), 0);
	pmc_profile_free(&profile);
}

static void not_measured(void **state)
{
	const struct sums none[4] = {
		{ 0, 0, 0, 0 }, { 0, 0, 0, 0 }, { 0, 0, 0, 0 }, { 0, 0, 0, 0 }
	};
	uint64_t set = begin_made();
	struct pmc_region_fixed fixed = region_of(set, 0, 3);
	struct pmc_profile profile;

	fixed.flags = 0;
	made_region(1, fixed, "never on", 8, none);
	made_profile(&profile, false);
	assert_false(pmc_count_has_value(&profile.regions[0]->counts[0]));
	assert_false(pmc_region_has_cpu(profile.regions[0]));
	assert_null(profile.regions[0]->around);
	pmc_profile_free(&profile);
}

static void newest(void **state)
{
	uint64_t set = begin_made();
	struct pmc_profile profile, backwards;
	struct pmc_scan scan;
	struct pmc_frame frames[16];
	unsigned n = 0;

	for (uint64_t calls = 1; calls <= 3; calls++)
		made_region(1, region_of(set, 1, calls), "r", 1, plain);
	made_region(1, region_of(set, 0, 9), "r", 1, plain);
	made_region(1, region_of(set, 1, 8), "q", 1, plain);
	made_profile(&profile, false);
	assert_int_equal(profile.n_regions, 3);
	/* Ordered by thread, then by name. */
	assert_int_equal(profile.regions[0]->fixed.calls, 9);
	assert_int_equal(profile.regions[1]->fixed.calls, 8);
	assert_int_equal(profile.regions[2]->fixed.calls, 3);
	/* The same frames in reverse order, and each twice. */
	scan = (struct pmc_scan){ .data = made.data, .len = made.len };
	while (n < 16 && pmc_scan_next(&scan, &frames[n]))
		n++;
	pmc_profile_init(&backwards, NULL);
	for (unsigned i = 2 * n; i-- > 0;)
		pmc_profile_add(&backwards, &frames[i % n]);
	pmc_profile_finish(&backwards);
	assert_int_equal(backwards.n_regions, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(backwards.regions[i]->fixed.calls,
				 profile.regions[i]->fixed.calls);
	pmc_profile_free(&backwards);
	pmc_profile_free(&profile);
}

static void odd(void **state)
{
	static char longest[3000];
	uint64_t set = begin_made();
	struct pmc_region_fixed fixed = region_of(set, 5, 1);
	struct pmc_profile profile;

	/* A region of a thread without a row; an unknown event set; huge numbers; names of any
	 * bytes. */
	made_region(1, fixed, "no row", 6, plain);
	fixed.seq = 0;
	fixed.eventset = 4711;
	made_region(1, fixed, "no set", 6, plain);
	fixed = region_of(set, 0, UINT64_MAX);
	fixed.nested = fixed.direct = UINT64_MAX;
	made_region(1, fixed, "huge", 4, plain);
	memset(longest, 'x', sizeof(longest));
	made_region(1, region_of(set, 0, 1), longest, sizeof(longest), plain);
	made_region(1, region_of(set, 0, 1), "a\0b\xff\n\"", 6, plain);
	made_region(1, region_of(set, 0, 1), "", 0, plain);
	/* Truncated readings. */
	fixed = region_of(set, 0, 1);
	fixed.n_groups = 60000;
	pmc_frame_begin(&made, PMC_FRAME_REGION, made_identity(1), ++made_snapshot, &fixed,
			sizeof(fixed));
	pmc_frame_str(&made, "short", 5);
	pmc_frame_end(&made);
	pmc_frame_begin(&made, PMC_FRAME_REGION, made_identity(1), ++made_snapshot, NULL, 0);
	pmc_frame_end(&made);
	made_profile(&profile, false);
	assert_int_equal(profile.damaged_frames, 2);
	assert_int_equal(profile.n_regions, 6);
	for (uint64_t i = 0; i < profile.n_regions; i++) {
		const struct pmc_p_region *region = profile.regions[i];

		if (!strcmp(region->name, "no row"))
			assert_null(region->row);
		if (!strcmp(region->name, "no set"))
			assert_null(region->set);
		if (!strcmp(region->name, "huge"))
			assert_int_equal(pmc_count_value(&region->counts[0]), 0);
	}
	for (int format = PMC_FORMAT_TABLE; format <= PMC_FORMAT_CSV; format++) {
		const char *const where[] = { "seq=0" };
		struct pmc_report_options options = { .format = (enum pmc_report_format)format,
						      .by = PMC_BY_REGION,
						      .top = -1,
						      .where = where };
		int result;

		for (options.n_where = 0; options.n_where < 2; options.n_where++) {
			char *text = made_report(&profile, &options, &result, NULL);

			assert_int_equal(result, 0);
			if (format == PMC_FORMAT_CSV)
				assert_null(strchr(text, '\xff'));
		}
	}
	pmc_profile_free(&profile);
}

static void views(void **state)
{
	uint64_t set = begin_made();
	struct pmc_profile profile;
	struct pmc_report_options options = { .format = PMC_FORMAT_CSV,
					      .by = PMC_BY_REGION,
					      .top = -1 };
	int result;
	char *text;

	made_region(1, region_of(set, 0, 10), "parse", 5, plain);
	made_region(1, region_of(set, 1, 10), "parse", 5, plain);
	made_profile(&profile, false);
	text = made_report(&profile, &options, &result, NULL);
	assert_non_null(strstr(text, "key,threads,calls,self_cpu_ns,cpu_ns"));
	/* 2 threads, 20 calls; self 3000 - 100, cpu 5000 - 100 each; instructions 1000 - 40. */
	assert_non_null(strstr(text, "\nparse,2,20,5800,9800,"));
	assert_non_null(strstr(text, ",1920,960,960.000000,960,0.000000,counted,all,1120"));
	options.format = PMC_FORMAT_TABLE;
	text = made_report(&profile, &options, &result, NULL);
	assert_non_null(strstr(text, "all threads"));
	assert_non_null(strstr(text, "parse"));
	assert_non_null(strstr(text, "begin and end cost 0.03 µs, subtracted"));
	options.format = PMC_FORMAT_JSON;
	text = made_report(&profile, &options, &result, NULL);
	assert_non_null(strstr(text, "\"calls\":20"));
	assert_non_null(strstr(text, "\"regions\":["));
	pmc_profile_free(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cost),	  cmocka_unit_test(scaled), cmocka_unit_test(not_measured),
		cmocka_unit_test(newest), cmocka_unit_test(odd),    cmocka_unit_test(views),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
