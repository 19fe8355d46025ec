/* SPDX-License-Identifier: MIT */
/* test_stat.c - pmctl stat: CPU time of a process that no row of its threads has. */
#include "tools/stat/stat.h"
#include "tests/unit/unit.h"

#define MS 1000000u

static struct stat_row total = { .key = { -1, -1, -1, -1, -1 } }, first, later;
static struct stat_row *rows[] = { &total, &first, &later };
static struct stat_job job;

static int set_up(void **state)
{
	first = (struct stat_row){ .seen = true };
	later = (struct stat_row){ .seen = true, .later = true };
	job = (struct stat_job){ .target = STAT_PROCESS, .by = BY_THREAD, .rows = rows };
	job.n_rows = sizeof(rows) / sizeof(rows[0]);
	job.process_ns = 5000 * MS;
	return 0;
}

/* A reading: schedstat, task-clock and switches of both threads, since the start. */
static void read_rows(unsigned cpu_ms, unsigned clock_ms, unsigned later_cpu_ms,
		      unsigned later_clock_ms, uint64_t later_switches)
{
	first.sum.cpu_ns = cpu_ms * (uint64_t)MS;
	first.clock_ns = clock_ms * (uint64_t)MS;
	later.sum.cpu_ns = later_cpu_ms * (uint64_t)MS;
	later.clock_ns = later_clock_ms * (uint64_t)MS;
	later.task.slices = later_switches;
	stat_rest_read(&job, job.process_ns + first.sum.cpu_ns + later.sum.cpu_ns);
}

/* task-clock lacks a part of each switch, which is no time of a thread that has ended. */
static void switches_of_a_later_thread(void **state)
{
	read_rows(50, 40, 80, 20, 30000);
	assert_int_equal(job.rest.sum.cpu_ns, 0);
	/* Before its events were opened. */
	assert_int_equal(job.rest.clock_ns, 60 * MS);
	for (unsigned i = 1; i < 20; i++)
		read_rows(50 + i * 50, 40 + i * 40, 80 + i * 50, 20 + i * 40, 30000 + i * 5000);
	assert_int_equal(job.rest.sum.cpu_ns, 0);
	assert_int_equal(job.rest.clock_ns, 60 * MS);
}

/* On a CPU it is up to a tick behind in schedstat, and has no switches that could hide it. */
static void first_reading_on_a_cpu(void **state)
{
	read_rows(50, 50, 80, 20, 3);
	read_rows(50, 50, 180, 116, 3);
	assert_int_equal(job.rest.sum.cpu_ns, 0);
	assert_int_equal(job.rest.clock_ns, 64 * MS);
	/* The time of a thread that was never found. */
	stat_rest_read(&job, job.process_ns + (230 + 70) * (uint64_t)MS);
	assert_int_equal(job.rest.sum.cpu_ns, 70 * MS);
	assert_int_equal(job.rest.clock_ns, 134 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(switches_of_a_later_thread, set_up),
		cmocka_unit_test_setup(first_reading_on_a_cpu, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
