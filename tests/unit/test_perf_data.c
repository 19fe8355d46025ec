/* SPDX-License-Identifier: MIT */
/* test_perf_data.c - perf.data files of small dumps; tests/e2e/export-perf.t has perf read some. */
#include "tests/unit/samples_report.h"
#include "tools/export/export.h"

#include <linux/perf_event.h>

#define ROOM	(200 << 20)
#define MODULES (UINT64_C(1) << 48)

struct sample {
	const char *event;
	uint32_t pid, tid;
	uint64_t time_ns, period, n, chain[16];
};

struct file {
	char *bytes;
	size_t len;
	uint64_t samples, periods; /* of the event that was asked for */
	uint64_t n_modules;
	uint32_t pids[8]; /* of COMM records of main threads */
	unsigned n_pids;
	struct sample last;
};

static uint64_t u64(const struct file *file, size_t at)
{
	uint64_t value;

	assert_true(at + 8 <= file->len);
	memcpy(&value, file->bytes + at, 8);
	return value;
}

static uint32_t u32(const struct file *file, size_t at)
{
	return (uint32_t)(u64(file, at / 8 * 8) >> at % 8 * 8);
}

static void take_sample(struct file *file, size_t at, void (*each)(const struct sample *))
{
	struct sample *sample = &file->last;

	sample->pid = u32(file, at + 24);
	sample->tid = u32(file, at + 28);
	sample->time_ns = u64(file, at + 32);
	sample->period = u64(file, at + 40);
	sample->n = u64(file, at + 48);
	assert_in_range(sample->n, 2, 16);
	for (unsigned i = 0; i < sample->n; i++)
		sample->chain[i] = u64(file, at + 56 + 8 * i);
	assert_true(sample->chain[0] == PERF_CONTEXT_USER);
	assert_true(sample->chain[1] == u64(file, at + 16));
	assert_int_not_equal(sample->time_ns, 0);
	file->samples++;
	file->periods += sample->period;
	if (each)
		each(sample);
}

static void take_records(struct file *file, void (*each)(const struct sample *))
{
	size_t at = u64(file, 40), end = at + u64(file, 48), size;

	assert_true(end < file->len);
	for (; at < end; at += size) {
		const uint32_t type = u32(file, at);

		size = u32(file, at + 4) >> 16;
		assert_true(size >= 16 && size % 8 == 0 && size <= end - at);
		if (type == PERF_RECORD_SAMPLE)
			take_sample(file, at, each);
		file->n_modules += type == PERF_RECORD_MMAP2;
		if (type == PERF_RECORD_COMM && u32(file, at + 8) == u32(file, at + 12) &&
		    (!file->n_pids || file->pids[file->n_pids - 1] != u32(file, at + 8)))
			file->pids[file->n_pids++] = u32(file, at + 8);
	}
	assert_int_equal(at, end);
	/* The names of events are the rest. */
	assert_int_equal(u64(file, end), end + 16);
	assert_int_equal(end + 16 + u64(file, end + 8), file->len);
}

static struct file read_export(struct pmc_profile *profile, const char *event,
			       void (*each)(const struct sample *))
{
	struct file file = { .bytes = malloc(ROOM) };
	struct export export = { .profile = profile, .event = event };
	struct pmc_out out;

	assert_non_null(file.bytes);
	pmc_out_to_mem(&out, file.bytes, ROOM);
	export.out = &out;
	export.names = report_names_new("/nonexistent");
	export_find_samples(&export);
	export_perf_data(&export);
	assert_int_equal(out.error, 0);
	file.len = out.len;
	take_records(&file, each);
	report_names_free(export.names);
	pmc_arena_free(&export.arena);
	pmc_profile_free(profile);
	free(file.bytes);
	return file;
}

/* ---- tests ------------------------------------------------------------------------------- */

static uint64_t without_stack, in_no_file, in_two_modules;

static void look_at_chain(const struct sample *sample)
{
	without_stack += sample->n == 2 && sample->chain[1] == 0;
	in_no_file += sample->chain[1] == 0x7f0000001234 && sample->chain[2] >= MODULES;
	in_two_modules += sample->n == 4 && sample->chain[1] >= MODULES &&
			  sample->chain[2] - sample->chain[3] == WORK - MAIN &&
			  (sample->chain[1] < sample->chain[2] - WORK ||
			   sample->chain[1] > sample->chain[2] + (1 << 16));
}

static void every_sample_is_a_record(void **state)
{
	struct pmc_profile profile;
	struct file file;

	make(&profile);
	file = read_export(&profile, "task-clock", look_at_chain);
	assert_int_equal(file.samples, 120);
	assert_int_equal(file.periods, 120000000);
	assert_int_equal(file.n_modules, 2);
	assert_int_equal(without_stack, 4);
	assert_int_equal(in_no_file, 6);
	assert_int_equal(in_two_modules, 30);
}

static void all_events_are_in_one_file(void **state)
{
	struct pmc_profile profile;
	struct file file;

	make(&profile);
	file = read_export(&profile, NULL, NULL);
	assert_int_equal(file.samples, 120 + 2 + 2);
	assert_int_equal(file.periods, 120000000 + 2 + 2500000000);
}

/* One process for each of the hosts, with one sample list each. */
static void make_hosts(struct pmc_profile *profile, const char *const *hosts, unsigned n,
		       struct pmc_sample sample)
{
	const struct pmc_process_fixed process = { .pid = 7, .rank = -1, .start_ns = 1 };
	const struct pmc_thread_fixed thread = { .tid = 7,
						 .flags = PMC_THREAD_MAIN,
						 .created_by = PMC_NO_SEQ };
	uint64_t set, module;

	made_begin();
	set = made_set(&clock_event, 1);
	module = made_module("/bin/app", "");
	for (unsigned i = 0; i < n; i++) {
		made_process(i, &process, hosts[i], "/bin/app", "app");
		made_stacks(i, &module, 1, &(struct made_stack){ 1, 0, 1, { MADE_FRAME(0, MAIN) } },
			    1);
		made_thread(i, thread, "app", NULL, 0);
		made_samples(i,
			     (struct pmc_samples_fixed){ .eventset = set, .samples = sample.count },
			     sample.weight, &sample, 1);
	}
	made_profile(profile, false);
}

static uint64_t periods[8], n_periods;

static void keep_period(const struct sample *sample)
{
	periods[n_periods++] = sample->period;
}

static void a_remainder_is_spread(void **state)
{
	struct pmc_profile profile;

	make_hosts(&profile, (const char *const[]){ "a" }, 1, (struct pmc_sample){ 1, 4, 14 });
	n_periods = 0;
	read_export(&profile, NULL, keep_period);
	assert_int_equal(n_periods, 4);
	assert_int_equal(periods[0], 4);
	assert_int_equal(periods[1], 4);
	assert_int_equal(periods[2], 3);
	assert_int_equal(periods[3], 3);
}

static void too_many_samples_share_records(void **state)
{
	const uint64_t weight = UINT64_C(4000000001) * 1000;
	struct pmc_profile profile;
	struct file file;

	make_hosts(&profile, (const char *const[]){ "a" }, 1,
		   (struct pmc_sample){ 1, 4000000001u, weight });
	file = read_export(&profile, NULL, NULL);
	assert_in_range(file.samples, 900000, 1000000);
	assert_int_equal(file.periods, weight);
}

static void hosts_have_pids_of_their_own(void **state)
{
	struct pmc_profile profile;
	struct file file;

	make_hosts(&profile, (const char *const[]){ "a", "b" }, 2,
		   (struct pmc_sample){ 1, 3, 300 });
	file = read_export(&profile, NULL, NULL);
	assert_int_equal(file.samples, 6);
	assert_int_equal(file.n_pids, 2);
	assert_int_equal(file.pids[0], 7);
	assert_int_equal(file.pids[1], 4194304 + 7);
	/* Each maps the module. */
	assert_int_equal(file.n_modules, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample_is_a_record),
		cmocka_unit_test(all_events_are_in_one_file),
		cmocka_unit_test(a_remainder_is_spread),
		cmocka_unit_test(too_many_samples_share_records),
		cmocka_unit_test(hosts_have_pids_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
