/* SPDX-License-Identifier: MIT */
/* test_live.c - files of /proc about threads: parsing, and this process's own threads. */
#include "tools/live/task.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void stat_line(void **state)
{
	struct pmc_proc_stat stat;

	assert_true(pmc_proc_stat("7 (a) R (b\n) S 5 7 7 0 -1 4194560 11 0 13 0 1 2 0 0 20 0 1 0 "
				  "4711 100 200",
				  &stat));
	assert_string_equal(stat.name, "a) R (b\n");
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.parent, 5);
	assert_int_equal(stat.minor_faults, 11);
	assert_int_equal(stat.major_faults, 13);
	assert_int_equal(stat.start_ticks, 4711);
}

static void stat_line_cut(void **state)
{
	static const char whole[] = "7 (x) S 5 7 7 0 -1 4194560 11 0 13 0 1 2 0 0 20 0 1 0 4711";
	struct pmc_proc_stat stat;
	char text[sizeof(whole)];

	for (size_t len = 0; len < sizeof(whole) - 5; len++) {
		memcpy(text, whole, len);
		text[len] = '\0';
		assert_false(pmc_proc_stat(text, &stat));
	}
	assert_true(pmc_proc_stat(whole, &stat));
}

static void status_lines(void **state)
{
	static const char text[] = "Name:\tTgid:9\nTgid:\t12\nNSpid:\t70\t7\nSigQ:\t3/128\n"
				   "VmHWM:\t   4 kB\nEmpty:\t\nSeccomp :\t2";
	uint64_t value = 0;

	assert_true(pmc_proc_number(text, "Tgid", &value));
	assert_int_equal(value, 12);
	assert_true(pmc_proc_number(text, "NSpid", &value));
	assert_int_equal(value, 70);
	assert_true(pmc_proc_last(text, "NSpid", &value));
	assert_int_equal(value, 7);
	assert_true(pmc_proc_last(text, "SigQ", &value));
	assert_int_equal(value, 3);
	assert_true(pmc_proc_number(text, "VmHWM", &value));
	assert_int_equal(value, 4);
	assert_true(pmc_proc_number(text, "Seccomp", &value));
	assert_false(pmc_proc_number(text, "gid", &value));
	assert_false(pmc_proc_number(text, "Empty", &value));
	assert_false(pmc_proc_last(text, "Empty", &value));
}

static void schedstat_line(void **state)
{
	struct pmc_proc_sched sched;

	assert_true(pmc_proc_schedstat("100 20 3", &sched));
	assert_int_equal(sched.cpu_ns, 100);
	assert_int_equal(sched.delay_ns, 20);
	assert_int_equal(sched.slices, 3);
	assert_false(pmc_proc_schedstat("100 20", &sched));
	assert_false(pmc_proc_schedstat("", &sched));
}

static void own_threads(void **state)
{
	struct live_tids tids = { .n = 0 };

	assert_int_equal(live_tids_read(getpid(), &tids), 0);
	assert_true(live_tids_have(&tids, gettid()));
	assert_false(live_tids_have(&tids, 1));
	/* No process has an ID as large. */
	assert_int_equal(live_tids_read(1 << 30, &tids), -ESRCH);
	assert_int_equal(tids.n, 0);
	live_tids_free(&tids);
	live_tids_free(&tids);
}

/* A list of a process and its child, which is also found below the process. */
static void threads_of_parent_and_child(void **state)
{
	struct live_tids tids = { .n = 0 };
	int gate[2], status;
	char byte;
	pid_t child;

	assert_int_equal(pipe(gate), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		close(gate[1]);
		_exit((int)read(gate[0], &byte, 1));
	}
	assert_int_equal(
		live_trees_read(
			&(const struct live_tids){ .list = (pid_t[]){ getpid(), child }, .n = 2 },
			&tids),
		0);
	assert_true(live_tids_have(&tids, getpid()));
	assert_true(live_tids_have(&tids, child));
	for (unsigned i = 1; i < tids.n; i++)
		assert_true(tids.list[i - 1] < tids.list[i]);
	live_tids_free(&tids);
	close(gate[0]);
	close(gate[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_line),	cmocka_unit_test(stat_line_cut),
		cmocka_unit_test(status_lines), cmocka_unit_test(schedstat_line),
		cmocka_unit_test(own_threads),	cmocka_unit_test(threads_of_parent_and_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
