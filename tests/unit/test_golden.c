/* SPDX-License-Identifier: MIT */
/*
 * test_golden.c - a dump of format version 1, stored as bytes: every later version must read it.
 *
 * Written by `test_golden FILE`. It is never written again; a new format version adds a file.
 */
#include "tools/rows/profile.h"
#include "tests/unit/dump_build.h"
#include "tests/unit/unpack.h"
#include "tools/merge/merge.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define GOLDEN "tests/golden/version-1.dump"

/* ---- writing ---------------------------------------------------------------------------- */
static void put_threads(uint64_t set, uint64_t site)
{
	static const uint64_t values[2] = { 1710000000, 2930000000 };
	struct pmc_thread_fixed row = {
		.seq = 0,
		.tid = 12037,
		.state = PMC_THREAD_EXITED,
		.flags = PMC_THREAD_MAIN,
		.n_groups = 2,
		.start_ns = 1000,
		.end_ns = 9000,
		.time_ns = 9000,
		.cpu_ns = 800,
		.minor_faults = 1,
		.major_faults = 2,
		.voluntary_switches = 3,
		.involuntary_switches = 4,
		.created_by = PMC_NO_SEQ,
		.eventset = set,
		.name = "main",
	};
	const uint64_t misses = 77;

	pmc_frame_begin(&build, PMC_FRAME_THREAD, id(0xa1), 2, &row, sizeof(row));
	build_reading(100, 0, 2, values);
	build_reading(50, 0, 1, &misses);
	pmc_frame_end(&build);

	row.seq = 1;
	row.tid = 12041;
	row.flags = 0;
	row.created_by = 0;
	row.start_site = site;
	row.reason = EMFILE;
	memcpy(row.name, "worker-of-16-by!", 16); /* the whole field, no NUL */
	pmc_frame_begin(&build, PMC_FRAME_THREAD, id(0xa1), 1, &row, sizeof(row));
	build_reading(0, EMFILE, 0, NULL);
	build_reading(0, EMFILE, 0, NULL);
	pmc_frame_end(&build);
}

static void put_process(uint64_t set)
{
	struct {
		struct pmc_process_fixed known;
		uint64_t later; /* as from a later version */
	} fixed = {
		.known = {
			.pid = 12037,
			.ppid = 1,
			.start_ns = 1000,
			.end_ns = 9000,
			.time_ns = 9001,
			.cpu_ns = 900,
			.pre_cpu_ns = 100,
			.max_rss_bytes = 4096,
			.threads_seen = 2,
			.threads_counted = 1,
			.eventset = set,
			.how_ended = PMC_ENDED_SIGNAL,
			.how_code = 15,
			.inherit_mode = PMC_INHERIT_CLOCK,
			.flags = PMC_PROCESS_FIRST,
			.rank = 3,
		},
		.later = 0x1122334455667788,
	};

	memcpy(fixed.known.job, id(0x0b), 16);
	memcpy(fixed.known.parent_identity, id(0xa0), 16);
	pmc_frame_begin(&build, PMC_FRAME_PROCESS, id(0xa1), 3, &fixed, sizeof(fixed));
	build_str("node7");
	build_str("6f1c2d3e-1111-4222-8333-123456789abc");
	build_str("/usr/bin/xz");
	build_str("xz -T4 b\xc3\xa4r.tar");
	pmc_frame_end(&build);
}

static void build_golden(void)
{
	static const struct ev events[] = {
		{ .name = "cycles", .group = 0, .position = 0 },
		{ .name = "instructions:u",
		  .config = 1,
		  .group = 0,
		  .position = 2,
		  .scope = PMC_SCOPE_USER },
		{ .name = "cache-misses", .config = 3, .group = 1, .position = 1 },
		{ .name = "branch-misses",
		  .config = 5,
		  .group = PMC_NO_GROUP,
		  .position = 3,
		  .state = PMC_NOT_SUPPORTED,
		  .error = ENOENT },
	};
	static const struct ev clock_event = { .name = "task-clock", .type = 1, .config = 1 };
	const struct pmc_site_fixed site = { .offset = 0x1234 };
	const uint32_t code = 5; /* of a writer with an older, shorter struct pmc_note_fixed */

	build_start();
	uint64_t set = build_set(events, 4, 2), clock_set = build_set(&clock_event, 1, 1);

	pmc_frame_begin(&build, PMC_FRAME_SITE, NULL, 0, &site, sizeof(site));
	build_str("/usr/lib/liblzma.so.5");
	build_str("worker_start");
	put_threads(set, pmc_frame_end(&build));
	put_process(set);
	build_total(0xa1, 3, PMC_TOTAL_THREADS, 0, clock_set, 100, 1000);
	build_total(0xa1, 3, PMC_TOTAL_EXEC, 0, clock_set, 100, 555);
	build_note(0xa1, 3, 12, 4, "a note");
	pmc_frame_begin(&build, PMC_FRAME_NOTE, id(0xa1), 3, &(uint64_t){ code }, 8);
	build_str("a short note");
	pmc_frame_end(&build);
	/* An unknown frame type. */
	pmc_frame_begin(&build, (enum pmc_frame_type)200, id(0xa1), 3, NULL, 0);
	build_str("from the future");
	pmc_frame_end(&build);
}

static int write_golden(const char *path)
{
	FILE *file = fopen(path, "wx");

	build_golden();
	if (!file || fwrite(build.data, 1, build.len, file) != build.len || fclose(file)) {
		perror(path);
		return 1;
	}
	return 0;
}

/* ---- reading: these values never change ------------------------------------------------------ */
static struct pmc_profile profile;

static int load(void **state)
{
	int fd = open(GOLDEN, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	pmc_profile_init(&profile, NULL);
	assert_int_equal(pmc_profile_add_fd(&profile, fd), 0);
	pmc_profile_finish(&profile);
	close(fd);
	return 0;
}

static int unload(void **state)
{
	pmc_profile_free(&profile);
	return 0;
}

static void whole(void **state)
{
	assert_int_equal(profile.damaged_frames, 0);
	assert_int_equal(profile.frames, 11);
	assert_int_equal(profile.n_processes, 1);
	assert_int_equal(profile.n_threads, 2);
}

static void the_process(void **state)
{
	const struct pmc_p_process *process = profile.processes[0];

	assert_true(process->known);
	assert_int_equal(process->identity[0], 0xa1);
	assert_int_equal(process->snapshot, 3);
	assert_int_equal(process->fixed.parent_identity[0], 0xa0);
	assert_int_equal(process->fixed.job[0], 0x0b);
	assert_int_equal(process->fixed.pid, 12037);
	assert_int_equal(process->fixed.cpu_ns, 900);
	assert_int_equal(process->fixed.pre_cpu_ns, 100);
	assert_int_equal(process->fixed.max_rss_bytes, 4096);
	assert_int_equal(process->fixed.threads_seen, 2);
	assert_int_equal(process->fixed.how_ended, PMC_ENDED_SIGNAL);
	assert_int_equal(process->fixed.how_code, 15);
	assert_int_equal(process->fixed.inherit_mode, PMC_INHERIT_CLOCK);
	assert_int_equal(process->fixed.rank, 3);
	assert_string_equal(process->host, "node7");
	assert_string_equal(process->boot_id, "6f1c2d3e-1111-4222-8333-123456789abc");
	assert_string_equal(process->exe, "/usr/bin/xz");
	assert_string_equal(process->cmdline, "xz -T4 b\xc3\xa4r.tar");
	assert_int_equal(process->n_notes, 2);
	assert_string_equal(process->notes[0].text, "a short note");
	assert_int_equal(process->notes[0].fixed.code, 5);
	assert_int_equal(process->notes[0].fixed.count, 0);
	assert_string_equal(process->notes[1].text, "a note");
	assert_int_equal(process->notes[1].fixed.count, 4);
	assert_int_equal(process->attributed_cpu_ns, 1600);
	assert_int_equal(process->threads_counted, 1);
	assert_int_equal(process->n_uncounted, 1);
	assert_int_equal(process->uncounted[0].reason, EMFILE);
	/* Rows have no task-clock: 1000 - (800 - 100) - 800 < 0, so 0. */
	assert_int_equal(pmc_count_value(&process->unattributed.counts[0]), 0);
	assert_int_equal(pmc_count_value(&process->descendants.counts[0]), 555);
}

static void the_rows(void **state)
{
	const struct pmc_p_thread *first = unpack_row(&profile, profile.threads[0]),
				  *second = unpack_row(&profile, profile.threads[1]);

	assert_string_equal(first->fixed.name, "main");
	assert_int_equal(first->fixed.tid, 12037);
	assert_int_equal(first->fixed.state, PMC_THREAD_EXITED);
	assert_int_equal(first->fixed.flags, PMC_THREAD_MAIN);
	assert_int_equal(first->fixed.end_ns, 9000);
	assert_int_equal(first->fixed.minor_faults, 1);
	assert_int_equal(first->fixed.major_faults, 2);
	assert_int_equal(first->fixed.voluntary_switches, 3);
	assert_int_equal(first->fixed.involuntary_switches, 4);
	assert_true(first->fixed.created_by == PMC_NO_SEQ);
	assert_memory_equal(second->fixed.name, "worker-of-16-by!", 16);
	assert_string_equal(second->module, "/usr/lib/liblzma.so.5");
	assert_string_equal(second->symbol, "worker_start");
	assert_int_equal(second->offset, 0x1234);
	assert_int_equal(second->fixed.reason, EMFILE);
}

static void the_counts(void **state)
{
	const struct pmc_p_thread *first = unpack_row(&profile, profile.threads[0]),
				  *second = unpack_row(&profile, profile.threads[1]);
	static const struct {
		const char *name;
		enum pmc_state first, second;
		uint64_t value;
	} want[] = {
		{ "cycles", PMC_COUNTED, PMC_NOT_COUNTED, 1710000000 },
		{ "cache-misses", PMC_SCALED, PMC_NOT_COUNTED, 154 },
		{ "instructions:u", PMC_COUNTED, PMC_NOT_COUNTED, 2930000000 },
		{ "branch-misses", PMC_NOT_SUPPORTED, PMC_NOT_SUPPORTED, 0 },
	};

	assert_int_equal(first->set->count, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_string_equal(first->set->events[i].name, want[i].name);
		assert_int_equal(first->counts[i].state, want[i].first);
		assert_int_equal(second->counts[i].state, want[i].second);
		if (want[i].value)
			assert_int_equal(pmc_count_value(&first->counts[i]), want[i].value);
	}
	assert_int_equal(first->set->events[2].def.scope, PMC_SCOPE_USER);
	assert_true(first->set->events[0].def.scale == 1.0);
	assert_int_equal(first->counts[3].error, ENOENT);
	assert_int_equal(second->counts[0].error, EMFILE);
}

/* A merge keeps every frame, including unknown types and sizes. */
static void merged(void **state)
{
	int in = open(GOLDEN, O_RDONLY | O_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC);
	struct merge_options options = { .compact = false };
	struct merge_input seen;
	struct merge *merge;

	assert_true(in >= 0 && out >= 0);
	merge = merge_new(&options);
	assert_int_equal(merge_add_fd(merge, in, &seen), 0);
	assert_int_equal(seen.good, 11);
	assert_int_equal(merge_write(merge, out), 0);
	merge_free(merge);
	assert_int_equal(lseek(out, 0, SEEK_END), lseek(in, 0, SEEK_END));
	close(in);
	close(out);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole, load, unload),
		cmocka_unit_test_setup_teardown(the_process, load, unload),
		cmocka_unit_test_setup_teardown(the_rows, load, unload),
		cmocka_unit_test_setup_teardown(the_counts, load, unload),
		cmocka_unit_test(merged),
	};

	if (argc > 1)
		return write_golden(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
