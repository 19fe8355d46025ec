/* SPDX-License-Identifier: MIT */
/* test_summary.c - the agent's summary of made dumps, against stored text (tests/golden). */
#include "agent/process/summary.h"
#include "lib/base/out.h"
#include "tests/unit/dump_build.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Of the PROCESS frames. */
#define PROCESS_SNAPSHOT 9

static uint64_t set;

static void put_process(uint8_t identity, uint8_t job, uint16_t flags, uint64_t cpu_ms,
			uint64_t seen)
{
	struct pmc_process_fixed fixed = {
		.pid = 100,
		.start_ns = 1000,
		.end_ns = 500001000,
		.time_ns = 500001000,
		.cpu_ns = cpu_ms * 1000000,
		.threads_seen = seen,
		.overhead_ns = 1000000,
		.how_ended = PMC_ENDED_EXIT,
		.flags = (uint8_t)flags,
	};
	const struct pmc_process_text text = { .exe = "/bin/app" };

	memcpy(fixed.job, id(job), 16);
	pmc_build_process(&build, id(identity), PROCESS_SNAPSHOT, &fixed, &text);
}

/* live_at: the number of the snapshot; 0: the row is of the thread's end. Counts: instructions are
 * twice the cycles; running less than enabled: multiplexed. */
static void put_thread(uint8_t identity, uint64_t seq, const char *name, uint64_t cpu_ms,
		       uint64_t live_at, uint64_t running)
{
	struct pmc_thread_fixed fixed = {
		.seq = seq,
		.tid = (uint32_t)(200 + seq),
		.state = live_at ? PMC_THREAD_LIVE : PMC_THREAD_EXITED,
		.flags = seq ? 0 : PMC_THREAD_MAIN,
		.n_groups = set ? 1 : 0,
		.start_ns = 1000,
		.end_ns = live_at ? 0 : 2000,
		.time_ns = 2000 + live_at,
		.cpu_ns = cpu_ms * 1000000,
		.minor_faults = 10,
		.voluntary_switches = 3,
		.involuntary_switches = 4,
		.eventset = set,
	};
	const uint64_t values[2] = { cpu_ms * 3000000, cpu_ms * 6000000 };
	const struct pmc_reading reading = { .enabled_ns = 1000, .running_ns = running, .n = 2 };

	memcpy(fixed.name, name, strlen(name));
	pmc_begin_thread(&build, id(identity), live_at ? live_at : 2, &fixed);
	if (set)
		pmc_put_reading(&build, &reading, values);
	pmc_frame_end(&build);
}

/* Prints what was built, of job 0x0b, whose first process has the image 0xa1 at its end; compares.
 */
static void check(const char *golden, struct summary_form form, size_t events_bytes)
{
	struct pmc_arena arena = { 0 };
	struct pmc_plan plan = { .count = 0 };
	struct summary *summary;
	char text[16384], path[128], want[16384];
	struct pmc_out out;
	ssize_t n;
	int fd;

	if (events_bytes)
		assert_int_equal(pmc_plan_from_frame(build_memory, events_bytes, &arena, &plan), 0);
	summary = summary_new(&arena, id(0x0b), id(0xa1), &plan);
	assert_non_null(summary);
	for (unsigned reading = 0; reading < 2; reading++) {
		struct pmc_scan scan = { .data = build.data, .len = build.len };
		struct pmc_frame frame;

		while (pmc_scan_next(&scan, &frame))
			assert_int_equal(summary_take(&frame, summary), 0);
		if (reading == 0)
			summary_read_again(summary);
	}
	form.command = "/usr/bin/app --flag";
	pmc_out_to_mem(&out, text, sizeof(text));
	summary_print(summary, &form, &out);
	pmc_arena_free(&arena);
	snprintf(path, sizeof(path), "tests/golden/%s", golden);
	if (getenv("GOLDEN_WRITE")) {
		FILE *file = fopen(path, "w");

		assert_non_null(file);
		fputs(text, file);
		fclose(file);
	}
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	n = read(fd, want, sizeof(want) - 1);
	close(fd);
	assert_true(n >= 0);
	want[n] = '\0';
	assert_string_equal(text, want);
}

static void threads_have_rows(void **state)
{
	set = 0;
	build_start();
	put_process(0xa1, 0x0b, PMC_PROCESS_FIRST, 100, 3);
	put_thread(0xa1, 0, "app", 40, 0, 0);
	put_thread(0xa1, 1, "worker", 10, 7, 0); /* an older snapshot */
	put_thread(0xa1, 1, "worker", 30, PROCESS_SNAPSHOT, 0);
	put_thread(0xa2, 0, "sh", 20, 0, 0); /* before an exec */
	put_process(0xa2, 0x0b, PMC_PROCESS_FIRST, 20, 1);
	put_process(0xc1, 0x0b, 0, 2000, 1); /* a child */
	put_thread(0xc1, 0, "child", 2000, 0, 0);
	put_process(0xd1, 0x0d, PMC_PROCESS_FIRST, 5000, 1); /* another job */
	put_thread(0xd1, 0, "other", 5000, 0, 0);
	check("summary-threads", (struct summary_form){ .rows = true, .dump = "run.pmc" }, 0);
	check("summary-sums", (struct summary_form){ .wanted = "json" }, 0);
}

static void pools_have_events(void **state)
{
	static const struct ev events[] = {
		{ .name = "cycles", .type = 0, .config = 0, .group = 0, .position = 0 },
		{ .name = "instructions", .type = 0, .config = 1, .group = 0, .position = 1 },
		{ .name = "mem-loads",
		  .type = 4,
		  .group = PMC_NO_GROUP,
		  .position = 2,
		  .state = PMC_NOT_SUPPORTED },
	};
	size_t bytes;
	char name[16];

	build_start();
	set = build_set(events, 3, 1);
	bytes = build.len;
	put_process(0xa1, 0x0b, PMC_PROCESS_FIRST, 1000, 33);
	put_thread(0xa1, 0, "app", 40, 0, 1000);
	for (unsigned i = 1; i <= 30; i++) {
		snprintf(name, sizeof(name), i % 3 ? "db-pool-%u" : "io-%u", i);
		put_thread(0xa1, i, name, i, 0, i == 4 ? 500 : i == 5 ? 0 : 1000);
	}
	check("summary-pools", (struct summary_form){ .rows = true }, bytes);
	check("summary-narrow-ascii",
	      (struct summary_form){ .rows = true, .screen = { .width = 60, .ascii = true } },
	      bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_have_rows),
		cmocka_unit_test(pools_have_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
